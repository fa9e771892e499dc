// results/preflight/check_launch.cpp — The variables that the launcher set for each process. Some frameworks
// take garbage in them for 0, so they are read strictly here.
#include <fmt/format.h>

#include "results/preflight/checks.h"

namespace deadrank::results::preflight {

namespace {

constexpr const char* launch_source = "torchrun's documentation; c10d's env:// rendezvous";

void add_error(Remarks& remarks, std::vector<std::size_t> processes, std::string_view subject,
               std::string says, std::string remedy) {
    if (processes.empty()) return;
    remarks.push_back({.weight = Weight::error,
                       .processes = std::move(processes),
                       .subject = std::string(subject),
                       .says = std::move(says),
                       .remedy = std::move(remedy),
                       .source = launch_source});
}

void check_presence(const Job& job, Remarks& remarks) {
    for (const std::string_view name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
        add_error(remarks, processes_where(job, [&](const Snapshot& one) { return !one.has(name); }), name,
                  fmt::format("{} is not set", name),
                  "start the job with torchrun, or set it in the launch script");
    }
    std::map<std::string, int> on_host;
    for (const Snapshot& one : job) ++on_host[one.host];
    const auto unplaced = processes_where(
        job, [&](const Snapshot& one) { return !one.has("LOCAL_RANK") && on_host[one.host] > 1; });
    add_error(remarks, unplaced, "LOCAL_RANK", "LOCAL_RANK is not set, and others run on the same host",
              "without it every process of a host takes device 0");
}

void check_numbers(const Job& job, Remarks& remarks) {
    for (const std::string_view name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}) {
        const auto bad = processes_where(job, [&](const Snapshot& one) {
            const auto number = integer_in(one.variable(name));
            return one.has(name) && (!number || *number < 0);
        });
        if (bad.empty()) continue;
        add_error(
            remarks, bad, name,
            fmt::format("{}='{}' is not a whole number from 0 up", name, job[bad.front()].variable(name)),
            "a launcher writes digits alone; look for an expansion that failed");
    }
    const auto bad = processes_where(job, [](const Snapshot& one) {
        const auto port = integer_in(one.variable("MASTER_PORT"));
        return one.has("MASTER_PORT") && (!port || *port < 1 || *port > 65535);
    });
    if (!bad.empty()) {
        add_error(remarks, bad, "MASTER_PORT",
                  fmt::format("MASTER_PORT='{}' is not a port", job[bad.front()].variable("MASTER_PORT")),
                  "name a port from 1 to 65535");
    }
}

void check_fit(const Job& job, Remarks& remarks) {
    const auto beyond = processes_where(job, [](const Snapshot& one) {
        const auto rank = integer_in(one.variable("RANK")), size = integer_in(one.variable("WORLD_SIZE"));
        return rank && size && *rank >= *size;
    });
    if (!beyond.empty()) {
        const Snapshot& first = job[beyond.front()];
        add_error(remarks, beyond, "RANK",
                  fmt::format("RANK={} does not fit WORLD_SIZE={}", first.variable("RANK"),
                              first.variable("WORLD_SIZE")),
                  "ranks count from 0 to WORLD_SIZE - 1");
    }
    if (job.size() < 2) return;
    const auto missized = processes_where(job, [&](const Snapshot& one) {
        const auto size = integer_in(one.variable("WORLD_SIZE"));
        return size && *size != static_cast<std::int64_t>(job.size());
    });
    if (!missized.empty()) {
        add_error(remarks, missized, "WORLD_SIZE",
                  fmt::format("WORLD_SIZE={} where {} processes came",
                              job[missized.front()].variable("WORLD_SIZE"), job.size()),
                  "the rendezvous waits for ranks that are never started");
    }
    std::map<std::int64_t, std::vector<std::size_t>> claims;
    for (std::size_t i = 0; i < job.size(); ++i) {
        if (const auto rank = integer_in(job[i].variable("RANK"))) claims[*rank].push_back(i);
    }
    for (auto& [rank, processes] : claims) {
        if (processes.size() > 1)
            add_error(remarks, processes, "RANK",
                      fmt::format("{} processes claim rank {}", processes.size(), rank),
                      "each process needs a rank of its own");
    }
}

}  // namespace

void check_launch_variables(const Job& job, const Knowledge&, Remarks& remarks) {
    if (!is_distributed(job)) return;
    check_presence(job, remarks);
    check_numbers(job, remarks);
    check_fit(job, remarks);
}

// RANK - LOCAL_RANK must be the same for all ranks of a host, else groups are built across the wrong links.
void check_rank_order(const Job& job, const Knowledge&, Remarks& remarks) {
    std::map<std::string, std::map<std::int64_t, std::vector<std::size_t>>> bases;
    for (std::size_t i = 0; i < job.size(); ++i) {
        const auto rank = integer_in(job[i].variable("RANK")),
                   local = integer_in(job[i].variable("LOCAL_RANK"));
        if (rank && local) bases[job[i].host][*rank - *local].push_back(i);
    }
    std::vector<std::size_t> odd;
    for (const auto& [host, groups] : bases) {
        if (groups.size() < 2) continue;
        for (const auto& [base, processes] : groups)
            odd.insert(odd.end(), processes.begin(), processes.end());
    }
    if (odd.empty()) return;
    const Snapshot& first = job[odd.front()];
    remarks.push_back(
        {.weight = Weight::error,
         .processes = odd,
         .subject = "RANK",
         .says = fmt::format("on {} RANK={} goes with LOCAL_RANK={}, and other ranks there do not follow",
                             first.host, first.variable("RANK"), first.variable("LOCAL_RANK")),
         .remedy = "give each host consecutive ranks in the order of LOCAL_RANK",
         .source = "torchrun: RANK = GROUP_RANK * LOCAL_WORLD_SIZE + LOCAL_RANK"});
}

}  // namespace deadrank::results::preflight

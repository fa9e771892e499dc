// results/emitters/ras.cpp — The answers of NCCL's RAS service, as text and as JSON.
#include "results/emitters/ras.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "results/emitters/snapshot.h"
#include "results/emitters/stamps.h"

namespace deadrank::results::emitters {

// ── A launch counts when a rank enters it. An exited process does not answer; after a minute it is
// considered dead.

namespace {

using Json = nlohmann::ordered_json;
constexpr Time considered_dead{60'000'000'000};

void count(RasCounts& counts, Op op) {
    if (op == Op::broadcast) ++counts.broadcast;
    if (op == Op::reduce) ++counts.reduce;
    if (op == Op::all_gather) ++counts.all_gather;
    if (op == Op::reduce_scatter) ++counts.reduce_scatter;
    if (op == Op::all_reduce || op == Op::barrier) ++counts.all_reduce;  // a barrier is one of them
}

int cuda_number(const std::string& version) {
    char* end = nullptr;
    const long major = std::strtol(version.c_str(), &end, 10);
    return static_cast<int>(major * 1000 + (*end == '.' ? std::atoi(end + 1) * 10 : 0));
}

class Collecting {
public:
    Collecting(const Evidence& evidence, Time at) : places_(places_of(evidence, at)), at_(at) {
        for (const Event& event : evidence.events()) {
            if (event.at <= at && event.rank != no_rank) take(event);
        }
    }

    RasReport report() {
        RasReport report;
        report.timestamp = nccl_stamp(at_);
        for (const auto& [process, place] : places_) {
            if (report.nccl.empty()) report.nccl = place.nccl;
            report.runtime = report.driver = std::max(report.runtime, cuda_number(place.cuda));
        }
        for (const auto& [comm, members] : comms_) {
            RasCommunicator one{comm_hash(comm), sizes_[comm], {}};
            for (const auto& [rank, member] : members) one.ranks.push_back(seen(member));
            report.communicators.push_back(std::move(one));
        }
        return report;
    }

private:
    struct Member {
        Rank process = no_rank;
        RasRank said;
    };

    void take(const Event& event) {
        if (event.as<RankStart>()) forget(event.rank);
        if (const auto* enter = event.as<CommInitEnter>()) join(event.rank, *enter);
        if (const auto* exit = event.as<RankExit>(); exit) ended_[event.rank] = event.at;
        if (const auto* call = event.as<CollectiveEnter>())
            with(event.rank, call->comm, [&](RasRank& rank) { count(rank.counts, call->op); });
        if (const auto* left = event.as<CommInitLeave>(); left && left->result == Code::ok)
            with(event.rank, left->comm, [](RasRank& rank) { rank.state = RasState::running; });
        if (const auto* abort = event.as<CommAbort>())
            with(event.rank, abort->comm, [](RasRank& rank) { rank.state = RasState::abort; });
        if (const auto* error = event.as<CommError>()) {
            with(event.rank, error->comm,
                 [&](RasRank& rank) { rank.async_error = static_cast<int>(error->code); });
        }
    }
    // The process restarts: what its earlier life had joined is gone.
    void forget(Rank process) {
        ended_.erase(process);
        for (auto& [comm, members] : comms_)
            std::erase_if(members, [&](const auto& one) { return one.second.process == process; });
        std::erase_if(comms_, [](const auto& one) { return one.second.empty(); });
    }
    void join(Rank process, const CommInitEnter& enter) {
        const auto place = places_.find(process);
        if (place == places_.end()) return;
        sizes_[enter.comm] = enter.size;
        comms_[enter.comm][enter.rank_in_comm] = {process,
                                                  {enter.rank_in_comm, place->second.host, place->second.pid,
                                                   place->second.gpu, place->second.gpu, RasState::init}};
    }
    template <class Change>
    void with(Rank process, CommId comm, Change change) {
        for (auto& [rank, member] : comms_[comm]) {
            if (member.process == process) change(member.said);
        }
    }
    RasRank seen(const Member& member) const {
        RasRank said = member.said;
        const auto ended = ended_.find(member.process);
        said.missing = ended != ended_.end();
        said.dead = said.missing && at_ - ended->second >= considered_dead;
        return said;
    }

    std::map<Rank, ProcessPlace> places_;
    std::map<CommId, std::map<std::int32_t, Member>> comms_;
    std::map<CommId, std::int32_t> sizes_;
    std::map<Rank, Time> ended_;
    Time at_;
};

Json rank_json(const RasRank& rank) {
    Json json = {{"rank", rank.rank},
                 {"host", rank.host},
                 {"pid", rank.pid},
                 {"cuda_dev", rank.cuda_dev},
                 {"nvml_dev", rank.nvml_dev}};
    if (rank.missing) {
        json["status"] = {{"unresponsive", true}, {"considered_dead", rank.dead}};
        return json;
    }
    json["status"] = {{"init_state", rank.state == RasState::init ? 7 : 0},
                      {"async_error", rank.async_error},
                      {"finalize_called", false},
                      {"destroy_flag", false},
                      {"abort_flag", rank.state == RasState::abort}};
    json["collective_counts"] = {{"Broadcast", rank.counts.broadcast},
                                 {"Reduce", rank.counts.reduce},
                                 {"AllGather", rank.counts.all_gather},
                                 {"ReduceScatter", rank.counts.reduce_scatter},
                                 {"AllReduce", rank.counts.all_reduce}};
    return json;
}

}  // namespace

RasReport ras_report(const Evidence& evidence, Time at) { return Collecting(evidence, at).report(); }

std::string ras_json(const RasReport& report) {
    Json communicators = Json::array();
    for (const RasCommunicator& one : report.communicators) {
        Json ranks = Json::array(), missing = Json::array();
        for (const RasRank& rank : one.ranks) (rank.missing ? missing : ranks).push_back(rank_json(rank));
        communicators.push_back(
            {{"hash", fmt::format("{:#x}", one.hash)},
             {"secondary_hash", fmt::format("{:#x}:{:#x}", one.hash >> 32, one.hash & 0xffffffffU)},
             {"size", one.size},
             {"ranks_count", ranks.size()},
             {"missing_ranks_count", missing.size()},
             {"ranks", std::move(ranks)},
             {"missing_ranks", std::move(missing)}});
    }
    return Json{{"nccl_version", report.nccl},
                {"cuda_runtime_version", report.runtime},
                {"cuda_driver_version", report.driver},
                {"timestamp", report.timestamp},
                {"communicators_count", communicators.size()},
                {"communicators", std::move(communicators)},
                {"ras", {{"collection_time_sec", 0.0}, {"timeouts_count", 0}}}}
               .dump(2, ' ', false, Json::error_handler_t::replace) +
           "\n";
}

std::vector<EmittedFile> ras_files(const Evidence& evidence, const Snapshot& snapshot) {
    const RasReport report = ras_report(evidence, std::min(first_silence(evidence), snapshot.at));
    return {{"ras/status.json", ras_json(report)}, {"ras/status.txt", ras_text(report)}};
}

// ── RAS's report for people: a table of communicators, then errors, then warnings.

namespace {

struct Health {
    bool incomplete = false, error = false, mismatch = false;
    RasState status = RasState::running;

    std::string text() const {
        std::string words;
        const auto add = [&](bool set, const char* word) {
            if (set) words += (words.empty() ? "" : ",") + std::string(word);
        };
        add(incomplete, "INCOMPLETE");
        add(error, "ERROR");
        add(mismatch, "MISMATCH");
        return words.empty() ? "OK" : words;
    }
};

struct Operation {
    const char* name;
    std::int64_t RasCounts::*count;
};
constexpr Operation operations[] = {{"Broadcast", &RasCounts::broadcast},
                                    {"Reduce", &RasCounts::reduce},
                                    {"AllGather", &RasCounts::all_gather},
                                    {"ReduceScatter", &RasCounts::reduce_scatter},
                                    {"AllReduce", &RasCounts::all_reduce}};

std::string place_text(const RasRank& rank) {
    return fmt::format("GPU {} managed by process {} on node {}", rank.cuda_dev, rank.pid, rank.host);
}

// The ranks by their count of one operation, the most frequent count first.
std::vector<std::pair<std::int64_t, std::vector<const RasRank*>>> by_count(const RasCommunicator& comm,
                                                                           const Operation& operation) {
    std::map<std::int64_t, std::vector<const RasRank*>> counts;
    for (const RasRank& rank : comm.ranks) {
        if (!rank.missing) counts[rank.counts.*operation.count].push_back(&rank);
    }
    std::vector<std::pair<std::int64_t, std::vector<const RasRank*>>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
    return sorted;
}

Health health_of(const RasCommunicator& comm) {
    Health health;
    for (const RasRank& rank : comm.ranks) {
        health.incomplete |= rank.missing;
        health.error |= !rank.missing && rank.async_error != 0;
        if (!rank.missing && rank.state != RasState::running) health.status = rank.state;
    }
    health.incomplete |= static_cast<std::int32_t>(comm.ranks.size()) < comm.size;
    for (const Operation& operation : operations) health.mismatch |= by_count(comm, operation).size() > 1;
    return health;
}

std::string mismatch_text(const RasCommunicator& comm, std::size_t group) {
    std::string text;
    for (const Operation& operation : operations) {
        const auto counts = by_count(comm, operation);
        if (counts.size() < 2) continue;
        text +=
            fmt::format("#{}-0 ({:016x}) MISMATCH\n  Communicator ranks have different {} operation counts\n",
                        group, comm.hash, operation.name);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const auto& [count, ranks] = counts[i];
            const std::string up_to = count > 0 ? fmt::format("launched up to operation {}", count)
                                                : std::string("not launched any operations");
            if (ranks.size() > 1) text += fmt::format("  {} ranks have {}\n", ranks.size(), up_to);
            if (i == 0) continue;  // the majority is not listed
            for (const RasRank* rank : ranks) {
                text += ranks.size() > 1
                            ? fmt::format("  Rank {} -- {}\n", rank->rank, place_text(*rank))
                            : fmt::format("  Rank {} has {} -- {}\n", rank->rank, up_to, place_text(*rank));
            }
        }
        text += "\n";
    }
    return text;
}

std::string missing_text(const RasCommunicator& comm, std::size_t group) {
    std::string text;
    std::size_t missing = 0;
    for (const RasRank& rank : comm.ranks) {
        if (!rank.missing) continue;
        ++missing;
        text += fmt::format("  Rank {} -- {}{}\n", rank.rank, place_text(rank),
                            rank.dead ? " (considered dead)" : "");
    }
    if (missing == 0) return {};
    return fmt::format("#{}-0 ({:016x}) INCOMPLETE\n  Missing communicator data from {} rank{}\n{}\n", group,
                       comm.hash, missing, missing == 1 ? "" : "s", text);
}

}  // namespace

std::string ras_text(const RasReport& report) {
    std::map<std::string, std::set<int>> hosts;
    for (const auto& comm : report.communicators) {
        for (const RasRank& rank : comm.ranks) hosts[rank.host].insert(rank.pid);
    }
    std::size_t processes = 0, most = 0;
    for (const auto& [host, pids] : hosts) processes += pids.size(), most = std::max(most, pids.size());
    std::string text = fmt::format(
        "NCCL version {} compiled with CUDA {}.{}\nCUDA runtime version {}, driver version {}\n\nJob "
        "summary\n"
        "===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n"
        "(total)   per node  per process    (total)  (total)\n{:7}  {:9}  {:11}  {:9}  {:7}\n\n"
        "Communicators... (0.00s)\n=============\n\n"
        "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
        "    #  in group  per comm  per node  per comm  in group\n",
        report.nccl, report.runtime / 1000, report.runtime % 1000 / 10, report.runtime, report.driver,
        hosts.size(), most, 1, processes, processes);
    std::string errors, warnings;
    for (std::size_t group = 0; group < report.communicators.size(); ++group) {
        const RasCommunicator& comm = report.communicators[group];
        const Health health = health_of(comm);
        std::map<std::string, int> nodes;
        int per_node = 0;
        for (const RasRank& rank : comm.ranks) per_node = std::max(per_node, ++nodes[rank.host]);
        text += fmt::format("{:5}  {:8}  {:8}  {:8}  {:8}  {:8}  {:>8}  {:>6}\n", group, 1, nodes.size(),
                            per_node, comm.size, comm.ranks.size(), scenarios::enum_name(health.status),
                            health.text());
        errors += missing_text(comm, group);
        warnings += mismatch_text(comm, group);
    }
    return text + "\nErrors\n======\n\n" + errors + "\nWarnings\n========\n\n" + warnings;
}

}  // namespace deadrank::results::emitters

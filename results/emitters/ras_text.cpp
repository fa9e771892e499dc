// results/emitters/ras_text.cpp — RAS's report for people: a table of communicators, then errors, then
// warnings.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/emitters/ras.h"

namespace deadrank::results::emitters {

namespace {

struct Health {
    bool incomplete = false, error = false, mismatch = false;
    std::string status = "RUNNING";

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
        if (!rank.missing && rank.init_state != "RUNNING") health.status = rank.init_state;
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
            if (i == 0) continue;  // the many are not listed
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
                            per_node, comm.size, comm.ranks.size(), health.status, health.text());
        errors += missing_text(comm, group);
        warnings += mismatch_text(comm, group);
    }
    return text + "\nErrors\n======\n\n" + errors + "\nWarnings\n========\n\n" + warnings;
}

}  // namespace deadrank::results::emitters

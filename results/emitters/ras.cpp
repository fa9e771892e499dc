// results/emitters/ras.cpp — Launch counts are counted where a rank enters; a process that has exited does
// not answer, and after a minute it is considered dead.
#include "results/emitters/ras.h"

#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "results/emitters/processes.h"
#include "results/emitters/stamps.h"

namespace deadrank::results::emitters {

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
            with(event.rank, left->comm, [](RasRank& rank) { rank.init_state = "RUNNING"; });
        if (const auto* abort = event.as<CommAbort>())
            with(event.rank, abort->comm, [](RasRank& rank) { rank.init_state = "ABORT"; });
        if (const auto* error = event.as<CommError>()) {
            with(event.rank, error->comm,
                 [&](RasRank& rank) { rank.async_error = static_cast<int>(error->code); });
        }
    }
    // A process begins anew: what its earlier life had joined is gone.
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
                                                   place->second.gpu, place->second.gpu, "INIT"}};
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
    json["status"] = {{"init_state", rank.init_state == "INIT" ? 7 : 0},
                      {"async_error", rank.async_error},
                      {"finalize_called", false},
                      {"destroy_flag", false},
                      {"abort_flag", rank.init_state == "ABORT"}};
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

}  // namespace deadrank::results::emitters

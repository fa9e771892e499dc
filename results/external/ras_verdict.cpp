// results/external/ras_verdict.cpp — The JSON form does not name a mismatch, so counts are compared across
// ranks: the minority lags if it has fewer launches; in a tie, the ranks with fewer do.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/external/foreign_detectors.h"

namespace deadrank::results::external {

namespace {

using Json = nlohmann::json;
using emitters::RasRank;

RasRank rank_from(const Json& json, bool missing) {
    RasRank rank;
    rank.rank = json.at("rank").get<std::int32_t>();
    rank.host = json.at("host").get<std::string>();
    rank.pid = json.at("pid").get<std::int32_t>();
    rank.cuda_dev = json.value("cuda_dev", 0);
    rank.nvml_dev = json.value("nvml_dev", 0);
    rank.missing = missing;
    const Json status = json.value("status", Json::object());
    rank.dead = status.value("considered_dead", false);
    rank.async_error = status.value("async_error", 0);
    if (status.value("abort_flag", false)) rank.state = emitters::RasState::abort;
    const Json counts = json.value("collective_counts", Json::object());
    rank.counts = {counts.value("Broadcast", std::int64_t{0}), counts.value("Reduce", std::int64_t{0}),
                   counts.value("AllGather", std::int64_t{0}), counts.value("ReduceScatter", std::int64_t{0}),
                   counts.value("AllReduce", std::int64_t{0})};
    return rank;
}

}  // namespace

scenarios::Result<emitters::RasReport> read_ras_json(std::string_view text) {
    try {
        const Json json = Json::parse(text);
        emitters::RasReport report;
        report.nccl = json.at("nccl_version").get<std::string>();
        report.timestamp = json.value("timestamp", "");
        report.runtime = json.value("cuda_runtime_version", 0);
        report.driver = json.value("cuda_driver_version", 0);
        for (const Json& one : json.at("communicators")) {
            emitters::RasCommunicator comm;
            comm.hash = std::strtoull(one.at("hash").get<std::string>().c_str(), nullptr, 16);
            comm.size = one.at("size").get<std::int32_t>();
            for (const Json& rank : one.at("ranks")) comm.ranks.push_back(rank_from(rank, false));
            for (const Json& rank : one.value("missing_ranks", Json::array()))
                comm.ranks.push_back(rank_from(rank, true));
            std::sort(comm.ranks.begin(), comm.ranks.end(),
                      [](const RasRank& a, const RasRank& b) { return a.rank < b.rank; });
            report.communicators.push_back(std::move(comm));
        }
        return report;
    } catch (const Json::exception& wrong) {
        return scenarios::refuse(scenarios::ErrorCode::bad_input,
                                 fmt::format("this is no status of RAS: {}", wrong.what()),
                                 "ask with SET FORMAT json; NCCL 2.28.7 and newer know it");
    }
}

std::vector<RasTrouble> find_troubles(const emitters::RasReport& report) {
    std::vector<RasTrouble> troubles;
    for (const auto& comm : report.communicators) {
        std::int64_t most = 0;
        for (const RasRank& rank : comm.ranks) most = std::max(most, rank.missing ? 0 : rank.counts.total());
        for (const RasRank& rank : comm.ranks) {
            const std::string who = fmt::format("rank {} (process {} on {})", rank.rank, rank.pid, rank.host);
            if (rank.missing) {
                troubles.push_back({RasTrouble::Kind::missing, rank, 0, most, who + " does not answer"});
            } else if (rank.async_error != 0) {
                troubles.push_back({RasTrouble::Kind::error, rank, 0, 0,
                                    fmt::format("{} has the asynchronous error {}", who, rank.async_error)});
            } else if (rank.counts.total() < most) {
                troubles.push_back({RasTrouble::Kind::lagging, rank, rank.counts.total(), most,
                                    fmt::format("{} has launched {} operations, others {}", who,
                                                rank.counts.total(), most)});
            }
        }
    }
    return troubles;
}

}  // namespace deadrank::results::external

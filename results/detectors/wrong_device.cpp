// results/detectors/wrong_device.cpp — A process computes on another device than the pattern of its peers
// gives it. device.bind says where each process is; no event says where it was meant to be.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "results/analysis/complaints.h"
#include "results/analysis/devices_in_use.h"
#include "results/analysis/pairs.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

// The device of each rank's model, as far as it is known by then.
std::map<Rank, std::int32_t> devices_by(const Evidence& evidence, int attempt, Time until) {
    std::map<Rank, std::int32_t> bound;
    for (const Event* event : evidence.each<DeviceBind>())
        if (event->at <= until && evidence.facts<Lives>().attempt_at(event->at) == attempt)
            bound[event->rank] = event->as<DeviceBind>()->device;
    return bound;
}

// Empty where the rank has none.
std::string_view variable_of(const PairTables& environments, Rank rank, std::string_view name) {
    return environments.held(rank, name).value_or("");
}

}  // namespace

std::vector<Rank> find_ranks_on_device_of(const Evidence& evidence, int attempt,
                                          const std::vector<Rank>& ranks, Time until) {
    const auto bound = devices_by(evidence, attempt, until);
    const PairTables environments(evidence, attempt, PairTables::Of::environment);
    const auto place_of = [&](Rank rank) {
        return std::tuple(evidence.facts<Lives>().node_of(rank),
                          variable_of(environments, rank, "CUDA_VISIBLE_DEVICES"), bound.at(rank));
    };
    const auto unlike = [&](Rank rank) {
        return !bound.contains(rank) || place_of(rank) != place_of(ranks.front());
    };
    if (ranks.empty() || !bound.contains(ranks.front()) || std::any_of(ranks.begin(), ranks.end(), unlike))
        return ranks;
    std::vector<Rank> all;
    for (const auto& [rank, device] : bound)
        if (!unlike(rank)) all.push_back(rank);
    return all;
}

std::vector<Rank> find_ranks_off_local_device(const Evidence& evidence, int attempt,
                                              const std::vector<Rank>& ranks, Time until) {
    const auto bound = devices_by(evidence, attempt, until);
    const PairTables environments(evidence, attempt, PairTables::Of::environment);
    const Lives& lives = evidence.facts<Lives>();
    std::set<std::pair<std::int32_t, std::string_view>> told;
    bool by_variable = true;
    for (const Rank rank : ranks) {
        const std::string_view local = variable_of(environments, rank, "LOCAL_RANK");
        by_variable = by_variable && !local.empty() && told.insert({lives.node_of(rank), local}).second;
    }
    std::vector<Rank> off;
    for (const Rank rank : ranks) {
        // A list of its own numbers the devices anew.
        if (!bound.contains(rank) || !variable_of(environments, rank, "CUDA_VISIBLE_DEVICES").empty())
            return {};
        const std::vector<Rank> host = lives.on_node(lives.node_of(rank));
        const auto place = std::find(host.begin(), host.end(), rank) - host.begin();
        const std::string local =
            by_variable ? std::string(variable_of(environments, rank, "LOCAL_RANK")) : std::to_string(place);
        if (local != std::to_string(bound.at(rank))) off.push_back(rank);
    }
    return off;
}

Findings wrong_device(const Evidence& evidence) {
    const std::vector<DevicesInUse::Odd>& odd = evidence.facts<DevicesInUse>().odd();
    if (!odd.empty()) {
        std::vector<Rank> ranks;
        for (const DevicesInUse::Odd& one : odd) ranks.push_back(one.rank);
        const DevicesInUse::Odd& first = odd.front();
        return {
            {.symptom = id_of(Symptom::wrong_device_used),
             .blame = blame_ranks(evidence.facts<Lives>(), ranks),
             .at = first.at,
             .says = fmt::format("the model of rank {} is on device {}, and by the pattern of its peers it "
                                 "would be on {}",
                                 first.rank, first.device, first.usual),
             .causes = {id_of(Cause::rank_or_device_derivation_error)}}};
    }
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::placement)) {
        findings.push_back(finding_of(evidence, outbreak, id_of(Symptom::wrong_device_used),
                                      {id_of(Cause::rank_or_device_derivation_error)}));
    }
    return findings;
}

extern const DetectorRow wrong_device_row{
    .name = "wrong_device", .reports = {id_of(Symptom::wrong_device_used)}, .examine = wrong_device};

}  // namespace deadrank::results::detectors

// results/detectors/detector_catalog.cpp — All our own detectors, one line each. Their order does not matter,
// since findings are settled afterwards. And what none of them can see in a program.
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/record/words.h"

namespace deadrank::results {

namespace detectors {
extern const DetectorRow version_skew_row, environment_fault_row, rank_order_row, setup_failure_row,
    setup_hang_row, collective_mismatch_row, collective_hang_row, collective_timeout_row, peer_connection_row,
    transport_degraded_row, shard_mismatch_row, replica_divergence_row, straggler_row, low_throughput_row,
    loss_anomaly_row, value_wrong_row, parallel_mismatch_row, inference_inconsistency_row, device_memory_row,
    unbalanced_memory_row, host_exhaustion_row, checkpoint_save_row, checkpoint_integrity_row, reshard_row,
    resume_regression_row, sample_coverage_row, unexpected_parallelization_row, device_fault_row,
    wrong_device_row, package_failure_row, loading_failure_row, runtime_exception_row, native_crash_row,
    tensor_shape_row, restart_failure_row, test_failure_row;

extern const Thresholds straggler_thresholds, low_throughput_thresholds, loss_anomaly_thresholds,
    device_memory_thresholds, host_exhaustion_thresholds, transport_degraded_thresholds,
    unbalanced_memory_thresholds, peer_connection_thresholds, restart_failure_thresholds;

const Thresholds& thresholds_of(std::string_view detector) {
    static const Thresholds none;
    static const std::pair<std::string_view, const Thresholds*> known[] = {
        {"straggler", &straggler_thresholds},
        {"low_throughput", &low_throughput_thresholds},
        {"loss_anomaly", &loss_anomaly_thresholds},
        {"device_memory", &device_memory_thresholds},
        {"host_exhaustion", &host_exhaustion_thresholds},
        {"transport_degraded", &transport_degraded_thresholds},
        {"unbalanced_memory", &unbalanced_memory_thresholds},
        {"peer_connection", &peer_connection_thresholds},
        {"restart_failure", &restart_failure_thresholds},
    };
    for (const auto& [name, thresholds] : known) {
        if (name == detector) return *thresholds;
    }
    return none;
}
}  // namespace detectors

const std::vector<const DetectorRow*>& detector_catalog() {
    // clang-format off
    static const std::vector<const DetectorRow*> rows = {
        &detectors::version_skew_row,
        &detectors::environment_fault_row,
        &detectors::rank_order_row,
        &detectors::setup_failure_row,
        &detectors::setup_hang_row,
        &detectors::collective_mismatch_row,
        &detectors::collective_hang_row,
        &detectors::collective_timeout_row,
        &detectors::peer_connection_row,
        &detectors::transport_degraded_row,
        &detectors::shard_mismatch_row,
        &detectors::replica_divergence_row,
        &detectors::straggler_row,
        &detectors::low_throughput_row,
        &detectors::loss_anomaly_row,
        &detectors::value_wrong_row,
        &detectors::parallel_mismatch_row,
        &detectors::inference_inconsistency_row,
        &detectors::device_memory_row,
        &detectors::unbalanced_memory_row,
        &detectors::host_exhaustion_row,
        &detectors::checkpoint_save_row,
        &detectors::checkpoint_integrity_row,
        &detectors::reshard_row,
        &detectors::resume_regression_row,
        &detectors::sample_coverage_row,
        &detectors::unexpected_parallelization_row,
        &detectors::device_fault_row,
        &detectors::wrong_device_row,
        &detectors::package_failure_row,
        &detectors::loading_failure_row,
        &detectors::runtime_exception_row,
        &detectors::native_crash_row,
        &detectors::tensor_shape_row,
        &detectors::restart_failure_row,
        &detectors::test_failure_row,
    };
    // clang-format on
    return rows;
}

const DetectorRow* find_detector(std::string_view name) {
    const auto& rows = detector_catalog();
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const auto* row) { return row->name == name; });
    return found == rows.end() ? nullptr : *found;
}

Detectors all_detectors() {
    Detectors detectors;
    for (const DetectorRow* row : detector_catalog()) detectors.push_back(make_detector(*row));
    return detectors;
}

// Derived from the kinds of events that are missing.

std::vector<std::string> blind_spots(const Evidence& evidence) {
    std::set<Rank> stepped;
    bool lost = false;
    for (const Event* event : evidence.each<StepEnd>()) {
        stepped.insert(event->rank);
        lost |= event->as<StepEnd>()->loss != 0;
    }
    std::vector<std::string> spots;
    if (stepped.empty() && !evidence.each<CollectiveEnter>().empty())
        spots.emplace_back(
            "straggler, low_throughput, loss_anomaly, sample_coverage and replica_divergence saw no step: no "
            "optimizer of torch.optim took one. Where the program prints its steps, step = \"a pattern\" "
            "below [read] of a manifest finds them");
    if (stepped.size() < 2) return spots;
    if (evidence.each<ParametersDigest>().empty())
        spots.emplace_back(
            "replica_divergence saw no replicas: the program shows none by DistributedDataParallel, DTensor, "
            "DeepSpeed or gradients that it reduces one by one. Where all ranks hold the same, groups = "
            "\"world\" "
            "below [read] of a manifest says so");
    if (evidence.each<DataBatch>().empty())
        spots.emplace_back(
            "sample_coverage saw no samples that the ranks share: no DistributedSampler deals them out. "
            "Where no sample may come twice in an epoch, samples = \"shared\" below [read] of a manifest "
            "says so");
    if (!lost)
        spots.emplace_back("loss_anomaly saw no loss: no backward() of a single number, or it was always 0");
    return spots;
}

std::vector<std::string> lost_evidence(const Evidence& evidence) {
    std::vector<std::string> sentences;
    for (const Event* event : evidence.each<EvidenceLost>()) {
        sentences.push_back(fmt::format("evidence is missing: of rank {} there is none after {}: {}",
                                        event->rank, duration_text(event->at),
                                        evidence.text(event->as<EvidenceLost>()->why)));
    }
    return sentences;
}

// A finding that blames nobody is about all ranks.
bool rests_on_lost_evidence(const Finding& finding, const Evidence& evidence) {
    const std::vector<Rank>& blamed = finding.blame.ranks;
    const auto lost = evidence.each<EvidenceLost>();
    return std::any_of(lost.begin(), lost.end(), [&](const Event* event) {
        const bool its = std::find(blamed.begin(), blamed.end(), event->rank) != blamed.end();
        return (its || blamed.empty()) && finding.at >= event->at;
    });
}

}  // namespace deadrank::results

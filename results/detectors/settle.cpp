// results/detectors/settle.cpp — Of several findings about one event, keeps the one nearest to the root
// cause.
#include "results/detectors/settle.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "results/detectors/causality.h"
#include "results/detectors/detector.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results {

using scenarios::Symptom;

bool is_standstill(const Finding& finding) {
    return finding.symptom == Symptom::collective_deadlock_hang ||
           finding.symptom == Symptom::collective_timeout_abort;
}

bool is_slowness(const Finding& finding) { return causality_of(finding).layer == Layer::speed; }

namespace {

using namespace std::chrono_literals;

constexpr Time aftermath = 2h;  // how long after a failure others may still follow from it

// From the row of its detector; 0 for a detector that is not ours.
int reason_of(const Finding& finding) {
    const DetectorRow* row = find_detector(finding.detector);
    return row ? row->reason : 0;
}
bool names_reason(const Finding& finding) { return reason_of(finding) > 0; }

bool from_the_start(const Finding& finding) {
    const DetectorRow* row = find_detector(finding.detector);
    return row && row->from_the_start;
}

bool same_symptom(const Finding& root, const Finding& other) {
    if (reason_of(root) != reason_of(other)) return reason_of(root) > reason_of(other);
    if (names_reason(root)) return false;
    const Layer layer = causality_of(root).layer;
    if (layer == Layer::startup || layer == Layer::value || root.blame.ranks == other.blame.ranks)
        return root.at <= other.at;
    return root.at <= other.at && other.at - root.at <= 60s;
}

// The earlier finding wins. At about the same time the more specific one wins, and a failure beats its
// consequences.
bool earlier(const Finding& root, const Finding& other, Time tie) {
    const Time apart = other.at > root.at ? other.at - root.at : root.at - other.at;
    const auto rank_of = [](const Finding& one) {
        return std::tuple(causality_of(one).layer, causality_of(one).weight);
    };
    if (apart <= tie) return rank_of(root) < rank_of(other);
    return root.at < other.at && other.at - root.at <= aftermath;
}

bool concerns_saved_state(const Finding& finding) {
    return finding.symptom == Symptom::checkpoint_unreadable ||
           finding.symptom == Symptom::reshard_restore_failure ||
           finding.symptom == Symptom::checkpoint_save_failure;
}

bool is_vague(const Finding& finding) {
    return finding.symptom == Symptom::native_crash_or_illegal_access ||
           finding.symptom == Symptom::framework_runtime_exception ||
           causality_of(finding).layer == Layer::consequence;
}

bool failure_explains(const Finding& root, const Finding& other) {
    const bool recovery = root.symptom == Symptom::restart_or_recovery_failure;
    const bool other_recovery = other.symptom == Symptom::restart_or_recovery_failure;
    // A checkpoint was wrong already before the crash after which it was loaded.
    if (is_vague(root) && concerns_saved_state(other)) return false;
    // Who caught an error goes on: that the job then stands still is not over with it.
    if (root.outlived && is_standstill(other)) return false;
    // Keep the finding that the job does not come back, unless the failure that stopped it says more.
    if (recovery && is_vague(other)) return true;
    if (other_recovery && is_vague(root)) return false;
    if (other.symptom == Symptom::collective_deadlock_hang) {
        return root.symptom == Symptom::collective_timeout_abort ||
               root.at <= other.at + causality_of(other).lead;
    }
    if (root.symptom == Symptom::collective_deadlock_hang) return false;
    return earlier(root, other, 1s);
}

bool value_explains(const Finding& root, const Finding& other) {
    if (root.blame.step && other.blame.step && !from_the_start(root)) {
        if (*root.blame.step == *other.blame.step)
            return causality_of(root).weight < causality_of(other).weight;
        return *root.blame.step < *other.blame.step;
    }
    return earlier(root, other, 1ms);
}

// low_throughput_uniform usually blames no rank. If it does, that rank's log says why it is late.
bool explains_lateness(const Finding& root, const Finding& other) {
    return root.symptom == Symptom::low_throughput_uniform && !root.blame.ranks.empty() &&
           other.symptom == Symptom::straggler_step_time_skew && root.blame.ranks == other.blame.ranks;
}

// What was wrong in an earlier step than the one in which the job broke is not its consequence.
bool in_an_earlier_step(const Finding& finding, const Finding& root) {
    return finding.blame.step && root.blame.step && *finding.blame.step < *root.blame.step;
}

bool breaks(Layer layer) {
    return layer == Layer::startup || layer == Layer::failure || layer == Layer::consequence;
}

}  // namespace

bool explains(const Finding& root, const Finding& other) {
    if (root.symptom == other.symptom) return same_symptom(root, other);
    // In a test run, the test's own report covers whatever went wrong.
    if (root.symptom == Symptom::ci_or_test_failure) return true;
    if (other.symptom == Symptom::ci_or_test_failure) return false;
    const Layer mine = causality_of(root).layer, theirs = causality_of(other).layer;
    if (mine == Layer::none || theirs == Layer::none) return false;
    if (mine == Layer::startup && theirs == Layer::startup) {
        // A finding that names a reason explains its symptom, whatever else the start-up shows.
        if (names_reason(root) && !names_reason(other)) return root.at <= other.at + 10s;
        // A symptom explains a reason only if it came long before, about the same ranks.
        if (names_reason(other) && !names_reason(root))
            return root.at + 10s < other.at && root.blame.ranks == other.blame.ranks;
        return earlier(root, other, 10s);
    }
    if (mine == Layer::startup) return root.at <= other.at + causality_of(other).lead;
    if (theirs == Layer::startup)
        return breaks(mine) && other.symptom == Symptom::communication_setup_hang && root.at <= other.at;
    if (breaks(mine) && breaks(theirs)) return failure_explains(root, other);
    if (breaks(mine)) {
        // If an operation then refuses the wrong shard, that refusal is the finding to keep.
        if (from_the_start(other)) return root.symptom == Symptom::tensor_shape_or_dtype_error;
        // A crash ends an attempt, but is no reason for the next one to resume with other numbers.
        if (other.symptom == Symptom::resume_state_regression) return concerns_saved_state(root);
        // … nor to compute or to read something else; what is wrong at once, the crash may have spoilt.
        const bool of_the_next = other.symptom == Symptom::wrong_intermediate_value ||
                                 other.symptom == Symptom::wrong_sample_coverage ||
                                 other.symptom == Symptom::parallel_result_mismatch;
        if (causality_of(other).layer == Layer::value && in_an_earlier_step(other, root)) return false;
        const bool crash = root.symptom == Symptom::native_crash_or_illegal_access ||
                           root.symptom == Symptom::framework_runtime_exception;
        if (crash && of_the_next && other.at > root.at + 1s) return false;
        return root.at - causality_of(root).lead <= other.at;
    }
    if (mine == Layer::value && theirs == Layer::value) return value_explains(root, other);
    if (mine == Layer::value && breaks(theirs))
        return root.at < other.at - causality_of(other).lead && other.at - root.at <= 60s;
    if (mine == Layer::speed && theirs == Layer::speed) {
        if (explains_lateness(root, other)) return true;
        return !explains_lateness(other, root) && causality_of(root).weight < causality_of(other).weight;
    }
    return false;
}

namespace {

// A failure that says what it is ends its attempt. The next one begins anew: what fails in it is reported
// too.
bool of_a_later_attempt(const analysis::Lives* lives, const Finding& root, const Finding& other) {
    const auto names_cause = [](const Finding& one) {
        return causality_of(one).layer == Layer::failure && !is_vague(one) &&
               one.symptom != Symptom::restart_or_recovery_failure;
    };
    return lives && root.symptom != other.symptom && names_cause(root) && names_cause(other) &&
           lives->attempt_at(root.at) < lives->attempt_at(other.at);
}

// Findings of one run, in order of time.
struct FindingSet {
    std::vector<Finding> findings;
    const analysis::Lives* lives = nullptr;

    bool explains(std::size_t root, std::size_t other) const {
        return results::explains(findings[root], findings[other]) &&
               !of_a_later_attempt(lives, findings[root], findings[other]);
    }
    // If two explain each other, the earlier one is the cause.
    bool is_cause_of(std::size_t root, std::size_t other) const {
        if (root == other || !explains(root, other)) return false;
        return !explains(other, root) || root < other;
    }
};

// Strikes out every finding that this one explains, and what those explain in turn. What they leave standing
// still is no finding of its own; the first one keeps it.
void drop_explained(FindingSet& reported, std::size_t first, std::size_t root, std::vector<bool>& open) {
    open[root] = false;
    for (std::size_t i = 0; i < open.size(); ++i) {
        if (!open[i] || !reported.is_cause_of(root, i)) continue;
        if (is_standstill(reported.findings[i]) && !is_standstill(reported.findings[first]))
            reported.findings[first].followed_by.push_back(reported.findings[i]);
        drop_explained(reported, first, i, open);
    }
}

// If findings explain each other in a ring, none is a root: take the one nearest to it.
std::size_t best_of_ring(const std::vector<Finding>& findings, const std::vector<bool>& open) {
    const auto order = [&](std::size_t i) {
        return std::tuple(causality_of(findings[i]).layer, causality_of(findings[i]).weight, findings[i].at);
    };
    std::size_t best = findings.size();
    for (std::size_t i = 0; i < findings.size(); ++i) {
        if (open[i] && (best == findings.size() || order(i) < order(best))) best = i;
    }
    return best;
}

std::vector<Finding> settle_among(std::vector<Finding> unsettled, const analysis::Lives* lives) {
    FindingSet reported{std::move(unsettled), lives};
    std::vector<Finding>& findings = reported.findings;
    std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
        return std::tie(a.at, a.symptom, a.detector) < std::tie(b.at, b.symptom, b.detector);
    });
    std::vector<bool> open(findings.size(), true), stays(findings.size(), false);
    const auto is_root = [&](std::size_t i) {
        for (std::size_t k = 0; k < findings.size(); ++k) {
            if (open[k] && reported.is_cause_of(k, i)) return false;
        }
        return bool{open[i]};
    };
    for (std::size_t i = 0; i < findings.size(); ++i) stays[i] = is_root(i);
    for (std::size_t i = 0; i < findings.size(); ++i) {
        if (stays[i]) drop_explained(reported, i, i, open);
    }
    // A crash, the load that failed after it and the restart that failed for that may form a ring.
    for (std::size_t i = best_of_ring(findings, open); i < findings.size();
         i = best_of_ring(findings, open)) {
        stays[i] = true;
        drop_explained(reported, i, i, open);
    }
    std::vector<Finding> kept;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        if (stays[i]) kept.push_back(std::move(findings[i]));
    }
    return kept;
}

}  // namespace

std::vector<Finding> settle(std::vector<Finding> findings, const analysis::Lives& lives) {
    return settle_among(std::move(findings), &lives);
}

std::vector<Finding> settle(std::vector<Finding> findings) {
    return settle_among(std::move(findings), nullptr);
}

}  // namespace deadrank::results

// results/detectors/breakage.cpp — Asks the detectors of the symptoms themselves, so that reason and
// symptom never disagree.
#include "results/detectors/breakage.h"

#include "results/detectors/collective_hang.h"
#include "results/detectors/collective_mismatch.h"
#include "results/detectors/collective_timeout.h"
#include "results/detectors/setup_failure.h"
#include "results/detectors/setup_hang.h"

namespace deadrank::results::detectors {

namespace {

template <class First, class... Rest>
std::optional<Finding> first_of(const Evidence& evidence) {
    if (auto findings = First().examine(evidence); !findings.empty()) return std::move(findings.front());
    if constexpr (sizeof...(Rest) > 0) return first_of<Rest...>(evidence);
    return std::nullopt;
}

}  // namespace

std::optional<Finding> communication_breakage(const Evidence& evidence) {
    return first_of<SetupFailure, SetupHang, CollectiveMismatch, CollectiveTimeout, CollectiveHang>(evidence);
}

}  // namespace deadrank::results::detectors

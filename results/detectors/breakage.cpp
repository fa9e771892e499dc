// results/detectors/breakage.cpp — Asks the detectors of the symptoms themselves, so that reason and
// symptom never disagree.
#include "results/detectors/shared.h"

namespace deadrank::results::detectors {

std::optional<Finding> communication_breakage(const Evidence& evidence) {
    for (const auto ask :
         {setup_failure, setup_hang, collective_mismatch, collective_timeout, collective_hang}) {
        if (Findings findings = ask(evidence); !findings.empty()) return std::move(findings.front());
    }
    return std::nullopt;
}

}  // namespace deadrank::results::detectors

// results/detectors/communication_breakage.cpp — The first thing that broke in a job's communication, as the
// detectors of communication find it.
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

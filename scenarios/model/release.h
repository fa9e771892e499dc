// scenarios/model/release.h — What [release] of a scenario becomes: a workload of its own, which is a program
// on published releases, and a fault that gives its ranks the release with the bug.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/enum_words.h"
#include "scenarios/model/value.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

// The workload's kind. It is in no list of workloads: only real processes play it.
inline constexpr std::string_view release_workload = "release";
const Kind& release_kind();

// "torchmetrics==1.3.2": one package in one version.
struct Pin {
    std::string package, version;

    std::string text() const { return package + "==" + version; }
    bool operator==(const Pin&) const = default;
    auto operator<=>(const Pin&) const = default;
};
Result<Pin> parse_pin(std::string_view text);

enum class ReleaseEnd { hang, crash };
constexpr auto enum_words(ReleaseEnd) { return std::to_array<std::string_view>({"hang", "crash"}); }

// As a plan has it.
struct Release {
    Pin bug, fixed;
    std::vector<Pin> with;  // installed in the environment too, whichever release is played
    std::string program;    // a file of Python, with its directory
    std::string shows;      // pattern of a line that only the release with the bug writes
    std::optional<ReleaseEnd> ends;  // instead: how the job ends only with the bug
    std::string twin;       // the scenario of the catalog that plays the same report in the simulator

    std::vector<Pin> all() const;  // each once
};
Release release_of(const Values& workload);

}  // namespace deadrank::scenarios

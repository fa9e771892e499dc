// runners/score/proofs.h — What a catalogue's checks prove, found by playing it: healed runs that are not
// their control, faults that had an effect, alarms that fall silent when a lever is muted, bounds near what a
// good detector needs, causes that detectors name rightly, and what is caught from which source of evidence.
// All counts are computed.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "results/record/sources.h"
#include "runners/backend/runner.h"
#include "scenarios/model/scenario.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners {

// The delay of a detector that reads metrics and logs: one scrape, or one poll of a log.
inline constexpr results::Time one_look{15'000'000'000};
// What an expectation may allow, as a multiple of what a good detector needs.
inline constexpr std::int64_t bound_multiple = 3;

struct MutedKind {
    std::size_t scenarios = 0;        // that use the kind
    std::vector<std::string> red;     // of these, missed or of the wrong class without its lever
    std::vector<std::string> caught;  // of these, caught even so
};

// How many of the scenarios are caught with plain evidence alone, with what hooks observe as well, and with
// what programs assert of themselves. Index: Source.
using BySource = std::array<std::size_t, std::size(results::all_sources)>;

struct Proofs {
    std::vector<std::string> heals_with_trigger;      // a fault stays, and the healed run is not the control
    std::vector<std::string> heals_by_settings;       // no fault stays, and settings make the difference
    std::vector<std::string> heals_that_work_around;  // not the control, and by its own word no fix
    std::vector<std::string> heals_that_are_controls;
    std::vector<std::string> idle;           // a fault that was not triggered or had no effect
    std::map<std::string, MutedKind> muted;  // by kind of fault
    std::map<std::string, results::Time>
        needed;                      // scenario → from the fault to our alarm, where it was caught
    std::vector<std::string> loose;  // allow more than bound_multiple × what is needed, no reason
    BySource caught{};               // of the scenarios
    std::map<std::string, BySource> caught_by;  // detector → the same, for those that it catches
    std::vector<std::string> causes_right, causes_second, causes_wrong, causes_missing;
};

// Plays each scenario under each seed; if seeds differ, the worst counts. `mute`: also plays it once per kind
// of fault, with that kind's lever muted. Only the simulator can mute levers.
struct ProofOptions {
    std::uint64_t first_seed = 1, last_seed = 1;
    bool mute = true;
};
Proofs prove(const std::vector<scenarios::Scenario>& scenarios, Runner& simulator,
             const scenarios::Vocabulary& vocabulary, const ProofOptions& options = {});

}  // namespace deadrank::runners

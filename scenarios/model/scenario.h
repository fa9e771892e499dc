// scenarios/model/scenario.h — One bug of the taxonomy as a file: workload and faults, and what must be
// noticed. Settings may still be open ("any", ranges, choices); resolve() closes them into a Plan.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/enum_words.h"
#include "scenarios/model/error.h"
#include "scenarios/model/value.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

// A setting that a seed may still decide. Exactly one alternative of: `options` (draw one), `low..high` (draw
// within), `any` text for ranks and nodes, or a concrete value (options.size() == 1).
struct Setting {
    std::vector<Value> options;                    // one = concrete, several = a choice
    std::optional<std::pair<Value, Value>> range;  // "3..9", inclusive, same type
    std::string selector;                          // ranks and nodes: "any", "any 2", "all", "node 1", …
    Place place;

    bool operator==(const Setting&) const = default;
};
using Settings = std::map<std::string, Setting>;

struct Bug {
    std::string stage, symptom, cause, fix;  // ids of the taxonomy
    std::vector<std::string> replays;  // public reports: "owner/repo#123", or "study: …" for incident tables
    // A setting that is meant to be one for all ranks, and that the bug makes differ: the seam or variable of
    // a fault. Empty: the bug is no such one.
    std::string per_rank = {};
    // Of the workload python: what puts the bug into the fixed program, as a unified diff. The scenario's
    // last fault applies it. Empty: the bug is no patch.
    std::string patch = {};

    bool operator==(const Bug&) const = default;
};

// When a fault acts. Logical, never wall time: the same plan means the same thing in the simulator and on
// GPUs.
struct TriggerSettings {
    Settings values;  // keys of Trigger below
    bool operator==(const TriggerSettings&) const = default;
};

struct FaultSettings {
    std::string kind;
    Settings parameters;  // includes `rank`, `node`, … as the kind declares
    TriggerSettings when;
    Place place;
    bool provokes = false;  // not part of the bug: it only makes the bug show, and is not to be blamed
    bool hardware = false;  // a defect of the machine: restarts meet it again, a spare node is without it

    bool operator==(const FaultSettings&) const = default;
};

// A field of a blame (results/record/blame.h) that a finding must state as the truth does.
enum class BlameField : std::uint8_t { rank, node, step, variable, component, collective, shard };
constexpr auto enum_words(BlameField) {
    return std::to_array<std::string_view>(
        {"rank", "node", "step", "variable", "component", "collective", "shard"});
}
using BlameFields = std::vector<BlameField>;

// How the job must react: what each means is in scenarios/format/file_words.cpp.
enum class WantedReaction : std::uint8_t {
    any,
    clear_error,
    error,
    refuse_to_start,
    restart,
    warn_and_complete,
    complete,
    finish,
};
constexpr auto enum_words(WantedReaction) {
    return std::to_array<std::string_view>({"any", "clear_error", "error", "refuse_to_start", "restart",
                                            "warn_and_complete", "complete", "finish"});
}

// What must be noticed, what must be blamed, how soon, and how the job must react.
struct Expectation {
    std::string symptom;  // the main one, under which the scenario is counted
    // Symptoms that answer just as well: what is seen first of one cause may depend on timing.
    std::vector<std::string> alternatives;
    BlameFields blames;                // what must agree with the truth
    std::vector<std::int64_t> ranks;   // overrides the truth's ranks when the file states them; else empty
    std::string rank_words;            // the same in words, "node 1", until a plan makes ranks of them
    std::optional<std::int64_t> step;  // likewise
    std::int64_t within = 60'000'000'000;  // nanoseconds after the fault, in the run's own time
    std::vector<std::string> also;  // further symptoms that are right to report; all others are false alarms
    WantedReaction reaction = WantedReaction::any;
    std::int64_t recovers_within =
        -1;              // nanoseconds after the fault to have recovered or ended; -1 = not asked
    std::string unseen;  // why no evidence can show this bug, so that silence is right; usually empty
    // Why it asks for less than it could, by field: blames, reaction or within → one line.
    std::map<std::string, std::string> because;

    // No finding is expected, and the job finishes: the default of a healed run without [heal.expect].
    bool silent() const { return symptom.empty(); }
    bool is_answered_by(std::string_view reported) const;
    bool asks_for(BlameField field) const;
    std::vector<std::string> symptoms() const;  // the main one first; empty if it is silent
    std::string symptom_text() const;           // "checkpoint_save_failure or host_resource_exhaustion"

    bool operator==(const Expectation&) const = default;
};

// What the fix makes of one fault: it is gone, it stays, or it stays with other parameters.
struct HealedFault {
    bool kept = false;
    Settings parameters;  // laid over the fault's own
    TriggerSettings when;

    bool changed() const { return !parameters.empty() || !when.values.empty(); }
    bool operator==(const HealedFault&) const = default;
};

// What the fix of the report changes. The trigger stays wherever the real fix leaves it.
struct Heal {
    std::vector<HealedFault> faults;  // one for each [[fault]], in order; empty: all are gone
    Settings cluster;                 // settings that the fix changes
    Settings workload;
    Expectation expect{.symptom = "", .reaction = WantedReaction::complete};
    std::string says;  // one sentence: what the fix does
    // Why the healed run equals the control, in one line; else empty. A fault may stay without being visible.
    std::string as_control;
    // Where it is no fix but what users did for want of one: why, in one line. Else empty.
    std::string workaround = {};

    bool keeps_a_fault() const;
    // On paper: with no fault kept and no setting changed the healed run equals the control, event for event.
    bool is_the_control() const { return !keeps_a_fault() && cluster.empty() && workload.empty(); }

    bool operator==(const Heal&) const = default;
};

struct Teach {
    std::string title, sees, question, answer, why;
    std::vector<std::string> hints;

    bool operator==(const Teach&) const = default;
};

struct Scenario {
    std::string id;  // path below the catalog without suffix: "communication/rank_leaves_all_reduce"
    std::filesystem::path file;
    std::string digest;  // 16 hex digits of the file's bytes
    std::string story;   // the comment that opens the file
    Bug bug;
    Settings cluster;
    std::string workload_kind;
    Settings workload;
    std::vector<FaultSettings> faults;
    Expectation expect;
    Heal heal;
    Teach teach;
    std::map<std::string, std::string> parity;  // backend → why its findings differ from the simulator's
    std::vector<std::string> backends;          // where it can be played; empty = the simulator only
};

}  // namespace deadrank::scenarios

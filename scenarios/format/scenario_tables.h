// scenarios/format/scenario_tables.h — The tables of a scenario file, each read into its part of the model;
// settings are read by their declared parameters.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/format/reader.h"
#include "scenarios/model/scenario.h"

namespace deadrank::scenarios {

// A text of the file, or of a file beside it that the text names.
struct OutsideText {
    std::string text;
    Place first_line = {};  // line 0 where it is not known

    Place line(std::int64_t number) const;  // from 1
};

// `suffixes` are of names of files: ".py". Empty after a complaint.
OutsideText read_outside_text(const Node& node, const std::filesystem::path& scenario,
                              const std::vector<std::string>& suffixes, Problems& problems);

void read_format(Reader& top);  // format = 1
Bug read_bug(Reader& top, const Taxonomy& taxonomy, const std::filesystem::path& scenario);
Settings read_cluster(Reader& top);

struct WorkloadSettings {
    const Kind* kind = nullptr;            // nullptr when it is not known
    std::shared_ptr<const Kind> own = {};  // holds the kind where the file adds words to it
    std::string name;
    Settings settings;
};
// `scenario`: the file, beside which a program may be.
WorkloadSettings read_workload(Reader& top, const Vocabulary& vocabulary,
                               const std::filesystem::path& scenario);

// The fault that applies [bug] patch to the program; nothing without a patch, or after a complaint.
std::optional<FaultSettings> read_patch(Reader& top, const Bug& bug, const WorkloadSettings& workload,
                                        const std::filesystem::path& scenario);

// `workload` may be nullptr: then the names of seams, blocks and calls are not looked up.
std::vector<FaultSettings> read_faults(Reader& top, const Vocabulary& vocabulary, const Kind* workload);

// What a [[heal.change]] changes in a fault of this kind.
void read_fault_change(Reader& reader, const Kind& kind, const Kind* workload, const Vocabulary& vocabulary,
                       HealedFault& change);

// [expect], or [heal.expect], which may also ask for silence: symptom = "none".
inline constexpr std::string_view no_symptom = "none";
Expectation read_expect_table(const Node& table, std::string name, Expectation usual,
                              const Taxonomy& taxonomy, Problems& problems);
Expectation read_expectation(Reader& top, const Bug& bug, const Taxonomy& taxonomy);
std::vector<std::string> read_backends(Reader& top);

std::vector<std::string> names_of(const std::vector<Kind>& kinds);

// What `before` may name besides seams and blocks: calls, and families of calls.
const std::vector<std::string>& call_words();

// What a check of the program may look at: settings that are numbers, and the number of ranks; these and
// seams.
std::vector<std::string> setting_words(const Kind& workload);
std::vector<std::string> checked_words(const Kind& workload);

// Reads [heal]: what the fix makes of each fault, which settings it changes, and what is then expected.
// `patched`: the bug is a patch besides these faults. The fix takes it back, and other faults stay unless the
// file drops them.
Heal read_heal(Reader& top, const Kind* workload, const std::vector<FaultSettings>& faults, bool patched,
               const Taxonomy& taxonomy, const Vocabulary& vocabulary);

// ── From TOML to settings by declared parameters: concrete values, choices, ranges, selectors.

// Reads what the table states for these parameters. "link.latency" is also `link = { latency = … }` and
// [cluster.link]. Defaults are left to resolve().
Settings read_settings(Reader& reader, const std::vector<Parameter>& parameters);

// One setting. Errors go to `problems`, and the setting is then empty.
Setting read_setting(const Node& node, const Parameter& parameter, Problems& problems);

// [release]: a bug that two published releases show, one with it and one without.
// The workload and the fault that [release] stands for; `scenario.file` must be known, since the program is
// beside it. False where the file has no such table.
bool read_release(Reader& top, Scenario& scenario);

}  // namespace deadrank::scenarios

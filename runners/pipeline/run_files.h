// runners/pipeline/run_files.h — The files of one trial, and the judgement of those files: of a run, and of
// its control and healed runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "results/judging/case.h"
#include "runners/pipeline/library.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

// The files of one trial, so that the pipeline can be entered at any step: <out>/<scenario>/<seed>/
// plan.toml, evidence.jsonl, truth.json, findings.json, verdict.json; control/ and healed/ likewise.

struct Played;

class RunDirectory {
public:
    // Does not touch the disk.
    RunDirectory(const std::filesystem::path& out, std::string_view scenario, std::uint64_t seed);

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path of(scenarios::Variant variant) const;

    // Errors: io, with the file; files already written are kept.
    scenarios::Result<void> write(const Played& played) const;
    scenarios::Result<void> write(const results::Case& outcome) const;

private:
    std::filesystem::path path_;
};

// Judges the files of a run, and of its control and healed runs.

// One run read from its directory. Without plan or truth it gets findings but no verdict.
struct RunFiles {
    std::optional<scenarios::Plan> plan;
    bool has_truth = false;
    results::Record record;                  // evidence, and truth if there is one
    std::vector<results::Finding> findings;  // detected again
};

// `place`: a run's directory, or an evidence file alone. Errors: io, bad_input.
scenarios::Result<RunFiles> read_run(const Library& library, const std::filesystem::path& place);

// What is missing of a run's evidence, one sentence each: what its file's reader left out, and what was not
// recorded.
std::vector<std::string> gaps_of(const results::Evidence& evidence);

// The control or healed run, in a subdirectory of the run; nothing if it was not kept.
scenarios::Result<std::optional<RunFiles>> read_variant(const Library& library,
                                                        const std::filesystem::path& place,
                                                        scenarios::Variant variant);

// The note for a faulty run that is judged without its control.
inline constexpr std::string_view no_control_note =
    "there is no control run beside it: a wrong result cannot be told from a right one";

// The case in a run's directory, with its control and healed runs if they were kept: what `deadrank run`
// reported when it wrote these files.
struct JudgedRun {
    results::Case outcome;
    std::optional<RunFiles> fault, control, healed;
};
scenarios::Result<JudgedRun> judge_directory(const Library& library, const std::filesystem::path& place);

}  // namespace deadrank::runners

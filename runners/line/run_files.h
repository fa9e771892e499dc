// runners/line/run_files.h — Where one trial's values lie as files, and the judgement of those files: of a
// run, and of its control and healed runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "results/judging/case.h"
#include "runners/line/library.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

// Where one trial's values lie as files, so that one may enter the line anywhere: <out>/<scenario>/<seed>/
// plan.toml, evidence.jsonl, truth.json, findings.json, verdict.json; control/ and healed/ likewise.

struct Played;

class RunDirectory {
public:
    // Touches nothing yet.
    RunDirectory(const std::filesystem::path& out, std::string_view scenario, std::uint64_t seed);

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path of(scenarios::Variant variant) const;

    // Errors: io, with the file; what could be written before stays.
    scenarios::Result<void> write(const Played& played) const;
    scenarios::Result<void> write(const results::Case& outcome) const;

private:
    std::filesystem::path path_;
};

// Judges the files of a run, and of its control and healed runs.

// One run as it was read from its directory. Without plan or truth there are findings and no verdict.
struct RunFiles {
    std::optional<scenarios::Plan> plan;
    bool has_truth = false;
    results::Record record;                  // evidence, and the truth where there is one
    std::vector<results::Finding> findings;  // detected anew
};

// `place`: a run's directory, or an evidence file alone. Errors: io, bad_input.
scenarios::Result<RunFiles> read_run(const Library& library, const std::filesystem::path& place);

// A run's control or healed run, in a directory of its own below; nothing when it was not kept.
scenarios::Result<std::optional<RunFiles>> read_variant(const Library& library,
                                                        const std::filesystem::path& place,
                                                        scenarios::Variant variant);

// Said of a run with a fault that is judged without its control.
inline constexpr std::string_view no_control_note =
    "there is no control run beside it: a wrong result cannot be told from a right one";

// The case that a run's directory holds, with its control and healed runs where they lie beside it: what
// `deadrank run` said when it kept these files.
struct JudgedRun {
    results::Case outcome;
    std::optional<RunFiles> fault, control, healed;
};
scenarios::Result<JudgedRun> judge_directory(const Library& library, const std::filesystem::path& place);

}  // namespace deadrank::runners

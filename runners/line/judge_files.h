// runners/line/judge_files.h — Judges what was played or read back, by the variant that its plan says it is.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "results/judging/case.h"
#include "runners/line/library.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

// One run's values, played or read from its directory. Without plan or truth there are findings and no
// verdict.
struct Heard {
    std::optional<scenarios::Plan> plan;
    std::optional<results::Truth> truth;
    results::Evidence evidence;
    std::vector<results::Finding> findings;  // detected anew
};

// `place`: a run's directory, or an evidence file alone. Errors: io, bad_input.
scenarios::Result<Heard> read_run(const Library& library, const std::filesystem::path& place);

// As the plan's variant asks: with its expectation, or quiet.
results::Judgement judge_variant(const scenarios::Plan& plan, const results::Truth& truth,
                                 const results::Evidence& evidence,
                                 const std::vector<results::Finding>& findings,
                                 const results::Evidence* control);

// The case that a run's directory holds, with its control and healed runs where they lie beside it.
struct JudgedRun {
    results::Case outcome;
    std::optional<Heard> fault, control, healed;
};
scenarios::Result<JudgedRun> judge_directory(const Library& library, const std::filesystem::path& place);

}  // namespace deadrank::runners

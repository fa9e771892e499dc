// runners/commands/find/mutant_report.h — deadrank test --mutate: which mutants of the program its tests notice, as
// text, JSON and JUnit.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/judging/case.h"
#include "results/reports/json_files.h"
#include "results/reports/style.h"
#include "runners/explore/mutants.h"
#include "runners/manual/output_words.h"

namespace deadrank::runners::commands {

// Words of `--mutate`: a mutation, or the name of a group of them ("reductions").
struct MutationGroup {
    std::string name;
    std::vector<std::string> mutations;
};
const std::vector<MutationGroup>& mutation_groups();
// The mutations that these words name. Error: usage, with the nearest word.
scenarios::Result<std::set<std::string>> mutations_of(const std::vector<std::string>& words);

struct MutantReport {
    std::vector<explore::Mutant> mutants;  // also calls that no test executes
    std::size_t found = 0;                 // before --limit
    std::size_t stopped = 0;               // mutants that were not played, because of Ctrl-C
    std::size_t tests = 0, failing = 0;    // of the suite that have ranks; that fail without any mutant
    std::string directory;                 // of the suite: files below it are shown by their relative path
    std::uint64_t seed = 1;
    double seconds = 0;

    std::size_t count(explore::MutantOutcome outcome) const;
    std::size_t runs() const;
    int code() const;  // 0 all that count are noticed, 1 one survived, 2 none counts
    std::string place(const explore::CallSite& site) const;  // "tests/test_x.py:33"

    // `whole`: a line for each mutant. Else what survived, as much as a screen holds.
    std::string text(const results::reports::Style& style, bool whole) const;
    results::reports::Json json() const;
    std::vector<results::Case> cases() const;
};

}  // namespace deadrank::runners::commands

// runners/backends/ranks/hidden_plan.cpp — Every id of the taxonomy becomes the same word, and the reader's
// taxonomy has that word alone: the ranks need no data file.
#include "runners/backends/ranks/hidden_plan.h"

#include "runners/runner/vocabulary.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners {

namespace {
constexpr const char* hidden = "hidden";
}

std::string hidden_plan_text(scenarios::Plan plan) {
    plan.bug = {.stage = hidden, .symptom = hidden, .cause = hidden, .fix = hidden, .replays = {}};
    plan.expect = {};
    plan.expect.symptom = hidden;
    return scenarios::to_toml(plan);
}

scenarios::Result<scenarios::Plan> read_hidden_plan(const std::filesystem::path& file) {
    scenarios::Taxonomy taxonomy;
    const scenarios::TaxonomyEntry word{.id = hidden, .name = hidden};
    taxonomy.stages = taxonomy.symptoms = taxonomy.causes = taxonomy.fixes = {word};
    return scenarios::load_plan(file, taxonomy, vocabulary());
}

}  // namespace deadrank::runners

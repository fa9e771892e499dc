// runners/web/scenario_view.h — The catalogue and a scenario as JSON for a browser.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "results/reports/json_files.h"
#include "runners/pipeline/library.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::web {

using results::reports::Json;

// What there is to choose from: classes, symptoms, causes, and each scenario with those of its words by which
// it is filtered.
Json catalog_view(const scenarios::Catalog& catalog, const scenarios::Taxonomy& taxonomy);

// What is wrong with a text, by line and column; and what it makes under a seed: ranks, knobs, the plan.
// `file`: where it would lie, which gives its id and the place of its program.
Json check_view(std::string_view text, const std::filesystem::path& file, scenarios::Seed seed,
                const Library& library, const scenarios::Capabilities& capabilities);

// {line, column, what, remedy}
Json problem_view(const scenarios::Error& error);

}  // namespace deadrank::runners::web

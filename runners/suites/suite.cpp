// runners/suites/suite.cpp — Plays scenarios through the line, without a command line.
#include "runners/suites/suite.h"

#include "results/reports/terminal.h"
#include "runners/backend/extension.h"
#include "runners/backends/catalog/backend.h"
#include "runners/pipeline/play_trial.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"

namespace deadrank::runners::suites {

using scenarios::Result;
namespace fs = std::filesystem;

struct Suite::Inside {
    SuiteOptions options;
    scenarios::Taxonomy taxonomy;
    scenarios::Vocabulary vocabulary;
    results::Detectors detectors;
    std::vector<scenarios::Scenario> scenarios;
};

namespace {

// A file that does not load fails the whole suite: a test silently left out would pass for ever.
Result<std::vector<scenarios::Scenario>> load_all(const fs::path& where, const scenarios::Taxonomy& taxonomy,
                                                  const scenarios::Vocabulary& vocabulary) {
    std::error_code ignored;
    if (!fs::is_directory(where, ignored)) {
        auto one = scenarios::load(where, taxonomy, vocabulary);
        if (!one) return tl::unexpected(one.error());
        return std::vector<scenarios::Scenario>{std::move(*one)};
    }
    auto catalog = scenarios::load_catalog(where, taxonomy, vocabulary);
    if (!catalog) return tl::unexpected(catalog.error());
    if (!catalog->broken.empty()) return tl::unexpected(catalog->broken.front());
    if (catalog->scenarios.empty()) {
        return scenarios::refuse(scenarios::ErrorCode::io, "holds no scenario",
                                 "a scenario is a .toml file; `deadrank new` writes one", {where.string()});
    }
    return std::move(catalog->scenarios);
}

}  // namespace

Suite::Suite(std::unique_ptr<const Inside> inside) : inside_(std::move(inside)) {}
Suite::~Suite() = default;
Suite::Suite(Suite&&) noexcept = default;
Suite& Suite::operator=(Suite&&) noexcept = default;

Result<Suite> Suite::open(const SuiteOptions& options) {
    auto inside = std::make_unique<Inside>();
    inside->options = options;
    auto taxonomy = scenarios::load_taxonomy(options.data / "taxonomy.toml");
    if (!taxonomy) return tl::unexpected(taxonomy.error());
    inside->taxonomy = std::move(*taxonomy);
    inside->vocabulary = vocabulary(options.extension);
    inside->detectors = options.extension.all_detectors();
    if (auto runner = make_runner(options.runner, options.extension); !runner)
        return tl::unexpected(runner.error());
    auto all = load_all(options.scenarios, inside->taxonomy, inside->vocabulary);
    if (!all) return tl::unexpected(all.error());
    inside->scenarios = std::move(*all);
    return Suite(std::move(inside));
}

const std::vector<scenarios::Scenario>& Suite::scenarios() const { return inside_->scenarios; }

results::Case Suite::play(const scenarios::Scenario& scenario, std::uint64_t seed) const {
    auto runner = make_runner(inside_->options.runner, inside_->options.extension);
    if (!runner) {
        return results::unknown_case(scenario, seed, inside_->options.runner, runner.error().text());
    }
    PipelineOptions line;
    line.out = inside_->options.out;
    line.detectors = &inside_->detectors;
    return runners::play(scenario, scenarios::Seed{seed}, **runner, inside_->vocabulary, line).outcome;
}

std::string story_of(const results::Case& one) {
    return results::reports::failure_block(one, results::reports::Style{});
}

}  // namespace deadrank::runners::suites

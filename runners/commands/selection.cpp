// runners/commands/selection.cpp — Options that several commands share, with one wording each: which
// scenarios, which seeds, which plan.
#include "runners/commands/selection.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

#include "results/record/words.h"
#include "runners/backend/memory.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/ranges.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/document.h"
#include "scenarios/model/value.h"

namespace deadrank::runners::commands {

// ── The texts of the shared options.

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Seed;

namespace {

using results::has;
bool read_number(std::string_view text, std::uint64_t& number) {
    const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), number);
    return trouble == std::errc() && end == text.data() + text.size();
}

}  // namespace

void add_selection(CLI::App& app, SelectionOptions& options) {
    app.add_option(
           "scenarios", options.names,
           "Scenario files, directories of them, ids (communication/rank_leaves_all_reduce), stages, or "
           "patterns ('*/checkpoint_*'). Without any: the whole catalog")
        ->type_name("SCENARIO");
    const auto filter = [&](const char* name, std::vector<std::string>& values, const char* what) {
        app.add_option(name, values, what)
            ->type_name("ID")
            ->allow_extra_args(false)
            ->group("Only scenarios of");
    };
    filter("--stage", options.stages, "this stage of the taxonomy; repeat for several");
    filter("--symptom", options.symptoms, "this symptom");
    filter("--cause", options.causes, "this root cause");
    filter("--fix", options.fixes, "this fix pattern");
    filter("--class", options.classes, "this class: version_mismatch, rank_ordering, …");
    add_catalog(app, options.catalog);
}

void add_catalog(CLI::App& app, std::string& catalog) {
    app.add_option("--catalog", catalog,
                   "Directory of scenarios to use instead of the one shipped (also "
                   "DEADRANK_CATALOG)")
        ->type_name("DIR");
}

void add_json(CLI::App& app, bool& json, const std::string& what) { app.add_flag("--json", json, what); }

void add_seeds(CLI::App& app, SeedOptions& options) {
    auto* seed = app.add_option("--seed", options.seed, "The seed that makes every draw [1]")
                     ->type_name("N")
                     ->check(whole_number());
    app.add_option("--seeds", options.range, "Each seed from A to B, as in 1..20; or one number")
        ->type_name("A..B")
        ->excludes(seed);
}

void add_read_limit(CLI::App& app, std::int64_t& seconds) {
    app.add_option("--limit", seconds,
                   fmt::format("Read the logs of an incident for so long, as 90 or 2min; what comes later is "
                               "left out [{}]",
                               seconds))
        ->type_name("SECONDS")
        ->transform([](const std::string& text) {
            const auto time = scenarios::parse_value(scenarios::ValueType::duration, text);
            return time ? std::to_string(time->number / 1'000'000'000) : text;
        })
        ->check(CLI::Range(1, 86400).description(""));
}

void add_memory(CLI::App& app, std::int64_t& bytes) {
    const auto read = [&bytes](const std::string& words) {
        const auto number = read_memory(words);
        if (!number) throw CLI::ValidationError("--memory", number.error().text());
        bytes = *number;
    };
    app.add_option_function<std::string>(
           "--memory", read,
           "What one run in the simulator may take, as 500M or 8G; one that needs more is unknown [what is "
           "free]")
        ->type_name("SIZE");
}

scenarios::Result<std::vector<Seed>> seeds_of(const SeedOptions& options) {
    if (options.range.empty()) return std::vector<Seed>{Seed{options.seed}};
    constexpr std::uint64_t most = 1'000'000;
    const std::size_t dots = options.range.find("..");
    std::uint64_t first = 0, last = 0;
    const std::string_view text = options.range;
    const bool read = read_number(text.substr(0, dots), first) &&
                      read_number(dots == std::string::npos ? text : text.substr(dots + 2), last);
    if (!read || last < first) {
        return refuse(ErrorCode::usage, fmt::format("--seeds '{}' is not a range", options.range),
                      "write it as A..B with A not above B, as in 1..20");
    }
    if (last - first >= most) {
        return refuse(ErrorCode::usage,
                      fmt::format("--seeds {} asks for more than {} seeds", options.range, most),
                      "play them in several runs");
    }
    std::vector<Seed> seeds;
    for (std::uint64_t number = first; number <= last; ++number) seeds.push_back(Seed{number});
    return seeds;
}

// ── Names are resolved to files first, so that one id loads one file, not the whole catalog.

using scenarios::Error;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
using scenarios::Scenario;
namespace fs = std::filesystem;

namespace {

std::string suggest_nearest(std::string_view word, const std::vector<std::string>& known,
                            const std::string& otherwise) {
    const std::string near = scenarios::nearest(word, known);
    return near.empty() ? otherwise : fmt::format("did you mean '{}'?", near);
}

Result<void> check_ids(const std::vector<std::string>& wanted, const std::vector<std::string>& known,
                       const std::string& option) {
    for (const std::string& word : wanted) {
        if (has(known, word)) continue;
        return refuse(ErrorCode::usage, fmt::format("{} '{}' is not in the taxonomy", option, word),
                      suggest_nearest(word, known, "deadrank list taxonomy lists what is"));
    }
    return {};
}

std::vector<std::string> class_ids(const scenarios::Taxonomy& taxonomy) {
    std::vector<std::string> ids;
    for (const auto& one : taxonomy.classes) ids.push_back(one.id);
    return ids;
}

Result<void> check_filters(const SelectionOptions& options, const scenarios::Taxonomy& taxonomy) {
    return check_ids(options.stages, ids(taxonomy.stages), "--stage")
        .and_then([&] { return check_ids(options.symptoms, ids(taxonomy.symptoms), "--symptom"); })
        .and_then([&] { return check_ids(options.causes, ids(taxonomy.causes), "--cause"); })
        .and_then([&] { return check_ids(options.fixes, ids(taxonomy.fixes), "--fix"); })
        .and_then([&] { return check_ids(options.classes, class_ids(taxonomy), "--class"); });
}

bool of_class(const scenarios::Bug& bug, const std::vector<std::string>& wanted,
              const scenarios::Taxonomy& taxonomy) {
    return std::any_of(
        taxonomy.classes.begin(), taxonomy.classes.end(), [&](const scenarios::ProjectClass& kind) {
            return has(wanted, kind.id) && has(kind.causes, bug.cause) && has(kind.symptoms, bug.symptom);
        });
}

bool wanted(const Scenario& scenario, const SelectionOptions& options, const scenarios::Taxonomy& taxonomy) {
    const auto allows = [](const std::vector<std::string>& list, const std::string& id) {
        return list.empty() || has(list, id);
    };
    const scenarios::Bug& bug = scenario.bug;
    return allows(options.stages, bug.stage) && allows(options.symptoms, bug.symptom) &&
           allows(options.causes, bug.cause) && allows(options.fixes, bug.fix) &&
           (options.classes.empty() || of_class(bug, options.classes, taxonomy));
}

using Files = std::map<std::string, fs::path>;  // by path, so that each is loaded once

Result<void> add_directory(const fs::path& directory, Files& files) {
    std::error_code trouble;
    std::size_t found = 0;
    for (fs::recursive_directory_iterator at(directory, trouble), end; !trouble && at != end;
         at.increment(trouble)) {
        if (at->path().extension() != ".toml") continue;
        files[fs::weakly_canonical(at->path()).string()] = at->path();
        ++found;
    }
    if (trouble) {
        return refuse(ErrorCode::io, fmt::format("cannot be read: {}", trouble.message()),
                      "name a directory that you may read", {directory.string()});
    }
    if (found == 0) {
        return refuse(ErrorCode::usage, "holds no scenario", "scenarios are .toml files",
                      {directory.string()});
    }
    return {};
}

// An id, a stage, or a pattern over ids.
Result<void> add_ids(const Library& library, const std::string& name, const std::vector<std::string>& known,
                     Files& files) {
    std::size_t found = 0;
    for (const std::string& id : known) {
        const std::string last = id.substr(id.rfind('/') + 1);
        const bool meant = id == name || last == name || id.starts_with(name + "/") ||
                           matches_pattern(name, id) || matches_pattern(name, last);
        if (!meant) continue;
        const fs::path file = library.catalog / (id + ".toml");
        files[fs::weakly_canonical(file).string()] = file;
        ++found;
    }
    if (found > 0) return {};
    std::vector<std::string> words = known;
    for (const std::string& id : known) words.push_back(id.substr(id.rfind('/') + 1));
    return refuse(ErrorCode::usage, fmt::format("'{}' is not a scenario, file or directory", name),
                  suggest_nearest(name, words, "deadrank list shows the catalog"));
}

Result<Files> files_of(const Library& library, const std::vector<std::string>& names) {
    Files files;
    std::error_code trouble;
    if (names.empty()) {
        if (auto added = add_directory(library.catalog, files); !added) return tl::unexpected(added.error());
        return files;
    }
    std::vector<std::string> known;
    for (const std::string& name : names) {
        if (fs::is_regular_file(name, trouble)) {
            files[fs::weakly_canonical(name).string()] = name;
            continue;
        }
        if (fs::is_directory(name, trouble)) {
            if (auto added = add_directory(name, files); !added) return tl::unexpected(added.error());
            continue;
        }
        if (known.empty()) {
            auto ids = scenario_ids(library);
            if (!ids) return tl::unexpected(ids.error());
            known = std::move(*ids);
        }
        if (auto added = add_ids(library, name, known, files); !added) return tl::unexpected(added.error());
    }
    return files;
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern.front() == '*') {
        return matches_pattern(pattern.substr(1), text) ||
               (!text.empty() && matches_pattern(pattern, text.substr(1)));
    }
    if (text.empty() || (pattern.front() != '?' && pattern.front() != text.front())) return false;
    return matches_pattern(pattern.substr(1), text.substr(1));
}

bool playable_on(const Scenario& scenario, std::string_view backend) {
    return scenario.backends.empty() ? backend == scenarios::BackendId::sim : has(scenario.backends, backend);
}

Result<Selection> select(const Library& library, const SelectionOptions& options) {
    if (auto checked = check_filters(options, library.taxonomy); !checked)
        return tl::unexpected(checked.error());
    auto files = files_of(library, options.names);
    if (!files) return tl::unexpected(files.error());
    Selection selection;
    for (const auto& [key, file] : *files) {
        auto scenario = load_scenario(library, file);
        if (!scenario) selection.broken.push_back(scenario.error());
        if (scenario && wanted(*scenario, options, library.taxonomy))
            selection.scenarios.push_back(std::move(*scenario));
    }
    std::sort(selection.scenarios.begin(), selection.scenarios.end(),
              [](const Scenario& a, const Scenario& b) { return a.id < b.id; });
    if (selection.scenarios.empty() && selection.broken.empty()) {
        return refuse(ErrorCode::usage, "no scenario fits all that was asked",
                      "ask for less; deadrank list takes the same filters");
    }
    return selection;
}

using scenarios::Result;

namespace {

// A plan is recognised by its [plan] table, not by its file name.
bool is_plan(const std::string& file) {
    const auto text = scenarios::read_text(file);
    return text && (text->starts_with("[plan]") || text->find("\n[plan]") != std::string::npos);
}

}  // namespace

Result<scenarios::Plan> one_plan(const Library& library, const std::string& what, std::uint64_t seed) {
    if (is_plan(what)) return scenarios::load_plan(what, library.taxonomy, library.vocabulary);
    SelectionOptions one;
    one.names = {what};
    auto selection = select(library, one);
    if (!selection) return tl::unexpected(selection.error());
    if (!selection->broken.empty()) return tl::unexpected(selection->broken.front());
    if (selection->scenarios.size() != 1) {
        return scenarios::refuse(scenarios::ErrorCode::usage,
                                 fmt::format("'{}' means {} scenarios", what, selection->scenarios.size()),
                                 "name one of them");
    }
    auto runner = make_runner("sim", *library.extension);
    if (!runner) return tl::unexpected(runner.error());
    auto trial = scenarios::resolve(selection->scenarios.front(), scenarios::Seed{seed},
                                    (*runner)->capabilities(), library.vocabulary);
    if (!trial) return tl::unexpected(trial.error());
    return std::move(trial->fault);
}

}  // namespace deadrank::runners::commands

// scenarios/format/scenario_file.cpp — Reads scenario files, one by one or all of a catalog.
#include "scenarios/format/scenario_file.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <xxhash.h>

#include "scenarios/format/opening_comment.h"
#include "scenarios/format/scenario_tables.h"
#include "scenarios/model/plan.h"
#include "scenarios/model/python_program.h"
#include "scenarios/model/scenario.h"

namespace deadrank::scenarios {

// ── One scenario file into one Scenario; keys that no reader asks for are refused with their place.

namespace {

// The path below the last directory named "catalog"; outside of one, the file and the directory it is in,
// however the path is typed: what the seed draws depends on this name.
std::string id_of(const std::filesystem::path& typed) {
    const std::filesystem::path file = std::filesystem::absolute(typed).lexically_normal();
    std::filesystem::path below;
    bool inside = false;
    for (const auto& part : file) {
        if (part == "catalog") {
            below.clear();
            inside = true;
        } else {
            below /= part;
        }
    }
    if (!inside || below.empty()) below = file.parent_path().filename() / file.filename();
    return below.replace_extension().generic_string();
}

Teach read_teach(Reader& top) {
    const Node* table = top.table("teach");
    if (!table) return {};
    Reader reader(*table, "[teach]", top.problems());
    Teach teach{reader.text("title"),  reader.text("sees"), reader.text("question"),
                reader.text("answer"), reader.text("why"),  reader.texts("hints")};
    reader.refuse_unknown_keys();
    return teach;
}

std::map<std::string, std::string> read_parity(Reader& top) {
    std::map<std::string, std::string> parity;
    const Node* table = top.table("parity");
    if (!table) return parity;
    Reader reader(*table, "[parity]", top.problems());
    for (const std::string& backend : list_words<BackendId>()) {
        if (reader.find(backend)) parity.emplace(backend, reader.text(backend));
    }
    reader.refuse_unknown_keys();
    return parity;
}

// A scenario must be in the directory of its bug's stage, so that its id names the right stage.
void check_stage(Reader& top, const Scenario& scenario, const Taxonomy& taxonomy) {
    const std::string directory = scenario.id.substr(0, std::min(scenario.id.find('/'), scenario.id.size()));
    if (!find(taxonomy.stages, directory) || !find(taxonomy.stages, scenario.bug.stage)) return;
    if (directory == scenario.bug.stage) return;
    const Node* bug = top.find("bug");
    top.problems().add(
        bug->find("stage")->value.place,
        fmt::format("stage '{}' contradicts the directory '{}'", scenario.bug.stage, directory),
        "move the file, or correct the stage");
}

void check_no_workload(Reader& top) {
    if (const Node* both = top.find("workload"))
        top.problems().add(both->place, "[workload] contradicts [release]",
                           "[release] names its program itself: leave [workload] out");
}

// What is said to differ is what a fault makes differ: else the word would be a label and nothing more.
void check_per_rank(Reader& top, const Bug& bug, const std::vector<FaultSettings>& faults) {
    if (bug.per_rank.empty()) return;
    const auto names = [&](const FaultSettings& fault, const char* parameter) {
        const auto found = fault.parameters.find(parameter);
        return found != fault.parameters.end() && !found->second.options.empty() &&
               found->second.options.front().text == bug.per_rank;
    };
    const bool made = std::any_of(faults.begin(), faults.end(), [&](const FaultSettings& fault) {
        const auto ranks = fault.parameters.find("rank");
        const bool some = ranks != fault.parameters.end() && ranks->second.selector != "all";
        return some && (names(fault, "seam") || names(fault, "name"));
    });
    if (made) return;
    top.problems().add(top.find("bug")->find("per_rank")->place,
                       fmt::format("no fault gives some ranks another '{}'", bug.per_rank),
                       "name the seam that a bend_value bends or the variable that a set_env sets, with its "
                       "rank, or leave per_rank out");
}

void read_all(Reader& top, Scenario& scenario, const Taxonomy& taxonomy, const Vocabulary& vocabulary) {
    read_format(top);
    scenario.bug = read_bug(top, taxonomy, scenario.file);
    check_stage(top, scenario, taxonomy);
    scenario.cluster = read_cluster(top);
    const Kind* workload = nullptr;
    WorkloadSettings stated;
    if (read_release(top, scenario)) {
        workload = vocabulary.workload(scenario.workload_kind);
        check_no_workload(top);
    } else {
        stated = read_workload(top, vocabulary, scenario.file);
        workload = stated.kind;
        scenario.workload_kind = stated.name;
        scenario.workload = stated.settings;
    }
    for (FaultSettings& fault : read_faults(top, vocabulary, workload))
        scenario.faults.push_back(std::move(fault));
    check_per_rank(top, scenario.bug, scenario.faults);
    // What the installed release still has is the bug, where nothing else is said to be.
    const auto fix = scenario.workload.find("fix");
    const bool lacks_fix = fix != scenario.workload.end() && !fix->second.options.front().text.empty();
    if (lacks_fix && scenario.bug.patch.empty())
        scenario.bug.patch = reverse_patch(fix->second.options.front().text);
    const auto patch = read_patch(top, scenario.bug, stated, scenario.file);
    if (scenario.faults.empty() && !top.find("fault") && scenario.bug.patch.empty()) {
        top.problems().add(top.node().place, "there is no [[fault]]", "say what is done to the job");
    }
    scenario.expect = read_expectation(top, scenario.bug, taxonomy);
    scenario.heal = read_heal(top, workload, scenario.faults, patch.has_value(), taxonomy, vocabulary);
    if (patch) {
        scenario.faults.push_back(*patch);
        scenario.heal.faults.emplace_back();
    }
    scenario.teach = read_teach(top);
    scenario.parity = read_parity(top);
    scenario.backends = read_backends(top);
    top.refuse_unknown_keys();
}

struct Loaded {
    Scenario scenario;
    std::vector<Error> errors;
};

Loaded read(std::string_view text, const std::filesystem::path& file, const Taxonomy& taxonomy,
            const Vocabulary& vocabulary) {
    Loaded loaded;
    const auto document = parse_document(text, file.string());
    if (!document) return {{}, {document.error()}};
    loaded.scenario.id = id_of(file);
    loaded.scenario.file = file;
    loaded.scenario.story = story_of(text);
    Problems problems;
    Reader top(*document, "a scenario", problems);
    read_all(top, loaded.scenario, taxonomy, vocabulary);
    loaded.errors = problems.sorted();
    // Texts that a file beside it may hold belong to it.
    std::string all(text);
    if (const Kind* const kind = vocabulary.workload(loaded.scenario.workload_kind))
        for (const Parameter& parameter : kind->parameters)
            if (const auto read = loaded.scenario.workload.find(parameter.name);
                !parameter.suffixes.empty() && read != loaded.scenario.workload.end())
                for (const Value& option : read->second.options) all += option.text;
    all += loaded.scenario.bug.patch;
    loaded.scenario.digest = fmt::format("{:016x}", XXH3_64bits(all.data(), all.size()));
    return loaded;
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view toml, const std::filesystem::path& file,
                                const Taxonomy& taxonomy, const Vocabulary& vocabulary) {
    Loaded loaded = read(toml, file, taxonomy, vocabulary);
    if (!loaded.errors.empty()) return tl::unexpected(joined(loaded.errors));
    return std::move(loaded.scenario);
}

Result<Scenario> load(const std::filesystem::path& file, const Taxonomy& taxonomy,
                      const Vocabulary& vocabulary) {
    const auto text = read_text(file);
    if (!text) return tl::unexpected(text.error());
    return parse_scenario(*text, file, taxonomy, vocabulary);
}

std::vector<Error> problems_in(const std::filesystem::path& file, const Taxonomy& taxonomy,
                               const Vocabulary& vocabulary) {
    const auto text = read_text(file);
    if (!text) return {text.error()};
    return problems_in(*text, file, taxonomy, vocabulary);
}

std::vector<Error> problems_in(std::string_view toml, const std::filesystem::path& file,
                               const Taxonomy& taxonomy, const Vocabulary& vocabulary) {
    return read(toml, file, taxonomy, vocabulary).errors;
}

// Every scenario below a directory, in order of id; a broken file does not hide the others.
Result<Catalog> load_catalog(const std::filesystem::path& directory, const Taxonomy& taxonomy,
                             const Vocabulary& vocabulary) {
    std::error_code trouble;
    std::vector<std::filesystem::path> files;
    for (std::filesystem::recursive_directory_iterator at(directory, trouble), end; !trouble && at != end;
         at.increment(trouble)) {
        if (at->path().extension() == ".toml") files.push_back(at->path());
    }
    if (trouble) {
        return refuse(ErrorCode::io, fmt::format("cannot be listed: {}", trouble.message()),
                      "name a directory that exists and that you may read", {directory.string()});
    }
    std::sort(files.begin(), files.end());
    Catalog catalog;
    for (const auto& file : files) {
        auto scenario = load(file, taxonomy, vocabulary);
        if (scenario) {
            catalog.scenarios.push_back(std::move(*scenario));
        } else {
            for (Error& error : problems_in(file, taxonomy, vocabulary))
                catalog.broken.push_back(std::move(error));
        }
    }
    std::sort(catalog.scenarios.begin(), catalog.scenarios.end(),
              [](const Scenario& a, const Scenario& b) { return a.id < b.id; });
    return catalog;
}

}  // namespace deadrank::scenarios

// runners/web/scenario_view.cpp — The catalogue and a scenario as JSON for a browser.
#include "runners/web/scenario_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "runners/learn/lesson.h"
#include "runners/web/knobs.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/python_program.h"

namespace deadrank::runners::web {

namespace {

bool contains(const std::vector<std::string>& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

// The classes of the project that a bug belongs to: those of its cause, and of its symptom too if there are
// any.
std::vector<std::string> classes_of(const scenarios::Bug& bug, const scenarios::Taxonomy& taxonomy) {
    std::vector<std::string> by_both, by_cause;
    for (const scenarios::ProjectClass& kind : taxonomy.classes) {
        if (!contains(kind.causes, bug.cause)) continue;
        by_cause.push_back(kind.id);
        if (contains(kind.symptoms, bug.symptom)) by_both.push_back(kind.id);
    }
    return by_both.empty() ? by_cause : by_both;
}

// The projects whose reports it replays: "pytorch/pytorch" of "pytorch/pytorch#1234".
std::vector<std::string> projects_of(const scenarios::Bug& bug) {
    std::set<std::string> projects;
    for (const std::string& report : bug.replays) {
        const std::size_t end = report.find_first_of("#@");
        if (end != std::string::npos && report.find('/') < end) projects.insert(report.substr(0, end));
    }
    return {projects.begin(), projects.end()};
}

Json names_view(const std::vector<scenarios::TaxonomyEntry>& entries) {
    Json list = Json::array();
    for (const auto& one : entries)
        list.push_back({{"id", one.id}, {"name", one.name}, {"what", one.definition}});
    return list;
}

Json scenario_row(const scenarios::Scenario& scenario, const scenarios::Taxonomy& taxonomy) {
    return {{"id", scenario.id},
            {"title", scenario.teach.title},
            {"story", scenario.story},
            {"stage", scenario.bug.stage},
            {"symptom", scenario.bug.symptom},
            {"cause", scenario.bug.cause},
            {"fix", scenario.bug.fix},
            {"classes", classes_of(scenario.bug, taxonomy)},
            {"projects", projects_of(scenario.bug)},
            {"replays", scenario.bug.replays},
            {"workload", scenario.workload_kind},
            {"real_code", scenario.workload_kind == scenarios::python_workload}};
}

// The program as every rank runs it, and the patch that put the bug in. Null if the workload is no program.
Json program_view(const scenarios::Scenario& scenario) {
    const auto program = learn::program_clue(scenario);
    if (program.lines.empty()) return nullptr;
    return {{"lines", program.lines}, {"patch", scenario.bug.patch}};
}

Json knob_view(const Knob& knob) {
    Json view = {{"path", knob.path}, {"part", knob.part},       {"name", knob.name},  {"what", knob.what},
                 {"type", knob.type}, {"written", knob.written}, {"value", knob.value}};
    if (!knob.choices.empty()) view["choices"] = knob.choices;
    return view;
}

}  // namespace

Json problem_view(const scenarios::Error& error) {
    return {{"line", error.place.line},
            {"column", error.place.column},
            {"what", error.what},
            {"remedy", error.remedy}};
}

Json catalog_view(const scenarios::Catalog& catalog, const scenarios::Taxonomy& taxonomy) {
    Json classes = Json::array(), rows = Json::array();
    for (const auto& one : taxonomy.classes) classes.push_back({{"id", one.id}, {"name", one.name}});
    for (const auto& scenario : catalog.scenarios) rows.push_back(scenario_row(scenario, taxonomy));
    return {{"classes", classes},
            {"stages", names_view(taxonomy.stages)},
            {"symptoms", names_view(taxonomy.symptoms)},
            {"causes", names_view(taxonomy.causes)},
            {"scenarios", rows}};
}

Json check_view(std::string_view text, const std::filesystem::path& file, scenarios::Seed seed,
                const Library& library, const scenarios::Capabilities& capabilities) {
    Json problems = Json::array();
    for (const auto& error : scenarios::problems_in(text, file, library.taxonomy, library.vocabulary))
        problems.push_back(problem_view(error));
    if (!problems.empty()) return {{"problems", problems}};
    const auto scenario = scenarios::parse_scenario(text, file, library.taxonomy, library.vocabulary);
    if (!scenario) return {{"problems", Json::array({problem_view(scenario.error())})}};
    const auto trial = scenarios::resolve(*scenario, seed, capabilities, library.vocabulary);
    if (!trial) return {{"problems", Json::array({problem_view(trial.error())})}};
    Json knobs = Json::array();
    for (const Knob& knob : list_knobs(*scenario, trial->fault, text, library.vocabulary))
        knobs.push_back(knob_view(knob));
    Json view = {{"problems", problems}};
    view["scenario"] = scenario_row(*scenario, library.taxonomy);
    view["digest"] = scenario->digest;
    view["ranks"] = trial->fault.world_size();
    view["expected_symptom"] = scenario->expect.symptom;
    view["fix"] = scenario->heal.says;
    view["knobs"] = std::move(knobs);
    view["program"] = program_view(*scenario);
    view["plan"] = scenarios::to_toml(trial->fault);
    return view;
}

}  // namespace deadrank::runners::web

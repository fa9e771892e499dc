// runners/commands/know/coverage_command.cpp — deadrank list coverage: which cells of symptom × cause × stage ×
// fix × backend have a scenario, and which do not. First the four shares, then what is missing, and on
// request every cell.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "results/judging/coverage.h"
#include "results/record/words.h"
#include "runners/backends/catalog/backend.h"
#include "runners/backends/sim/sim_runner.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/pipeline/library.h"
#include "runners/score/proofs.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::commands {

// Why a scenario is not played on a backend, as the backend itself reports.
// scenario id → backend → why not. Backends that can play the scenario, and say so in its file, are left out.
using BackendReasons = std::map<std::string, std::map<std::string, std::string>>;
BackendReasons why_not_played(const Library& library, const std::vector<scenarios::Scenario>& scenarios);

namespace {

std::string reason(const Library& library, const scenarios::Scenario& scenario, Runner& runner) {
    const auto trial = scenarios::resolve(scenario, {1}, runner.capabilities(), library.vocabulary);
    if (!trial) return trial.error().what;
    const auto able = runner.check_plan(trial->fault);
    return able ? "it could be, and its file does not say that it was tried" : able.error().what;
}

}  // namespace

BackendReasons why_not_played(const Library& library, const std::vector<scenarios::Scenario>& scenarios) {
    BackendReasons reasons;
    for (const std::string backend : {"sim", "local", "mpi", "gpu"}) {
        const auto runner = make_runner(backend, {});
        for (const scenarios::Scenario& scenario : scenarios) {
            if (playable_on(scenario, backend)) continue;
            reasons[scenario.id][backend] =
                runner ? reason(library, scenario, **runner) : runner.error().what;
        }
    }
    return reasons;
}

namespace {

using Json = nlohmann::ordered_json;
using results::Coverage;
using results::CoverageAxis;
using results::reports::Ink;
using results::reports::Style;

struct CoverageArguments {
    std::string catalog;
    bool json = false, cells = false, require_all = false, played = false;
};

std::vector<const CoverageAxis*> coverage_axes(const Coverage& coverage) {
    return {&coverage.symptoms, &coverage.causes, &coverage.fixes, &coverage.stages};
}

Json axis_json(const CoverageAxis& axis) {
    return {{"covered", axis.covered()},
            {"of", axis.scenarios.size()},
            {"missing", axis.missing()},
            {"scenarios", axis.scenarios}};
}

Json gap_json(const results::Gap& gap) {
    Json json = {{"symptom", gap.symptom}, {"cause", gap.cause}};
    if (!gap.fix.empty()) json["fix"] = gap.fix;
    json["why"] = gap.why;
    json["proposed"] = gap.proposed;
    json["reports"] = gap.reports;
    return json;
}

// The scenarios of a cell that a backend does not play, each with its reason.
Json not_played(const results::CoverageCell& cell, const BackendReasons& reasons) {
    Json json = Json::object();
    for (const auto& [backend, ids] : cell.backends) {
        for (const std::string& id : ids) {
            const auto found = reasons.find(id);
            if (found == reasons.end()) continue;
            for (const auto& [missing, why] : found->second) json[missing][id] = why;
        }
    }
    return json;
}

Json field_json(const results::Strictness::Field& field) {
    return {{"stated", field.stated}, {"reasoned", field.reasoned}, {"open", field.open}};
}

Json checks_json(const results::Strictness& checks) {
    return {{"blames", field_json(checks.blames)},
            {"reaction", field_json(checks.reaction)},
            {"within", field_json(checks.within)},
            {"heals",
             {{"keep_the_trigger", checks.heals_keep},
              {"change_settings", checks.heals_set},
              {"work_around", checks.heals_workaround},
              {"are_the_control", checks.heals_control},
              {"without_a_reason", checks.heals_missing}}}};
}

Json source_json(const BySource& counts) {
    Json json;
    for (const results::Source source : results::all_sources)
        json[results::name_of(source)] = counts[static_cast<std::size_t>(source)];
    return json;
}

Json proofs_json(const Proofs& proofs) {
    Json muted = Json::object();
    for (const auto& [kind, one] : proofs.muted)
        muted[kind] = {{"scenarios", one.scenarios}, {"red", one.red}, {"still_caught", one.caught}};
    Json detectors = Json::object();
    for (const auto& [detector, counts] : proofs.caught_by) detectors[detector] = source_json(counts);
    return {{"caught", source_json(proofs.caught)},
            {"caught_by", detectors},
            {"heals_with_trigger", proofs.heals_with_trigger.size()},
            {"heals_by_settings", proofs.heals_by_settings.size()},
            {"heals_that_work_around", proofs.heals_that_work_around},
            {"heals_that_are_controls", proofs.heals_that_are_controls},
            {"faults_without_effect", proofs.idle},
            {"loose_bounds", proofs.loose},
            {"muted", muted},
            {"causes",
             {{"first", proofs.causes_right.size()},
              {"later", proofs.causes_second},
              {"another", proofs.causes_wrong},
              {"none", proofs.causes_missing}}}};
}

void print_coverage_json(const Coverage& coverage, const BackendReasons& reasons,
                         const std::optional<Proofs>& proofs) {
    Json json = {{"scenarios", coverage.scenarios}};
    for (const CoverageAxis* axis : coverage_axes(coverage)) json[axis->name] = axis_json(*axis);
    Json gaps = Json::array(), fix_gaps = Json::array(), beyond = Json::array(), cells = Json::array();
    for (const auto& gap : coverage.gaps) gaps.push_back(gap_json(gap));
    for (const auto& gap : coverage.fix_gaps) fix_gaps.push_back(gap_json(gap));
    for (const auto& [symptom, cause] : coverage.beyond)
        beyond.push_back({{"symptom", symptom}, {"cause", cause}});
    for (const auto& cell : coverage.cells) {
        cells.push_back({{"symptom", cell.symptom},
                         {"cause", cell.cause},
                         {"stage", cell.stage},
                         {"fix", cell.fix},
                         {"backends", cell.backends},
                         {"not_played", not_played(cell, reasons)}});
    }
    json["pairs"] = {{"covered", coverage.pairs - coverage.gaps.size()},
                     {"of", coverage.pairs},
                     {"missing", gaps},
                     {"without_fix", fix_gaps},
                     {"beyond", beyond}};
    json["bugs"] = {
        {"real_code", coverage.real_code}, {"planted", coverage.planted}, {"outside", coverage.outside}};
    json["backends"] = coverage.backends;
    json["unseen"] = coverage.unseen;
    json["without_report"] = coverage.without_report;
    json["checks"] = checks_json(coverage.checks);
    if (proofs) json["played"] = proofs_json(*proofs);
    json["cells"] = cells;
    print_out("{}\n", json.dump(2));
}

void print_share(const Style& style, std::string_view name, std::size_t covered, std::size_t of) {
    constexpr std::size_t bar = 34;
    const std::size_t full = of == 0 ? 0 : covered * bar / of;
    std::string filled, empty;
    for (std::size_t i = 0; i < bar; ++i) (i < full ? filled : empty) += i < full ? "█" : "░";
    print_out("  {:<10} {}{}  {:>3}/{}\n", name,
              style.paint(covered == of ? Ink::green : Ink::yellow, filled), style.paint(Ink::dim, empty),
              covered, of);
}

void print_missing(const Style& style, const Coverage& coverage) {
    for (const CoverageAxis* axis : coverage_axes(coverage)) {
        const auto missing = axis->missing();
        if (missing.empty()) continue;
        print_out("\n{}\n", style.paint(Ink::bold, "no scenario yet: " + axis->name));
        for (const std::string& id : missing) print_out("  {}\n", id);
    }
    if (!coverage.gaps.empty()) {
        print_out("\n{}\n", style.paint(Ink::bold, "proposed pairs without a scenario"));
        for (const auto& gap : coverage.gaps) {
            print_out("  {} × {}\n      {}\n", gap.symptom, gap.cause, style.paint(Ink::dim, gap.why));
        }
    }
    if (!coverage.fix_gaps.empty()) {
        print_out("\n{}\n", style.paint(Ink::bold, "proposed fix patterns without a scenario"));
        for (const auto& gap : coverage.fix_gaps) {
            print_out("  {} × {} × {}\n      {}\n", gap.symptom, gap.cause, gap.fix,
                      style.paint(Ink::dim, gap.why));
        }
    }
}

void print_cells(const Style& style, const Coverage& coverage) {
    std::string symptom;
    for (const auto& cell : coverage.cells) {
        if (cell.symptom != symptom) print_out("\n{}\n", style.paint(Ink::bold, cell.symptom));
        symptom = cell.symptom;
        std::string where;
        for (const auto& [backend, ids] : cell.backends) where += fmt::format("  {} {}", backend, ids.size());
        print_out("  {} · {} · {}{}\n", cell.cause, cell.stage, cell.fix, style.paint(Ink::dim, where));
    }
}

void print_checks(const results::Strictness& checks) {
    const auto field = [](const char* name, const results::Strictness::Field& one) {
        return fmt::format("  {:<10}   {} state it, {} say why not, {} leave it open\n", name, one.stated,
                           one.reasoned, one.open.size());
    };
    print_out(
        "  heals        {} fix with the trigger left in place, {} by settings alone, {} are workarounds, {} "
        "are the control and say why, {} without a word\n",
        checks.heals_keep, checks.heals_set, checks.heals_workaround, checks.heals_control,
        checks.heals_missing.size());
    print_out("{}{}{}", field("whom", checks.blames), field("reaction", checks.reaction),
              field("how soon", checks.within));
}

void print_proofs(const Proofs& proofs) {
    std::size_t red = 0;
    for (const auto& [kind, one] : proofs.muted) red += !one.red.empty();
    print_out(
        "  played       {} fixed runs differ from their control with the trigger in place, {} by settings, "
        "{} by a workaround, {} are their control\n",
        proofs.heals_with_trigger.size(), proofs.heals_by_settings.size(),
        proofs.heals_that_work_around.size(), proofs.heals_that_are_controls.size());
    print_out(
        "               {} faults without effect; of {} kinds of faults {} turn a scenario silent or "
        "wrong when muted; {} bounds are loose\n",
        proofs.idle.size(), proofs.muted.size(), red, proofs.loose.size());
    const auto& [plain, observed, asserted] = proofs.caught;
    print_out(
        "  caught       {} from plain evidence (logs, exits, recorder, metrics), {} with what hooks observe, "
        "{} with what programs assert of themselves\n",
        plain, observed, asserted);
    for (const auto& [detector, counts] : proofs.caught_by) {
        print_out("                 {:<26} plain {:>3} · observed {:>3} · asserted {:>3}\n", detector,
                  counts[0], counts[1], counts[2]);
    }
    print_out("               cause named first {}, later {}, another one {}, none {}\n",
              proofs.causes_right.size(), proofs.causes_second.size(), proofs.causes_wrong.size(),
              proofs.causes_missing.size());
}

void print_coverage_text(const Coverage& coverage, bool cells, const std::optional<Proofs>& proofs) {
    const Style style = style_of(stdout);
    print_out("{}\n", style.paint(Ink::bold, results::counted(coverage.scenarios, "scenario")));
    for (const CoverageAxis* axis : coverage_axes(coverage)) {
        print_share(style, axis->name, axis->covered(), axis->scenarios.size());
    }
    print_share(style, "pairs", coverage.pairs - coverage.gaps.size(), coverage.pairs);
    std::string backends;
    for (const auto& [backend, count] : coverage.backends) backends += fmt::format("{} {}  ", backend, count);
    print_out("\n  playable on  {}\n  cells        {} of symptom × cause × stage × fix\n", backends,
               coverage.cells.size());
    print_out(
        "  bugs         {} are code of a real program, {} a switch planted in a workload, {} come from "
        "outside\n",
        coverage.real_code, coverage.planted, coverage.outside);
    if (!coverage.beyond.empty()) {
        print_out("  beyond       {} that the taxonomy does not propose\n",
                  results::counted(coverage.beyond.size(), "pair"));
    }
    if (!coverage.unseen.empty()) print_out("  unseen       {}\n", fmt::join(coverage.unseen, ", "));
    print_checks(coverage.checks);
    if (proofs) print_proofs(*proofs);
    print_missing(style, coverage);
    if (cells) print_cells(style, coverage);
    if (!cells) print_out("\n{}\n", style.paint(Ink::dim, "  --cells lists every cell with its backends"));
}

void coverage(const CoverageArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto selection = select(*library, {});
    if (!session.take(selection)) return;
    const Coverage found = results::coverage_of(selection->scenarios, library->taxonomy);
    std::optional<Proofs> proofs;
    if (arguments.played) {
        SimRunner simulator;
        proofs = prove(selection->scenarios, simulator, library->vocabulary);
    }
    if (arguments.json) print_coverage_json(found, why_not_played(*library, selection->scenarios), proofs);
    if (!arguments.json) print_coverage_text(found, arguments.cells, proofs);
    const bool all = found.complete() && found.gaps.empty();
    session.code = arguments.require_all && !all ? exit_fail : exit_pass;
    for (const scenarios::Error& error : selection->broken) session.complain(error);
}

void add_coverage(CLI::App& command, Session& session) {
    command.footer(
        "A cell is symptom × cause × stage × fix × backend; --json says of each backend why a scenario is "
        "not "
        "played there.\nExit code 0, and with --require-all 1 while something is missing.\n\n"
        "Examples:\n"
        "  deadrank list coverage\n"
        "  deadrank list coverage --json | jq .pairs.missing\n"
        "  deadrank list coverage --played           what the checks prove, found by playing them\n"
        "  deadrank list coverage --require-all      in CI, once everything is covered");
    auto arguments = std::make_shared<CoverageArguments>();
    add_catalog(command, arguments->catalog);
    command.add_flag("--cells", arguments->cells, "List every cell");
    command.add_flag("--played", arguments->played,
                     "Also play each scenario in the simulator, healed and with muted faults, and count what "
                     "its checks prove");
    command.add_flag("--require-all", arguments->require_all,
                     "Exit code 1 when an id or a proposed pair has no scenario");
    add_json(command, arguments->json, "A JSON object with every cell and gap");
    command.callback([arguments, &session] { coverage(*arguments, session); });
}

}  // namespace

extern const CommandRow coverage_row{
    "coverage", "Counts which cells of the taxonomy have a scenario", add_coverage};

}  // namespace deadrank::runners::commands

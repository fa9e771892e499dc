// runners/commands/judge/diagnose_report.cpp — A diagnosis as JSON; results/diagnosis/operator_answer.h has
// it as text.
#include "runners/commands/judge/diagnose_report.h"

#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

#include "results/record/words.h"
#include "results/reports/json_files.h"

namespace deadrank::runners::commands {

namespace {

using results::diagnosis::Diagnosis;
using results::reports::Ink;
using results::reports::Json;
using results::reports::Style;

std::string share(std::size_t part, std::size_t whole) {
    return whole == 0
               ? "–"
               : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string accuracy_row(const std::string& name, const Accuracy& row) {
    return fmt::format("  {:<46}{:>6}{:>9}{:>9}{:>9}{:>9}\n", name, row.trials,
                       share(row.cause_first, row.trials), share(row.cause_three, row.trials),
                       share(row.fix_first, row.trials), share(row.fix_three, row.trials));
}

Json accuracy_json(const Accuracy& row) {
    return {{"trials", row.trials},           {"symptom", row.symptom},     {"cause_top_1", row.cause_first},
            {"cause_top_3", row.cause_three}, {"fix_top_1", row.fix_first}, {"fix_top_3", row.fix_three}};
}

}  // namespace

std::string diagnosis_json(const Diagnosis& diagnosis, const std::string& place, const std::string& similar) {
    Json causes = Json::array(), fixes = Json::array();
    for (const auto& one : diagnosis.causes) {
        Json reasons = Json::array();
        for (const auto& reason : one.reasons)
            reasons.push_back({{"points", reason.points}, {"says", reason.says}});
        causes.push_back({{"cause", one.cause}, {"points", one.points}, {"reasons", reasons}});
    }
    for (const auto& one : diagnosis.fixes) fixes.push_back({{"fix", one.fix}, {"of", one.of}});
    Json lines = Json::array();
    const auto& reading = diagnosis.incident.reading;
    for (const auto& quote : diagnosis.incident.lines) {
        Json line = {{"rank", quote.rank == results::no_rank ? Json(nullptr) : Json(quote.rank)}};
        if (results::diagnosis::has_times(reading)) line["t"] = quote.at.count();
        line["text"] = quote.text;
        lines.push_back(std::move(line));
    }
    const Json json = {
        {"place", place},
        {"outcome", name_of(diagnosis.incident.outcome)},
        {"healthy", diagnosis.healthy()},
        {"ended", diagnosis.incident.ended},
        {"stop", name_of(diagnosis.incident.stop)},
        {"stopped_by", diagnosis.incident.stopped_by},
        {"silent_first", diagnosis.incident.silent_first},
        {"devices", diagnosis.incident.devices},
        {"hosts", diagnosis.incident.hosts},
        {"vendor", name_of(diagnosis.incident.vendor)},
        {"own_program", diagnosis.incident.user_code},
        {"sure", diagnosis.incident.sure},
        {"lines", lines},
        {"read",
         {{"lines", reading.lines},
          {"not_understood", reading.not_understood},
          {"tracebacks_without_a_rank", reading.orphans}}},
        {"next", results::diagnosis::next_looks(diagnosis)},
        {"similar", similar},
        {"finding", diagnosis.finding ? results::reports::finding_json(*diagnosis.finding) : Json(nullptr)},
        {"others", results::reports::findings_json(diagnosis.others)},
        {"causes", causes},
        {"fixes", fixes}};
    return results::reports::dumped(json);
}

std::string score_text(const DiagnosisScore& score, std::size_t seeds, const Style& style) {
    std::string text =
        fmt::format("  {:<46}{:>6}{:>18}{:>18}\n  {:<46}{:>6}{:>9}{:>9}{:>9}{:>9}\n", "", "", "cause",
                    "fix pattern", "symptom", "trials", "top-1", "top-3", "top-1", "top-3");
    text = style.paint(Ink::bold, text);
    for (const auto& [symptom, row] : score.by_symptom) text += accuracy_row(symptom, row);
    text += style.paint(Ink::bold, accuracy_row("all", score.all));
    text += fmt::format("\n  symptom itself right {}; {} of {} controls called healthy\n",
                        share(score.all.symptom, score.all.trials), score.controls_healthy, score.controls);
    if (score.unseen > 0)
        text += fmt::format("  left out: {} whose bug no evidence can show\n",
                            results::counted(score.unseen, "trial"));
    if (score.not_played > 0)
        text += fmt::format("  not played: {}\n", results::counted(score.not_played, "trial"));
    std::map<std::string, std::pair<std::size_t, const DiagnosedTrial*>>
        missed;  // scenario → how often, an example
    for (const DiagnosedTrial& trial : score.trials) {
        if (trial.unseen || !trial.trouble.empty() || trial.cause_place == 1) continue;
        auto& [times, example] = missed[trial.scenario];
        ++times;
        example = &trial;
    }
    if (missed.empty()) return text;
    text += fmt::format("\n{}\n", style.paint(Ink::bold, "another cause came first"));
    for (const auto& [scenario, entry] : missed) {
        const auto& [times, trial] = entry;
        text += fmt::format(
            "  {} ({} of {})\n      {}\n", scenario, times, seeds,
            style.paint(
                Ink::dim,
                fmt::format(
                    "said {}, was {} ({})", trial->named.empty() ? "healthy" : trial->named, trial->bug.cause,
                    trial->cause_place == 0 ? "not named" : fmt::format("place {}", trial->cause_place))));
    }
    return text;
}

std::string score_json(const DiagnosisScore& score) {
    Json by_symptom = Json::object(), trials = Json::array();
    for (const auto& [symptom, row] : score.by_symptom) by_symptom[symptom] = accuracy_json(row);
    for (const DiagnosedTrial& trial : score.trials) {
        trials.push_back({{"scenario", trial.scenario},
                          {"seed", trial.seed},
                          {"symptom_right", trial.symptom_right},
                          {"cause", trial.bug.cause},
                          {"named_first", trial.named},
                          {"cause_place", trial.cause_place},
                          {"fix_place", trial.fix_place},
                          {"control_healthy", trial.control_healthy},
                          {"unseen", trial.unseen},
                          {"trouble", trial.trouble}});
    }
    const Json json = {{"all", accuracy_json(score.all)},
                       {"controls", {{"healthy", score.controls_healthy}, {"of", score.controls}}},
                       {"unseen", score.unseen},
                       {"not_played", score.not_played},
                       {"by_symptom", by_symptom},
                       {"trials", trials}};
    return results::reports::dumped(json, 2);
}

}  // namespace deadrank::runners::commands

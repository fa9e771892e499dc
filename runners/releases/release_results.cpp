// runners/releases/release_results.cpp — Runs the detectors three times, each time with more evidence, and
// writes down their answers unchanged. A silent detector leaves an empty cell.
#include "runners/releases/release_results.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

#include "results/detectors/detector.h"
#include "results/record/words.h"
#include "results/reports/resilience_table.h"

namespace deadrank::runners::releases {

namespace fs = std::filesystem;
using results::Evidence;

namespace {

constexpr std::array<std::string_view, 4> in_logs = {"job.start", "job.stop", "rank.exit", "rank.log"};
constexpr std::array<std::string_view, 3> self_reported_kinds = {"value.sample", "shard.layout",
                                                                 "data.batch"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

std::string symptoms_of(const std::vector<results::Finding>& findings) {
    std::set<std::string> symptoms;
    for (const results::Finding& finding : findings) symptoms.insert(finding.symptom);
    return fmt::format("{}", fmt::join(symptoms, ", "));
}

std::string evidence_text_of_kind(Evidence& evidence, EvidenceKind most) {
    const auto texts = static_cast<std::uint32_t>(evidence.text("as many texts as there are"));
    const Evidence some = evidence_up_to(evidence, most, texts);
    return symptoms_of(results::detect(some, results::all_detectors()));
}

// The kept run of one bug: <runs>/<id>/<seed>.
scenarios::Result<JudgedRun> kept_run(const Library& library, const fs::path& runs, const ReleaseBug& bug) {
    return judge_directory(library, runs / bug.scenario.id / "1");
}

std::string describe_reaction(const JudgedRun& run) {
    if (!run.outcome.fault || !run.fault) return "";
    const results::Grade& grade = run.outcome.fault->job;
    return grade.untold.empty() ? std::string(results::name_of(grade.reaction)) : "not told";
}

std::string cell(const std::string& text) { return text.empty() ? "silent" : text; }

std::string report_link(const std::string& report) {
    const std::size_t mark = report.find('#');
    if (mark == std::string::npos) return report;
    return fmt::format("[{}](https://github.com/{}/issues/{})", report, report.substr(0, mark),
                       report.substr(mark + 1));
}

std::string row_text(const ReleaseRow& row) {
    const scenarios::Scenario& scenario = row.bug->scenario;
    const scenarios::Release& release = row.bug->release;
    const std::string name = scenario.id.substr(scenario.id.rfind('/') + 1);
    std::string reports;
    for (const std::string& report : scenario.bug.replays)
        reports += (reports.empty() ? "" : ", ") + report_link(report);
    std::string text =
        fmt::format("| [{}]({}.toml) | {} | {} {} → {} | {} | ", name, scenario.id, reports,
                    release.bug.package, release.bug.version, release.fixed.version, scenario.bug.symptom);
    if (!row.seen)
        return text + fmt::format("not seen: {} | | | | | |\n", results::reports::plain_cell(row.why_not));
    const char* noticed = row.verdict == results::Verdict::pass ? "yes" : "**no**";
    return text + fmt::format("{} | {} | {} | {} | {} | {} |\n", noticed, cell(row.plain), cell(row.observed),
                              cell(row.asserted), row.job, row.detail);
}

}  // namespace

EvidenceKind evidence_kind(const results::Event& event) {
    const std::string_view kind = results::kind_name(event);
    if (among(in_logs, kind)) return EvidenceKind::plain;
    return among(self_reported_kinds, kind) ? EvidenceKind::asserted : EvidenceKind::observed;
}

Evidence evidence_up_to(const Evidence& evidence, EvidenceKind most, std::uint32_t texts) {
    Evidence some;
    for (std::uint32_t id = 0; id < texts; ++id) some.text(evidence.text(static_cast<results::TextId>(id)));
    for (const results::Event& event : evidence.events()) {
        if (evidence_kind(event) <= most) some.record(event);
    }
    some.finish(evidence.observed_until());
    return some;
}

std::vector<ReleaseRow> rows_of(const Library& library, const Collection& collection, const fs::path& runs,
                                const fs::path& detail) {
    std::vector<ReleaseRow> rows;
    for (const ReleaseBug& bug : collection.bugs) {
        ReleaseRow row{.bug = &bug};
        auto run = kept_run(library, runs, bug);
        const results::Case* outcome = run ? &run->outcome : nullptr;
        row.seen = run && run->fault && run->control && outcome->fault &&
                   outcome->fault->verdict != results::Verdict::unknown;
        if (row.seen) {
            Evidence& evidence = run->fault->record.evidence;
            row.plain = evidence_text_of_kind(evidence, EvidenceKind::plain);
            row.observed = evidence_text_of_kind(evidence, EvidenceKind::observed);
            row.asserted = evidence_text_of_kind(evidence, EvidenceKind::asserted);
            row.job = describe_reaction(*run);
            row.verdict = outcome->fault->verdict;
        } else {
            row.why_not = !run ? run.error().what : outcome->reason;
        }
        if (!detail.empty()) {
            const auto louder = kept_run(library, detail, bug);
            row.detail = louder ? describe_reaction(*louder) : "";
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string table_text(const std::vector<ReleaseRow>& rows) {
    std::size_t seen = 0, noticed = 0;
    std::set<std::string> packages;
    std::map<std::string, std::size_t> stages;
    for (const ReleaseRow& row : rows) {
        if (!row.seen) continue;
        ++seen;
        noticed += row.verdict == results::Verdict::pass;
        packages.insert(row.bug->release.bug.package);
        ++stages[row.bug->scenario.bug.stage];
    }
    std::string by_stage;
    for (const auto& [stage, count] : stages)
        by_stage += fmt::format("{}{} {}", by_stage.empty() ? "" : ", ", count, stage);
    std::string text = fmt::format(
        "{} of {} were seen to happen on the release with the bug and not on the fixed one, in {} ({}). Our "
        "detectors noticed {} of them as the scenario asks.\n\n",
        seen, results::counted(rows.size(), "bug"), results::counted(packages.size(), "package"), by_stage,
        noticed);
    text +=
        "| bug | report | releases | symptom | noticed | plain | and observed | and asserted | the job | "
        "under "
        "DETAIL |\n|---|---|---|---|---|---|---|---|---|---|\n";
    for (const ReleaseRow& row : rows) text += row_text(row);
    return text;
}

scenarios::Result<void> write_table(const std::vector<ReleaseRow>& rows, const fs::path& file) {
    constexpr results::reports::PagePlace place{
        "<!-- releases table -->", "<!-- end of the releases table -->",
        "<!-- Written by `deadrank report releases --table`; not by hand. -->"};
    return results::reports::write_in_place(table_text(rows), place, file);
}

namespace {

// The symptoms reported for the faulty run; nothing, with `why`, if it was not played.
std::optional<std::set<std::string>> report_symptoms(const scenarios::Scenario& scenario, Runner& runner,
                                                     const Library& library, const PipelineOptions& options,
                                                     std::string& why) {
    const Trialled trial = play(scenario, {1}, runner, library.vocabulary, options);
    if (!trial.fault) {
        why = trial.outcome.fault ? trial.outcome.fault->reason : trial.outcome.reason;
        return std::nullopt;
    }
    std::set<std::string> symptoms;
    for (const results::Finding& finding : trial.fault->findings) symptoms.insert(finding.symptom);
    return symptoms;
}

}  // namespace

Compared compare_twins(const Library& library, const ReleaseBug& bug, Runner& sim, Runner& reality,
                       const PipelineOptions& options) {
    Compared compared{.scenario = bug.scenario.id};
    compared.played_on = bug.release.twin;
    PipelineOptions fault_alone = options;
    fault_alone.control = fault_alone.healed = false;
    const auto twin = load_scenario(library, library.catalog / (bug.release.twin + ".toml"));
    if (!twin) {
        compared.why = twin.error().text();
        return compared;
    }
    const auto simulated = report_symptoms(*twin, sim, library, fault_alone, compared.why);
    const auto real = report_symptoms(bug.scenario, reality, library, fault_alone, compared.why);
    if (!simulated || !real) return compared;
    compared.simulated = *simulated;
    compared.real = *real;
    conclude(compared, "");
    return compared;
}

}  // namespace deadrank::runners::releases

// results/reports/json_files.cpp — Verdicts, findings and standings as JSON.
#include "results/reports/json_files.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "results/record/text_file.h"
#include "results/reports/resilience_table.h"
#include "results/reports/terminal.h"
#include "scenarios/model/document.h"

namespace deadrank::results::reports {

// ── Times are integer nanoseconds; `never` is null.

namespace {

Json time_json(Time time) { return time == never ? Json(nullptr) : Json(time.count()); }

}  // namespace

Json finding_json(const Finding& finding) {
    Json json = {{"symptom", finding.symptom},
                 {"detector", finding.detector},
                 {"blame", blame_json(finding.blame)},
                 {"at", finding.at.count()},
                 {"says", finding.says}};
    if (!finding.causes.empty()) json["causes"] = finding.causes;
    for (const Finding& next : finding.followed_by) json["followed_by"].push_back(finding_json(next));
    return json;
}

Json findings_json(const std::vector<Finding>& findings) {
    Json json = Json::array();
    for (const Finding& finding : findings) json.push_back(finding_json(finding));
    return json;
}

Json judgement_json(const Judgement& judgement) {
    return {{"verdict", name_of(judgement.verdict)},
            {"outcome", name_of(judgement.outcome)},
            {"reason", judgement.reason},
            {"reaction", name_of(judgement.job.reaction)},
            {"culprit", blame_json(judgement.culprit)},
            {"fault_at", time_json(judgement.fault_at)},
            {"noticed_at", time_json(judgement.noticed_at)},
            {"answer", judgement.answer < 0 ? Json(nullptr) : Json(judgement.answer)},
            {"findings", findings_json(judgement.findings)}};
}

std::string dumped(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// ── The keys of json_line are a promise to scripts: a test compares them.

namespace {

Json hash_json(std::uint64_t hash) { return hash == 0 ? Json(nullptr) : Json(fmt::format("{:016x}", hash)); }

Json verdict_of(const std::optional<Judgement>& judgement) {
    return judgement ? Json(name_of(judgement->verdict)) : Json(nullptr);
}

Json expectation_json(const scenarios::Expectation& expect) {
    Json json = {{"symptom", expect.symptom},
                 {"blames", scenarios::words_of(expect.blames)},
                 {"within", expect.within},
                 {"also", expect.also},
                 {"reaction", scenarios::enum_name(expect.reaction)}};
    if (!expect.alternatives.empty()) json["symptoms"] = expect.symptoms();
    if (!expect.unseen.empty()) json["unseen"] = expect.unseen;
    return json;
}

Json share_json(std::optional<double> share) { return share ? Json(*share) : Json(nullptr); }

Json row_json(const ScoreRow& row) {
    Json outcomes = Json::object(), verdicts = Json::object();
    for (const auto& [outcome, count] : row.outcomes) outcomes[std::string(name_of(outcome))] = count;
    for (const auto& [verdict, count] : row.verdicts) verdicts[std::string(name_of(verdict))] = count;
    const auto delay = [](Time time) { return time == never ? Json(nullptr) : Json(time.count()); };
    return {{"name", row.name},
            {"cases", row.cases},
            {"verdicts", verdicts},
            {"outcomes", outcomes},
            {"precision", share_json(row.precision())},
            {"recall", share_json(row.recall())},
            {"localisation", share_json(row.localisation())},
            {"median_delay", delay(row.median_delay())},
            {"longest_delay", delay(row.longest_delay())},
            {"quiet_runs", row.quiet},
            {"quiet_runs_due", row.quiet_due},
            {"healed_as_control", row.as_control}};
}

}  // namespace

std::string json_line(const Case& one) {
    static const std::vector<Finding> none;
    Json json = {{"scenario", one.scenario},
                 {"runner", one.runner},
                 {"seed", one.seed},
                 {"verdict", name_of(one.verdict)},
                 {"reason", one.reason},
                 {"outcome", one.fault ? Json(name_of(one.fault->outcome)) : Json(nullptr)},
                 {"control", verdict_of(one.control)},
                 {"healed", verdict_of(one.healed)},
                 {"healed_as_control", one.healed && one.healed->outcome == Outcome::as_control},
                 {"findings", findings_json(one.fault ? one.fault->findings : none)},
                 {"trace_hash", hash_json(one.trace_hash)},
                 {"token", one.token},
                 {"seconds", one.seconds}};
    if (one.differs_as_documented()) json["documented"] = one.documented;
    if (!one.skipped.empty()) json["skipped"] = one.skipped;
    return dumped(json);
}

std::string verdict_document(const Case& one) {
    Json json = {{"verdict", name_of(one.verdict)},
                 {"reason", one.reason},
                 {"see_it_again", list_repeat_commands(one)},
                 {"token", one.token},
                 {"scenario", one.scenario},
                 {"runner", one.runner},
                 {"seed", one.seed},
                 {"bug",
                  {{"stage", one.bug.stage},
                   {"symptom", one.bug.symptom},
                   {"cause", one.bug.cause},
                   {"fix", one.bug.fix}}},
                 {"expected", expectation_json(one.expect)}};
    const auto add = [&](const char* name, const std::optional<Judgement>& judgement) {
        json[name] = judgement ? judgement_json(*judgement) : Json(nullptr);
    };
    add("fault", one.fault);
    add("control", one.control);
    add("healed", one.healed);
    json["evidence"] = one.excerpt;
    json["notes"] = one.notes;
    json["trace_hash"] = hash_json(one.trace_hash);
    json["seconds"] = one.seconds;
    return dumped(json, 2) + "\n";
}

scenarios::Result<void> write_verdict(const Case& one, const std::filesystem::path& file) {
    return write_text(verdict_document(one), file);
}

std::string scorecard_document(const Scorecard& card) {
    Json rows = Json::array();
    for (const ScoreRow& row : card.rows) rows.push_back(row_json(row));
    return dumped({{"rows", rows}, {"total", row_json(card.total)}}, 2) + "\n";
}

scenarios::Result<void> write_scorecard(const Scorecard& card, const std::filesystem::path& file) {
    return write_text(scorecard_document(card), file);
}

// ── {"format": 1, "findings": […]}.

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

constexpr int format = 1;

}  // namespace

Result<void> write_findings(const std::vector<Finding>& findings, const std::filesystem::path& file) {
    return write_text(dumped({{"format", format}, {"findings", findings_json(findings)}}, 2) + "\n", file);
}

// ── How one framework reacted to one bug, added to a line of `run --json` and read back: runs played one
// after another, or on several machines, make one table.

std::string with_standing(const std::string& json_line, const ResilienceCell& standing) {
    Json json = Json::parse(json_line);
    json["cause"] = standing.cause;
    json["subject"] = {{"name", standing.subject.name},
                       {"framework", standing.subject.framework},
                       {"version", standing.subject.version},
                       {"debug", standing.subject.debug}};
    json["again"] = standing.again;
    if (standing.run != 1) json["run"] = standing.run;
    if (!standing.known.empty()) json["known"] = standing.known;
    json["stood"] = nullptr;
    if (!standing.grade) json["untold"] = standing.untold;
    if (standing.grade) {
        const Time took = standing.grade->took;
        json["stood"] = {{"response", table_word(standing.grade->reaction).id},
                         {"took", took == never ? Json(nullptr) : Json(took.count())},
                         {"says", standing.grade->says}};
    }
    return dumped(json);
}

namespace {

Reaction reaction_called(const std::string& name) {
    for (const TableWord& word : table_words) {
        if (word.id == name) return word.reaction;
    }
    throw std::invalid_argument(fmt::format("there is no response '{}'", name));
}

ResilienceCell standing_from(const Json& json) {
    const Json& subject = json.at("subject");
    // Member by member: g++ 12 destroys the strings of a nested initialiser twice when a later member throws.
    ResilienceCell one;
    one.scenario = json.at("scenario");
    one.cause = json.at("cause");
    one.subject.name = subject.at("name");
    one.subject.framework = subject.at("framework");
    one.subject.version = subject.at("version");
    one.subject.debug = subject.value("debug", "");
    one.again = json.at("again");
    one.untold = json.value("untold", "");
    one.run = json.value("run", 1);
    one.known = json.value("known", "");
    if (const Json& stood = json.at("stood"); !stood.is_null()) {
        const Json& took = stood.at("took");
        one.grade = Grade{.reaction = reaction_called(stood.at("response")),
                          .took = took.is_null() ? never : Time(took.get<std::int64_t>()),
                          .says = stood.at("says")};
    }
    return one;
}

}  // namespace

scenarios::Result<std::vector<ResilienceCell>> read_standings(const std::filesystem::path& file) {
    const auto text = scenarios::read_text(file);
    if (!text) return tl::unexpected(text.error());
    std::vector<ResilienceCell> standings;
    std::istringstream in(*text);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line.empty()) continue;
        try {
            const Json json = Json::parse(line);
            if (json.contains("subject")) standings.push_back(standing_from(json));
        } catch (const std::exception& wrong) {
            if (scenarios::is_host_failure(wrong)) throw;
            if (in.eof()) break;  // its writer was killed halfway through
            return scenarios::refuse(scenarios::ErrorCode::bad_input,
                                     fmt::format("{}:{}: this is no line of `deadrank run --json`: {}",
                                                 file.string(), number, wrong.what()),
                                     "give it what `deadrank run --runner local --json` printed");
        }
    }
    return standings;
}

}  // namespace deadrank::results::reports

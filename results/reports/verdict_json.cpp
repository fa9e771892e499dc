// results/reports/verdict_json.cpp — The keys of json_line are a promise to scripts: a test compares them.
#include "results/reports/verdict_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/reports/again.h"
#include "results/reports/json_parts.h"
#include "results/text/text_file.h"

namespace deadrank::results::reports {

namespace {

Json hash_json(std::uint64_t hash) { return hash == 0 ? Json(nullptr) : Json(fmt::format("{:016x}", hash)); }

Json verdict_of(const std::optional<Judgement>& judgement) {
    return judgement ? Json(name_of(judgement->verdict)) : Json(nullptr);
}

Json expectation_json(const scenarios::Expectation& expect) {
    Json json = {{"symptom", expect.symptom},
                 {"blames", expect.blames},
                 {"within", expect.within},
                 {"also", expect.also},
                 {"reaction", expect.reaction}};
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
            {"quiet_runs_due", row.quiet_due}};
}

}  // namespace

std::string json_line(const Case& one) {
    static const std::vector<Finding> none;
    const Json json = {{"scenario", one.scenario},
                       {"runner", one.runner},
                       {"seed", one.seed},
                       {"verdict", name_of(one.verdict)},
                       {"reason", one.reason},
                       {"control", verdict_of(one.control)},
                       {"healed", verdict_of(one.healed)},
                       {"findings", findings_json(one.fault ? one.fault->findings : none)},
                       {"trace_hash", hash_json(one.trace_hash)},
                       {"token", one.token},
                       {"seconds", one.seconds}};
    return dumped(json);
}

std::string verdict_document(const Case& one) {
    Json json = {{"verdict", name_of(one.verdict)},
                 {"reason", one.reason},
                 {"see_it_again", commands_to_see_again(one)},
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

}  // namespace deadrank::results::reports

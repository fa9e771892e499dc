// results/alerts/report_files.cpp — A study for machines: JSON, SARIF and JUnit.

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "results/alerts/report.h"
#include "results/reports/output.h"

namespace deadrank::results::alerts {

// ── Everything the study knows, one object; times in seconds.

namespace {

using Json = nlohmann::ordered_json;

Json cell_json(const Rule& rule, const Cell& cell) {
    Json json = {{"alert", rule.name}, {"verdict", name_of(cell.verdict)}, {"says", cell.says}};
    if (!rule.labels.empty()) json["labels"] = rule.labels;
    if (cell.latency_low >= 0) {
        json["latency"] = {cell.latency_low, cell.latency_high};
        json["place"] = name_of(cell.place);
        json["fired"] = cell.fired;
    }
    if (cell.verdict == AlertVerdict::pending_only) json["needed"] = cell.needed;
    for (const Nearness& one : cell.near)
        json["near"].push_back({{"expr", one.left},
                                {"value", one.value},
                                {"op", scenarios::enum_name(one.op)},
                                {"limit", one.limit},
                                {"distance", one.distance}});
    if (!cell.paged.empty()) json["paged"] = cell.paged;
    if (!cell.suppressed_by.empty()) json["suppressed_by"] = cell.suppressed_by;
    return json;
}

Json row_json(const Study& study, const Row& row) {
    Json json = {{"fault", row.incident.id},
                 {"title", row.incident.title},
                 {"outcome", scenarios::enum_name(outcome_of(row))},
                 {"at", row.incident.at},
                 {"repaired", row.incident.until},
                 {"within", row.incident.within}};
    Json targets = Json::array();
    for (const auto& target : row.incident.targets) {
        Json place = {{"node", exporters::host_name(study.world.profile, target.node)}};
        if (target.gpu >= 0) place["gpu"] = target.gpu;
        targets.push_back(std::move(place));
    }
    json["targets"] = targets;
    if (!row.incident.notes.empty()) json["notes"] = row.incident.notes;
    if (!row.trouble.empty()) json["trouble"] = row.trouble;
    if (row.pages >= 0) json["pages"] = row.pages;
    for (const char* side : {"moved", "vanished"}) json[side] = Json::array();
    for (const auto& [metric, series] : row.touched.moved) json["moved"].push_back(metric);
    for (const auto& [metric, series] : row.touched.vanished) {
        if (!row.touched.moved.contains(metric)) json["vanished"].push_back(metric);
    }
    json["promtool"] = {{"file", row.played.kept.string()}, {"cpu_seconds", row.played.cpu_seconds}};
    Json cells = Json::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (study.rules[i].is_alert) cells.push_back(cell_json(study.rules[i], row.cells[i]));
    }
    json["cells"] = cells;
    if (row.suggestion) {
        const Tried& tried = *row.suggestion;
        json["suggestion"] = {{"expr", tried.expr},   {"for", tried.hold},
                              {"says", tried.says},   {"available", tried.available},
                              {"fired", tried.fired}, {"quiet_when_healthy", tried.quiet_when_healthy}};
        if (tried.fired) json["suggestion"]["latency"] = tried.latency_low;
    }
    return json;
}

Json rule_json(const Study& study, std::size_t i) {
    const Rule& rule = study.rules[i];
    Json json = {{"name", rule.name},   {"kind", rule.is_alert ? "alert" : "record"},
                 {"file", rule.file},   {"line", rule.line},
                 {"group", rule.group}, {"reads", study.analysis.rules[i].metrics}};
    if (study.analysis.rules[i].dead()) {
        json["dead"] = study.analysis.rules[i].why_dead;
        json["dead_kind"] = name_of(study.analysis.rules[i].dead_kind);
        json["remedy"] = study.analysis.rules[i].remedy;
    }
    if (i < study.healthy.size() && study.healthy[i].verdict != AlertVerdict::unconcerned) {
        json["healthy"] = {{"verdict", name_of(study.healthy[i].verdict)}, {"says", study.healthy[i].says}};
    }
    return json;
}

}  // namespace

std::string json_report(const Study& study, const Policy& policy, const std::vector<Breach>& found) {
    const auto& window = study.world.window;
    Json json = {
        {"format", 1},
        {"judge", study.judge},
        {"profile", study.world.profile.name},
        {"profile_why", study.world.profile.why},
        {"cluster",
         {{"nodes", study.world.cluster.nodes}, {"gpus_per_node", study.world.cluster.gpus_per_node}}},
        {"window",
         {{"duration", window.duration},
          {"scrape", window.scrape},
          {"eval", window.eval},
          {"fault_at", window.fault_at},
          {"history", window.history}}},
        {"complete", study.complete},
        {"cpu_seconds", study.cpu_seconds}};
    for (const char* list : {"invalid", "rules", "findings", "faults", "breaches"})
        json[list] = Json::array();
    for (const auto& one : study.invalid) {
        json["invalid"].push_back(
            {{"file", one.file}, {"line", one.line}, {"column", one.column}, {"words", one.words}});
    }
    for (std::size_t i = 0; i < study.rules.size(); ++i) json["rules"].push_back(rule_json(study, i));
    for (const StaticFinding& one : study.analysis.findings) {
        json["findings"].push_back({{"id", one.id},
                                    {"file", one.file},
                                    {"line", one.line},
                                    {"column", one.column},
                                    {"alert", one.alert},
                                    {"says", one.says},
                                    {"remedy", one.remedy},
                                    {"kills", one.kills}});
    }
    json["healthy"] = {{"file", study.healthy_played.kept.string()}};
    for (const Row& row : study.rows) json["faults"].push_back(row_json(study, row));
    for (const Breach& one : found)
        json["breaches"].push_back({{"fault", one.fault}, {"alert", one.alert}, {"says", one.says}});
    json["notes"] = study.notes;
    if (policy.given) json["policy"] = policy.file;
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string sarif_report(const Study& study) {
    Json results = Json::array();
    const auto result = [&](const std::string& id, const char* level, const std::string& text,
                            const std::string& file, int line, int column) {
        Json region = {{"startLine", std::max(line, 1)}};
        if (column > 0) region["startColumn"] = column;
        results.push_back(
            {{"ruleId", id},
             {"level", level},
             {"message", {{"text", text}}},
             {"locations",
              {{{"physicalLocation", {{"artifactLocation", {{"uri", file}}}, {"region", region}}}}}}});
    };
    for (const auto& one : study.invalid)
        result("invalid", "error", one.words, one.file, one.line, one.column);
    for (const StaticFinding& one : study.analysis.findings) {
        const char* level = one.weight == Weight::error     ? "error"
                            : one.weight == Weight::warning ? "warning"
                                                            : "note";
        result(one.id, level,
               fmt::format("{}: {}{}", one.alert, one.says, one.remedy.empty() ? "" : " — " + one.remedy),
               one.file, one.line, one.column);
    }
    for (std::size_t i = 0; i < study.healthy.size(); ++i) {
        const HealthyRow& healthy = study.healthy[i];
        const Rule& rule = study.rules[i];
        if (healthy.verdict == AlertVerdict::false_alarm)
            result("false-alarm", "warning", rule.name + ": " + healthy.says, rule.file, rule.line, 0);
        else if (healthy.verdict == AlertVerdict::background)
            result("background", "note", rule.name + ": " + healthy.says, rule.file, rule.line, 0);
    }
    std::set<std::string> ids;
    for (const Json& one : results) ids.insert(one["ruleId"].get<std::string>());
    Json known = Json::array();
    for (const std::string& id : ids) known.push_back({{"id", id}});
    const Json driver = {{"name", "deadrank alerts"}, {"rules", known}};
    const Json sarif = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                        {"version", "2.1.0"},
                        {"runs", {{{"tool", {{"driver", driver}}}, {"results", results}}}}};
    return reports::visible(sarif.dump(2, ' ', false, Json::error_handler_t::replace));
}

// ── JUnit for CI. A case is named by what it asks, so that its result is true: where the policy demands
// nothing, it asks for a judgement alone, and its output tells what that was.

namespace {

class Suite {
public:
    Suite(pugi::xml_node parent, const char* name) : node_(parent.append_child("testsuite")) {
        node_.append_attribute("name") = name;
        tests_ = node_.append_attribute("tests");
        failures_ = node_.append_attribute("failures");
        skipped_ = node_.append_attribute("skipped");
        write();
    }

    void add(const std::string& group, const std::string& name, const std::string& failure,
             const std::string& skip = {}, const std::string& output = {}) {
        pugi::xml_node one = node_.append_child("testcase");
        one.append_attribute("classname") = reports::visible_line(group).c_str();
        one.append_attribute("name") = reports::visible_line(name).c_str();
        ++counts_[0];
        if (!failure.empty()) {
            one.append_child("failure").append_attribute("message") = reports::visible(failure).c_str();
            ++counts_[1];
        } else if (!skip.empty()) {
            one.append_child("skipped").append_attribute("message") = reports::visible(skip).c_str();
            ++counts_[2];
        } else if (!output.empty()) {
            one.append_child("system-out").text() = reports::visible(output).c_str();
        }
        write();
    }

private:
    void write() {
        tests_ = counts_[0];
        failures_ = counts_[1];
        skipped_ = counts_[2];
    }

    pugi::xml_node node_;
    pugi::xml_attribute tests_, failures_, skipped_;
    int counts_[3] = {0, 0, 0};
};

// Hands out each breach once.
class BreachLedger {
public:
    explicit BreachLedger(const std::vector<Breach>& found) : found_(found), taken_(found.size()) {}

    // The words of all that are about this failure and this alert; -1: about no single alert.
    std::string take(const std::string& fault, int rule) {
        std::string words;
        for (std::size_t i = 0; i < found_.size(); ++i) {
            if (taken_[i] || found_[i].fault != fault || found_[i].rule != rule) continue;
            taken_[i] = true;
            words += (words.empty() ? "" : "\n") + found_[i].says;
        }
        return words;
    }

    template <class Use>
    void each_left(Use use) const {
        for (std::size_t i = 0; i < found_.size(); ++i) {
            if (!taken_[i]) use(found_[i]);
        }
    }

private:
    const std::vector<Breach>& found_;
    std::vector<bool> taken_;
};

bool demanded(const Policy& policy, const std::string& id) {
    return std::any_of(policy.musts.begin(), policy.musts.end(),
                       [&](const Must& must) { return fits_glob(must.fault, id); });
}

// With its line where a file has several of one name.
std::string case_name(const Study& study, std::size_t rule) {
    const Rule& one = study.rules[rule];
    const auto same = std::count_if(study.rules.begin(), study.rules.end(), [&](const Rule& other) {
        return other.is_alert && other.file == one.file && other.name == one.name;
    });
    return same > 1 ? fmt::format("{} (line {})", one.name, one.line) : one.name;
}

// Why nothing is known of an alert; empty if it was judged.
std::string why_unknown(const Study& study, std::size_t rule) {
    const auto refused = study.healthy_played.why_unjudged.find(rule);
    if (refused != study.healthy_played.why_unjudged.end()) return refused->second.words;
    if (rule >= study.healthy.size()) return "not judged";
    const RuleReads& reads = study.analysis.rules[rule];
    const Silence silence = silence_of(reads.dead_kind);
    if (silence == Silence::not_simulated || silence == Silence::your_names) return reads.why_dead;
    return {};
}

void add_rule_cases(const Study& study, const Policy& policy, BreachLedger& ledger, Suite& suite) {
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        const Rule& rule = study.rules[i];
        if (!rule.is_alert) continue;
        const std::string name = case_name(study, i), unknown = why_unknown(study, i);
        const RuleReads& reads = study.analysis.rules[i];
        suite.add(rule.file, name + (policy.forbid_dead ? " can fire" : " is judged"),
                  ledger.take("", static_cast<int>(i)), unknown,
                  reads.dead() ? "can never fire: " + reads.why_dead : "");
        if (!wants_silence(policy, rule)) continue;
        suite.add(rule.file,
                  name + (policy.given ? " is silent on a healthy cluster"
                                       : " raises no false alarm on a healthy cluster"),
                  ledger.take("healthy", static_cast<int>(i)), unknown);
    }
}

void add_failure_cases(const Study& study, const Policy& policy, BreachLedger& ledger, Suite& suite) {
    for (const Row& row : study.rows) {
        const std::string& id = row.incident.id;
        std::string output(scenarios::enum_name(outcome_of(row)));
        if (row.best >= 0) output += " by " + study.rules[static_cast<std::size_t>(row.best)].name;
        suite.add("failures", id + (demanded(policy, id) ? " is caught as the policy demands" : " is judged"),
                  ledger.take(id, -1), row.trouble, output);
    }
}

// Single cells: those that are not judged though their alert and their failure are, and what the policy
// forbids.
void add_cell_cases(const Study& study, const Policy& policy, BreachLedger& ledger, Suite& suite) {
    for (const Row& row : study.rows) {
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            const Cell& cell = row.cells[i];
            if (!study.rules[i].is_alert) continue;
            const std::string name = case_name(study, i) + " under " + row.incident.id;
            if (cell.verdict == AlertVerdict::unjudged && !study.healthy_played.why_unjudged.contains(i))
                suite.add(study.rules[i].file, name + " is judged", "", cell.says);
            if (policy.forbid_sticky && cell.noticed())
                suite.add(study.rules[i].file, name + " clears after the repair",
                          ledger.take(row.incident.id, static_cast<int>(i)));
        }
    }
}

}  // namespace

std::string junit_report(const Study& study, const Policy& policy, const std::vector<Breach>& found) {
    pugi::xml_document document;
    pugi::xml_node root = document.append_child("testsuites");
    root.append_attribute("name") = "deadrank alerts";
    BreachLedger ledger(found);
    Suite rules(root, "rules");
    if (!study.invalid.empty()) ledger.take("", -1);
    for (const auto& one : study.invalid) rules.add(one.place(), "loads", one.words);
    add_rule_cases(study, policy, ledger, rules);
    Suite faults(root, "failures");
    add_failure_cases(study, policy, ledger, faults);
    Suite cells(root, "cells");
    add_cell_cases(study, policy, ledger, cells);
    ledger.each_left([&](const Breach& one) { faults.add("failures", one.fault + " is played", one.says); });
    std::ostringstream text;
    document.save(text, "  ");
    return text.str();
}

}  // namespace deadrank::results::alerts

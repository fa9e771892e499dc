// results/alerts/report_files.cpp — A study for machines: JSON, SARIF and JUnit.

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
                                {"limit", one.limit}});
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

// ── JUnit for CI. Each demand of the policy is a case, and so is each failure without one; what could not
// be judged is skipped with its reason, never passed.

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
             const std::string& skip = {}) {
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

std::string breach_of(const std::vector<Breach>& found, const std::string& fault, const std::string& alert) {
    for (const Breach& one : found) {
        if (one.fault == fault && one.alert == alert) return one.says;
    }
    return {};
}

bool demanded(const Policy& policy, const std::string& id) {
    for (const Must& must : policy.musts) {
        if (fits_glob(must.fault, id)) return true;
    }
    return false;
}

}  // namespace

std::string junit_report(const Study& study, const Policy& policy, const std::vector<Breach>& found) {
    pugi::xml_document document;
    pugi::xml_node root = document.append_child("testsuites");
    root.append_attribute("name") = "deadrank alerts";
    Suite rules(root, "rules");
    for (const auto& one : study.invalid) rules.add(one.file, "loads", one.words);
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        const Rule& rule = study.rules[i];
        if (!rule.is_alert) continue;
        const RuleReads& reads = study.analysis.rules[i];
        const auto refused = study.healthy_played.why_unjudged.find(i);
        rules.add(rule.file, rule.name + " can fire", breach_of(found, "", rule.name),
                  refused != study.healthy_played.why_unjudged.end() ? refused->second.words
                  : study.healthy.empty()                            ? "not judged"
                                                                     : reads.why_dead);
        if (i < study.healthy.size()) {
            const bool unjudged = refused != study.healthy_played.why_unjudged.end();
            rules.add("healthy", rule.name + " is silent on a healthy cluster",
                      breach_of(found, "healthy", rule.name), unjudged ? refused->second.words : "");
        }
    }
    Suite faults(root, "failures");
    for (const Row& row : study.rows) {
        const std::string& id = row.incident.id;
        const RowOutcome outcome = outcome_of(row);
        const bool required = demanded(policy, id);
        const std::string skip =
            !row.trouble.empty() ? row.trouble
            : !required && outcome != RowOutcome::caught
                ? fmt::format("{}, and no policy demands it", scenarios::enum_name(outcome))
                : "";
        faults.add("failures", id + (required ? " is caught as the policy demands" : " is caught in time"),
                   breach_of(found, id, ""), skip);
    }
    std::ostringstream text;
    document.save(text, "  ");
    return text.str();
}

}  // namespace deadrank::results::alerts

// runners/serve/live_server.cpp — Prometheus' HTTP API (v1). Of an operator's server GET requests only:
// status/buildinfo, rules, targets, label values and instant queries.
#include "runners/serve/live_server.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "results/exporters/toml_file.h"
#include "results/record/text_file.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners::serve {

namespace {

using Json = nlohmann::ordered_json;
using results::alerts::Matcher;
using results::alerts::Rule;
using results::alerts::Selector;
using results::alerts::StaticFinding;
using results::exporters::Labels;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

std::string selector_text(const std::string& metric, const std::vector<Matcher>& matchers) {
    std::vector<std::string> parts;
    for (const Matcher& one : matchers)
        parts.push_back(one.label + std::string(scenarios::enum_name(one.op)) +
                        results::exporters::label_value(one.value));
    return parts.empty() ? metric : fmt::format("{}{{{}}}", metric, fmt::join(parts, ","));
}

std::string duration(double seconds) { return fmt::format("{}ms", std::llround(seconds * 1000)); }

// Turns a rule of /api/v1/rules into its form in a rule file, without the state of alerts.
Json rule_of(const Json& told) {
    const bool alert = told.value("type", "") == "alerting";
    Json rule = {{alert ? "alert" : "record", told.value("name", "")}, {"expr", told.value("query", "")}};
    if (const double hold = told.value("duration", 0.0); hold > 0) rule["for"] = duration(hold);
    if (const double keep = told.value("keepFiringFor", 0.0); keep > 0)
        rule["keep_firing_for"] = duration(keep);
    for (const char* name : {"labels", "annotations"}) {
        if (told.contains(name) && !told[name].empty()) rule[name] = told[name];
    }
    return rule;
}

std::string read_error_text(int status, const std::string& body) {
    const Json json = Json::parse(body, nullptr, false);
    const std::string words = json.is_object() ? json.value("error", "") : "";
    return words.empty() ? fmt::format("HTTP {}", status) : words;
}

}  // namespace

Result<std::string> LiveServer::data(const std::string& path) const {
    auto answer = fetch(there_, {"GET", "/api/v1/" + path, ""}, {}, timeout_);
    if (!answer) {
        scenarios::Error error = answer.error();
        error.remedy = "is the address right, and may this machine reach it?";
        return tl::unexpected(error);
    }
    if (answer->status >= 300 && answer->status < 400)
        return refuse(
            ErrorCode::io,
            fmt::format("{} redirects to '{}', and redirects are not followed", url_, answer->location),
            "give the address where Prometheus itself answers");
    if (answer->status == 401 || answer->status == 403)
        return refuse(ErrorCode::io, fmt::format("{} wants to know who asks (HTTP {})", url_, answer->status),
                      "forward a port of the server itself: no password is taken here");
    if (answer->status != 200)
        return refuse(ErrorCode::io,
                      fmt::format("{} refuses: {}", url_, read_error_text(answer->status, answer->body)),
                      "is this a Prometheus, and is a prefix missing (http://HOST:PORT/PREFIX)?");
    const Json json = Json::parse(answer->body, nullptr, false);
    if (!json.is_object() || json.value("status", "") != "success" || !json.contains("data"))
        return refuse(ErrorCode::io, url_ + " does not answer as Prometheus does",
                      "is a prefix missing (http://HOST:PORT/PREFIX)?");
    return json["data"].dump();
}

Result<LiveServer> LiveServer::open(const std::string& url, int timeout_seconds) {
    auto there = address_of(url);
    if (!there) return tl::unexpected(there.error());
    LiveServer server(std::move(*there), url, timeout_seconds);
    auto about = server.data("status/buildinfo");
    if (!about) return tl::unexpected(about.error());
    const Json json = Json::parse(*about);
    server.version_ = json.is_object() ? json.value("version", "") : "";
    return server;
}

Result<std::vector<std::string>> LiveServer::rule_files(const std::filesystem::path& directory) const {
    auto told = data("rules");
    if (!told) return tl::unexpected(told.error());
    std::map<std::string, Json> by_file;
    for (const Json& group : Json::parse(*told).value("groups", Json::array())) {
        Json made = {{"name", group.value("name", "")}, {"rules", Json::array()}};
        if (const double interval = group.value("interval", 0.0); interval > 0)
            made["interval"] = duration(interval);
        for (const Json& rule : group.value("rules", Json::array())) made["rules"].push_back(rule_of(rule));
        by_file[group.value("file", "rules")].push_back(std::move(made));
    }
    std::vector<std::string> files;
    for (const auto& [name, groups] : by_file) {
        const auto at = directory / fmt::format("{:02}-{}.yml", files.size(),
                                                std::filesystem::path(name).stem().string());
        const std::string text = Json({{"groups", groups}}).dump(2) + "\n";  // JSON is also YAML
        if (auto written = results::write_text(text, at); !written) return tl::unexpected(written.error());
        files.push_back(at.string());
    }
    if (files.empty())
        return refuse(ErrorCode::bad_input, url_ + " has no rules", "give rule files: --rules FILE");
    return files;
}

Result<std::vector<Labels>> LiveServer::targets() const {
    auto told = data("targets?state=active");
    if (!told) return tl::unexpected(told.error());
    std::vector<Labels> found;
    for (const Json& target : Json::parse(*told).value("activeTargets", Json::array())) {
        Labels labels;
        const Json told_labels = target.value("labels", Json::object());
        for (const auto& [name, value] : told_labels.items())
            if (value.is_string()) labels[name] = value.get<std::string>();
        found.push_back(std::move(labels));
    }
    return found;
}

namespace {

double most_frequent(const std::map<double, int>& counts) {
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == counts.end() ? 0 : most->first;
}

}  // namespace

Result<LiveServer::Intervals> LiveServer::intervals() const {
    auto targets = data("targets?state=active");
    if (!targets) return tl::unexpected(targets.error());
    auto rules = data("rules");
    if (!rules) return tl::unexpected(rules.error());
    std::map<double, int> scrapes, evaluations;
    for (const Json& target : Json::parse(*targets).value("activeTargets", Json::array())) {
        const double seconds = results::exporters::seconds_of(target.value("scrapeInterval", ""));
        if (seconds >= 1) ++scrapes[seconds];
    }
    for (const Json& group : Json::parse(*rules).value("groups", Json::array())) {
        if (const double seconds = group.value("interval", 0.0); seconds >= 1) ++evaluations[seconds];
    }
    return Intervals{most_frequent(scrapes), most_frequent(evaluations)};
}

Result<bool> LiveServer::matches(const std::string& selector) const {
    auto told = data("query?query=" + form_value(fmt::format("count(present_over_time({}[1h]))", selector)));
    if (!told) return tl::unexpected(told.error());
    return !Json::parse(*told).value("result", Json::array()).empty();
}

Result<std::vector<std::string>> LiveServer::values_of(const std::string& label,
                                                       const std::string& metric) const {
    auto told =
        data(fmt::format("label/{}/values{}", label, metric.empty() ? "" : "?match[]=" + form_value(metric)));
    if (!told) return tl::unexpected(told.error());
    return Json::parse(*told).get<std::vector<std::string>>();
}

Result<StaticFinding> LiveServer::missing_one(const Rule& rule, const Selector& selector,
                                              const std::vector<std::string>& names) const {
    StaticFinding finding{.id = "live-missing",
                          .weight = results::alerts::Weight::note,
                          .file = rule.file,
                          .line = rule.expr_line,
                          .alert = rule.name};
    if (std::find(names.begin(), names.end(), selector.metric) == names.end()) {
        const std::string near = scenarios::nearest(selector.metric, names);
        finding.says = fmt::format("{} has no metric '{}'", url_, selector.metric);
        if (!near.empty()) finding.remedy = "did you mean " + near + "?";
        return finding;
    }
    finding.says =
        fmt::format("{} has no series {}", url_, selector_text(selector.metric, selector.matchers));
    for (const Matcher& one : selector.matchers) {
        auto alone = matches(selector_text(selector.metric, {one}));
        if (!alone) return tl::unexpected(alone.error());
        if (*alone) continue;
        auto values = values_of(one.label, selector.metric);
        if (!values) return tl::unexpected(values.error());
        if (values->size() > 6) values->resize(6);
        finding.remedy = values->empty()
                             ? fmt::format("{} has no label '{}' there", selector.metric, one.label)
                             : fmt::format("there '{}' is {}", one.label, fmt::join(*values, ", "));
        break;
    }
    return finding;
}

Result<std::vector<StaticFinding>> LiveServer::missing(
    const std::vector<Rule>& rules, const results::alerts::StaticAnalysis& analysis) const {
    auto names = values_of("__name__", "");
    if (!names) return tl::unexpected(names.error());
    std::set<std::string> recorded;
    for (const Rule& rule : rules) {
        if (!rule.is_alert) recorded.insert(rule.name);
    }
    std::map<std::string, bool> known;  // selector → does it match
    std::vector<StaticFinding> found;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        std::set<std::string> said;  // selectors reported for this rule
        for (const Selector& selector : analysis.rules[i].reads.selectors) {
            if (selector.metric.empty() || selector.absent || selector.metric.starts_with("ALERTS")) continue;
            const std::string text = selector_text(selector.metric, selector.matchers);
            if (!said.insert(text).second) continue;
            if (!known.contains(text)) {
                auto there = matches(text);
                if (!there) return tl::unexpected(there.error());
                known[text] = *there;
            }
            if (known[text] || (recorded.contains(selector.metric) && selector.matchers.empty())) continue;
            auto one = missing_one(rules[i], selector, *names);
            if (!one) return tl::unexpected(one.error());
            found.push_back(std::move(*one));
        }
    }
    return found;
}

std::vector<Labels> foreign_targets(const std::vector<Labels>& found,
                                    const results::exporters::World& world) {
    std::set<std::string> ours;
    for (const auto& metric : world.catalog->metrics) {
        ours.insert(world.profile.job_of(metric.exporter, metric.job));
    }
    std::vector<Labels> foreign;
    std::set<Labels> seen;
    for (const Labels& labels : found) {
        const auto job = labels.find("job");
        if (job != labels.end() && !ours.contains(job->second) && seen.insert(labels).second)
            foreign.push_back(labels);
    }
    return foreign;
}

}  // namespace deadrank::runners::serve

// results/alerts/pager_config.cpp — Keeps what decides who is paged, and drops every integration.
// A receiver becomes a webhook of the same name.
#include "results/alerts/pager_config.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>
#include <yaml-cpp/yaml.h>

#include "results/exporters/toml_file.h"
#include "scenarios/model/document.h"

namespace deadrank::results::alerts {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

// The waits of a route, each divided by the speed. What is no duration stays, and Alertmanager refuses it.
void scale_waits(YAML::Node route, double speed) {
    for (const char* wait : {"group_wait", "group_interval", "repeat_interval"}) {
        if (!route[wait] || !route[wait].IsScalar()) continue;
        const double seconds = exporters::seconds_of(route[wait].Scalar());
        if (seconds <= 0) continue;
        route.remove(wait);  // the old value may be an alias of another route's
        route[wait] =
            fmt::format("{}ms", std::max(1LL, static_cast<long long>(std::llround(seconds * 1000 / speed))));
    }
}

// Adds the label to a list of labels. `[...]` has it already.
void add_label(YAML::Node owner, const char* list, const std::string& label) {
    for (const YAML::Node& one : owner[list]) {
        if (one.IsScalar() && (one.Scalar() == "..." || one.Scalar() == label)) return;
    }
    owner[list].push_back(label);
}

// A route may stand at several places by an alias, and is changed once.
void change_routes(YAML::Node route, const PagerRun& run, std::vector<YAML::Node>& changed) {
    const bool again =
        std::any_of(changed.begin(), changed.end(), [&](const YAML::Node& other) { return other.is(route); });
    if (!route.IsMap() || again) return;
    changed.push_back(route);
    if (route["<<"]) change_routes(route["<<"], run, changed);
    scale_waits(route, run.speed);
    if (!run.incident_label.empty() && route["group_by"]) add_label(route, "group_by", run.incident_label);
    if (!route["routes"]) return;
    for (YAML::Node child : route["routes"]) change_routes(child, run, changed);
}

// Alertmanager's own defaults would not be divided by the speed.
void state_defaults(YAML::Node root, const PagerRun& run) {
    for (const auto& [wait, usual] :
         {std::pair{"group_wait", "30s"}, {"group_interval", "5m"}, {"repeat_interval", "4h"}}) {
        if (!root[wait]) root[wait] = usual;
    }
    if (!run.incident_label.empty() && !root["group_by"])
        root["group_by"] = YAML::Node(YAML::NodeType::Sequence);
}

// Does one of its integrations tell when an alert is resolved? It then also repeats itself for the others of
// the group. Of a receiver without integrations: as a webhook does.
bool sends_resolved(const YAML::Node& receiver) {
    bool any = false;
    for (const auto& part : receiver) {
        const std::string kind = part.first.Scalar();
        if (!kind.ends_with("_configs") || !part.second.IsSequence()) continue;
        const bool usual = kind != "email_configs" && kind != "slack_configs" && kind != "wechat_configs";
        for (const YAML::Node& one : part.second) {
            any = true;
            const YAML::Node own = one.IsMap() ? one["send_resolved"] : YAML::Node(YAML::NodeType::Undefined);
            if (own.IsDefined() ? own.as<bool>(usual) : usual) return true;
        }
    }
    return !any;
}

YAML::Node receiver_of(const YAML::Node& receiver, const PagerRun& run) {
    YAML::Node kept;
    kept["name"] = receiver["name"];
    if (run.url.empty()) return kept;
    YAML::Node webhook;
    webhook["url"] = run.url;
    webhook["send_resolved"] = sends_resolved(receiver);
    kept["webhook_configs"].push_back(webhook);
    return kept;
}

}  // namespace

Result<PagerConfig> read_pager_config(const std::filesystem::path& file, const PagerRun& run) {
    auto in = scenarios::open_input(file);
    if (!in)
        return refuse(ErrorCode::io, "cannot read the Alertmanager configuration '" + file.string() + "'");
    constexpr std::size_t bytes_most = 4 << 20;
    std::string text(bytes_most + 1, '\0');
    in->read(text.data(), static_cast<std::streamsize>(text.size()));  // a device has no end
    text.resize(static_cast<std::size_t>(in->gcount()));
    if (text.size() > bytes_most)
        return refuse(ErrorCode::bad_input, "is larger than 4 MiB", "name an Alertmanager configuration",
                      {file.string()});
    PagerConfig config;
    try {
        const YAML::Node root = YAML::Load(text);
        if (!root.IsMap() || !root["route"] || !root["receivers"] || !root["receivers"].IsSequence())
            return refuse(ErrorCode::bad_input,
                          "'" + file.string() + "' is not an Alertmanager configuration",
                          "it has `route` and `receivers`", {file.string(), 1, 0});
        YAML::Node kept;
        for (const char* part : {"route", "inhibit_rules", "time_intervals", "mute_time_intervals"}) {
            if (root[part]) kept[part] = root[part];
        }
        for (const YAML::Node& receiver : root["receivers"])
            kept["receivers"].push_back(receiver_of(receiver, run));
        if (kept["route"].IsMap()) {
            state_defaults(kept["route"], run);
            std::vector<YAML::Node> changed;
            change_routes(kept["route"], run, changed);
        }
        if (!run.incident_label.empty() && kept["inhibit_rules"]) {
            for (YAML::Node rule : kept["inhibit_rules"]) {
                if (rule.IsMap()) add_label(rule, "equal", run.incident_label);
            }
        }
        config.has_intervals = kept["time_intervals"] || kept["mute_time_intervals"];
        YAML::Emitter out;
        out << kept;
        config.text = std::string(out.c_str()) + "\n";
    } catch (const YAML::Exception& trouble) {
        return refuse(ErrorCode::bad_input, "'" + file.string() + "' is not valid YAML: " + trouble.msg, "",
                      {file.string(), trouble.mark.line + 1, trouble.mark.column + 1});
    }
    return config;
}

}  // namespace deadrank::results::alerts

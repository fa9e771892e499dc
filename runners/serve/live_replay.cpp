// runners/serve/live_replay.cpp — A run's series served live, at an adjustable speed.
#include "runners/serve/live_replay.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace deadrank::runners::serve {

namespace {

using Json = nlohmann::ordered_json;
using results::exporters::Labels;
using results::exporters::Series;

double unix_now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string label_of(const Series& series, const char* name) {
    const auto at = series.labels.find(name);
    return at == series.labels.end() ? std::string() : at->second;
}

}  // namespace

Replay::Replay(const results::exporters::World& world, const results::exporters::Incident& incident,
               double speed)
    : world_(world), speed_(speed), began_(std::chrono::steady_clock::now()) {
    world_.epoch = unix_now();
    series_ = results::exporters::render(world_, incident);
}

double Replay::now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count() * speed_;
}

std::vector<Notice> Replay::notices() const {
    const std::lock_guard lock(mutex_);
    return notices_;
}

// The current sample of each series. For a single instance, without the labels that Prometheus adds itself.
std::string Replay::exposition(const std::string& instance, bool& down) const {
    const auto sample = static_cast<std::size_t>((now() + world_.window.history) / world_.window.scrape);
    std::string text, family;
    for (const Series& series : series_) {
        if (!instance.empty() && label_of(series, "instance") != instance) continue;
        const double value = series.values[std::min(sample, series.values.size() - 1)];
        if (series.metric->scope == results::exporters::Scope::target) {
            if (!instance.empty() && value == 0) down = true;
            continue;  // Prometheus generates `up` itself
        }
        if (results::exporters::is_absent(value) || results::exporters::is_stale(value)) continue;
        if (family != series.name) {
            family = series.name;
            text += fmt::format(
                "# HELP {} {}\n# TYPE {} {}\n", family,
                series.metric->help.empty() ? family : series.metric->help, family,
                series.metric->type == results::exporters::MetricType::counter ? "counter" : "gauge");
        }
        Series shown{.name = series.name, .labels = series.labels};
        if (!instance.empty()) shown.labels.erase("instance"), shown.labels.erase("job");
        text += fmt::format("{} {}\n", results::exporters::series_text(shown),
                            results::exporters::number_text(value));
    }
    return text;
}

HttpResponse Replay::discovery(int port) const {
    Json list = Json::array();
    std::set<std::string> seen;
    for (const Series& series : series_) {
        const std::string instance = label_of(series, "instance"), job = label_of(series, "job");
        if (series.metric->scope != results::exporters::Scope::target || series.node < 0 ||
            !seen.insert(instance).second)
            continue;
        list.push_back({{"targets", {fmt::format("127.0.0.1:{}", port)}},
                        {"labels",
                         {{"job", job},
                          {"instance", instance},
                          {"__metrics_path__", "/targets/" + job + "/" + instance + "/metrics"}}}});
    }
    return {200, list.dump(1), "application/json"};
}

HttpResponse Replay::configuration(int port) const {
    const double real = std::max(1.0, std::round(world_.window.scrape / speed_));
    return {
        200,
        fmt::format(
            "global: {{scrape_interval: {0:.0f}s, scrape_timeout: {0:.0f}s, evaluation_interval: {0:.0f}s}}\n"
            "scrape_configs:\n- job_name: deadrank\n  http_sd_configs:\n"
            "  - {{url: 'http://127.0.0.1:{1}/sd', refresh_interval: 5s}}\n",
            real, port),
        "text/yaml"};
}

HttpResponse Replay::hook(const HttpRequest& request) {
    const Json body = Json::parse(request.body, nullptr, false);
    if (!body.is_object() || !body.contains("alerts") || !body["alerts"].is_array()) {
        return {400, "this is no Alertmanager webhook: it has no list `alerts`\n"};
    }
    const double at = now();
    for (const Json& alert : body["alerts"]) {
        Notice notice{.at = at};
        const Json& labels = alert.contains("labels") ? alert["labels"] : Json::object();
        for (const auto& [name, value] : labels.items())
            notice.labels[name] = value.is_string() ? value.get<std::string>() : value.dump();
        notice.receiver = body.contains("receiver") && body["receiver"].is_string()
                              ? body["receiver"].get<std::string>()
                              : "";
        notice.status =
            alert.contains("status") && alert["status"].is_string() ? alert["status"].get<std::string>() : "";
        notice.alert = notice.labels["alertname"];
        if (told_) told_(notice);
        const std::lock_guard lock(mutex_);
        notices_.push_back(std::move(notice));
    }
    return {200, "ok\n"};
}

HttpResponse Replay::listed() const {
    Json list = Json::array();
    for (const Notice& notice : notices()) {
        list.push_back({{"at", notice.at},
                        {"receiver", notice.receiver},
                        {"status", notice.status},
                        {"alert", notice.alert},
                        {"labels", notice.labels}});
    }
    return {200, list.dump(1), "application/json"};
}

HttpResponse Replay::answer(const HttpRequest& request, int port) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (path.starts_with("/hook")) {
        if (request.method != "POST") return {405, "post Alertmanager's webhooks here\n"};
        return hook(request);
    }
    if (path == "/sd") return discovery(port);
    if (path == "/prometheus.yml") return configuration(port);
    if (path == "/notices") return listed();
    bool down = false;
    if (path == "/metrics") return {200, exposition("", down), "text/plain; version=0.0.4; charset=utf-8"};
    if (path.starts_with("/targets/") && path.ends_with("/metrics")) {
        const std::string middle = path.substr(9, path.size() - 17);
        const std::string instance = middle.substr(middle.find('/') + 1);
        std::string text = exposition(instance, down);
        if (down) return {503, "this exporter is down at the moment\n"};
        if (text.empty()) return {404, "no such target\n"};
        return {200, std::move(text), "text/plain; version=0.0.4; charset=utf-8"};
    }
    return {404,
            "there are /metrics, /targets/JOB/INSTANCE/metrics, /sd, /prometheus.yml, /hook and /notices\n"};
}

}  // namespace deadrank::runners::serve

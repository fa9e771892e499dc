// runners/serve/live_replay.h — A run's series served live, at an adjustable speed.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "results/exporters/render.h"
#include "runners/serve/http.h"

namespace deadrank::runners::serve {

// One alert as received by a webhook.
struct Notice {
    double at = 0;  // virtual seconds since the start
    std::string receiver, status, alert;
    std::map<std::string, std::string> labels;
};

class Replay {
public:
    // `speed`: virtual seconds per real second.
    Replay(const results::exporters::World& world, const results::exporters::Incident& incident,
           double speed);

    // GET /metrics: everything, with job and instance (scrape it with honor_labels: true).
    // GET /targets/JOB/INSTANCE/metrics: one exporter, as it would answer; 503 while it is down.
    // GET /sd: these targets for http_sd_configs. GET /prometheus.yml: a configuration that uses them.
    // POST /hook/RECEIVER: an Alertmanager webhook. GET /notices: what came in.
    HttpResponse answer(const HttpRequest& request, int port);

    void on_notice(std::function<void(const Notice&)> told) { told_ = std::move(told); }
    double now() const;  // virtual seconds
    std::vector<Notice> notices() const;

private:
    std::string exposition(const std::string& instance, bool& down) const;
    HttpResponse discovery(int port) const;
    HttpResponse configuration(int port) const;
    HttpResponse hook(const HttpRequest& request);
    HttpResponse listed() const;

    results::exporters::World world_;
    std::vector<results::exporters::Series> series_;
    double speed_;
    std::chrono::steady_clock::time_point began_;
    mutable std::mutex mutex_;
    std::vector<Notice> notices_;
    std::function<void(const Notice&)> told_;
};

}  // namespace deadrank::runners::serve

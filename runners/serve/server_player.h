// runners/serve/server_player.h — Plays rules with a Prometheus server, over its own API.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "results/alerts/promtool_player.h"
#include "results/alerts/study.h"
#include "results/exporters/series.h"
#include "runners/serve/http.h"

namespace deadrank::runners::serve {

// An empty Prometheus on loopback: filled by remote write, queried over time ranges.

struct RangeSeries {
    std::map<std::string, std::string> labels;
    std::vector<double> times;  // unix seconds
    std::vector<double> values;
};

class PrometheusServer {
public:
    // `directory` must be empty. The server keeps everything in its head block, so that samples of any age
    // may arrive in any order.
    static scenarios::Result<std::unique_ptr<PrometheusServer>> start(const std::string& program,
                                                                      const std::filesystem::path& directory);

    // Sample 0 is at `start` (unix seconds). Errors: io, when the server refuses them.
    scenarios::Result<void> write(const std::vector<results::exporters::Series>& series, double start,
                                  double step);

    // Errors: bad_input with Prometheus' words, when the query is refused; io.
    scenarios::Result<std::vector<RangeSeries>> query_range(const std::string& expr, double start, double end,
                                                            double step);

    double cpu_seconds() const { return daemon_->cpu_seconds(); }

private:
    std::unique_ptr<Daemon> daemon_;
    int port_ = 0;
};

// The alternative to promtool: a real Prometheus server on loopback holds the series, and each expression is
// queried over the whole run; a fresh server for each failure. Its clock begins at 0 with the history before
// the run, as promtool's does. Recording rules are evaluated over the run and written back before the alerts
// that read them; the states of an alert are counted from the answers. What this cannot do is played by
// promtool: rules that read ALERTS or a recording rule of a later group, and labels made by templates.
class ServerPlayer final : public results::alerts::Player {
public:
    struct Options {
        std::string program;              // the prometheus to start
        std::filesystem::path directory;  // for the kept files
        bool keep = true;
    };
    ServerPlayer(Options options, std::optional<results::external::Promtool> promtool);

    std::string name() const override;
    scenarios::Result<results::alerts::PlayerAnswer> play(
        const results::exporters::World& world, const results::exporters::Incident& incident,
        const std::vector<results::alerts::RuleFile>& files, const std::vector<results::alerts::Rule>& rules,
        const results::alerts::StaticAnalysis& analysis) override;

private:
    // Plays the asked rules on a server of their own.
    scenarios::Result<void> serve(results::exporters::World world,
                                  const results::exporters::Incident& incident,
                                  const std::vector<results::alerts::Rule>& rules,
                                  const results::alerts::StaticAnalysis& analysis,
                                  const std::vector<bool>& asked, results::alerts::PlayerAnswer& played);
    scenarios::Result<void> play_exactly(const results::exporters::World& world,
                                         const results::exporters::Incident& incident,
                                         const std::vector<results::alerts::RuleFile>& files,
                                         const std::vector<results::alerts::Rule>& rules,
                                         const results::alerts::StaticAnalysis& analysis,
                                         const std::vector<bool>& asked,
                                         results::alerts::PlayerAnswer& played);

    Options options_;
    std::optional<results::alerts::PromtoolPlayer> exact_;
    results::alerts::HealthyMemory healthy_;
    std::atomic<int> servers_ = 0;  // started so far
};

}  // namespace deadrank::runners::serve

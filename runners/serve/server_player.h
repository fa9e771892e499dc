// runners/serve/server_player.h — Plays rules with a Prometheus server, over its own interface.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "results/alerts/study.h"
#include "results/exporters/series.h"
#include "runners/serve/http.h"

namespace deadrank::runners::serve {

// A Prometheus on loopback with an empty memory: filled by remote write, asked over time.

struct RangeSeries {
    std::map<std::string, std::string> labels;
    std::vector<double> times;  // unix seconds
};

class PrometheusServer {
public:
    // `directory` must be empty: past samples are taken only by a server that has no newer ones.
    static scenarios::Result<std::unique_ptr<PrometheusServer>> start(const std::string& program,
                                                                      const std::filesystem::path& directory);

    // Sample 0 lies at `start` (unix seconds). Errors: io, when it refuses them.
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

// The second path: a real Prometheus server on loopback holds the series, and each expression is asked of it
// over the whole run. For clusters beyond promtool's limit of samples.

// Handled differently from a live Prometheus, and said in the notes where it matters: `for` is counted by us
// from the query's results; recording rules are put into the expressions that read them; keep_firing_for and
// templates in labels are not played.
class ServerPlayer final : public results::alerts::Player {
public:
    // `program`: the prometheus to start; `out`: where its data may lie while it runs.
    ServerPlayer(std::string program, std::filesystem::path out)
        : program_(std::move(program)), out_(std::move(out)) {}

    std::string name() const override { return "a Prometheus server (" + program_ + ")"; }
    scenarios::Result<results::alerts::Played> play(const results::exporters::World& world,
                                                    const results::exporters::Incident& incident,
                                                    const std::vector<results::alerts::RuleFile>& files,
                                                    const std::vector<results::alerts::Rule>& rules,
                                                    const results::alerts::StaticAnalysis& analysis) override;

private:
    std::string program_;
    std::filesystem::path out_;
};

}  // namespace deadrank::runners::serve

// runners/serve/prometheus_api.h — A Prometheus on loopback with an empty memory: filled by remote write,
// asked over time.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "results/exporters/series.h"
#include "runners/serve/daemon.h"

namespace deadrank::runners::serve {

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

}  // namespace deadrank::runners::serve

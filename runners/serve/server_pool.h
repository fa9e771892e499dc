// runners/serve/server_pool.h — Prometheus servers that outlive a run, since starting one costs more than
// most runs: each run gets a stretch of time of its own, whole weeks after the one before.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "results/processes/private_directory.h"
#include "runners/serve/live_server.h"

namespace deadrank::runners::serve {

// A started server, and from when on it holds no samples.
struct PooledServer {
    explicit PooledServer(results::processes::PrivateDirectory own) : directory(std::move(own)) {}

    results::processes::PrivateDirectory directory;  // outlives the server
    std::unique_ptr<PrometheusServer> server = {};
    double free_from = 0;
    double samples = 0;  // written so far
};

// One run's part of a server's time, counted from its beginning. Whole weeks lie between two of them, so that
// hours and days of the week are the same in each; nothing in one can see another.
class Stretch {
public:
    Stretch(std::unique_ptr<PooledServer> pooled, double offset);

    double offset() const { return offset_; }
    double cpu_seconds() const;  // of the server in this stretch

    // As those of the server. Samples before number `from` are left out.
    scenarios::Result<void> write(const std::vector<results::exporters::Series>& series, double start,
                                  double step, std::size_t from = 0);
    scenarios::Result<std::vector<RangeSeries>> query_range(const std::string& expr, double start, double end,
                                                            double step);

private:
    friend class ServerPool;
    std::unique_ptr<PooledServer> pooled_;
    double offset_, cpu_before_;
};

// Safe to use from several threads.
class ServerPool {
public:
    explicit ServerPool(std::string program) : program_(std::move(program)) {}

    // A stretch of `length` seconds, of which nobody may look back more than `reach`. A `fresh` one begins at
    // 0 on a new server. Errors: environment, when no server can be started.
    scenarios::Result<Stretch> begin(double length, double reach, bool fresh,
                                     const std::function<bool()>& stopped);

    // Takes the server back, unless it holds so much that a new one is better. One that refused samples must
    // not be given back.
    void give_back(Stretch stretch);

private:
    std::string program_;
    std::mutex guard_;
    std::vector<std::unique_ptr<PooledServer>> free_;
};

}  // namespace deadrank::runners::serve

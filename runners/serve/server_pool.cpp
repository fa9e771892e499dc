// runners/serve/server_pool.cpp — Prometheus servers that outlive a run: each run gets a stretch of time of
// its own, whole weeks after the one before.
#include "runners/serve/server_pool.h"

#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <unistd.h>

namespace deadrank::runners::serve {

using scenarios::Result;

Stretch::Stretch(std::unique_ptr<PooledServer> pooled, double offset)
    : pooled_(std::move(pooled)),
      offset_(offset),
      cpu_before_(offset > 0 ? pooled_->server->cpu_seconds() : 0) {}  // the first one pays for the start

double Stretch::cpu_seconds() const { return pooled_->server->cpu_seconds() - cpu_before_; }

Result<void> Stretch::write(const std::vector<results::exporters::Series>& series, double start, double step,
                            std::size_t from) {
    for (const auto& one : series)
        if (one.values.size() > from) pooled_->samples += static_cast<double>(one.values.size() - from);
    return pooled_->server->write(series, offset_ + start, step, from);
}

Result<std::vector<RangeSeries>> Stretch::query_range(const std::string& expr, double start, double end,
                                                      double step) {
    auto found = pooled_->server->query_range(expr, offset_ + start, offset_ + end, step);
    if (!found) return found;
    for (RangeSeries& one : *found)
        for (double& time : one.times) time -= offset_;
    return found;
}

Result<Stretch> ServerPool::begin(double length, double reach, bool fresh,
                                  const std::function<bool()>& stopped) {
    constexpr double week = 7 * 86400, staleness = 3600;
    std::unique_ptr<PooledServer> pooled;
    {
        const std::lock_guard lock(guard_);
        if (!fresh && !free_.empty()) {
            pooled = std::move(free_.back());
            free_.pop_back();
        }
    }
    if (!pooled) {
        auto directory = results::processes::PrivateDirectory::make();
        if (!directory) return tl::unexpected(directory.error());
        auto server = PrometheusServer::start(program_, directory->path());
        pooled = std::make_unique<PooledServer>(std::move(*directory));
        if (!server) return tl::unexpected(server.error());
        pooled->server = std::move(*server);
    }
    pooled->server->stopped = stopped;
    // What is written in this stretch may be seen for as long as a query looks back, and some minutes more.
    const double offset = pooled->free_from > 0 ? std::ceil((pooled->free_from + reach) / week) * week : 0;
    pooled->free_from = offset + length + staleness;
    return Stretch(std::move(pooled), offset);
}

void ServerPool::give_back(Stretch stretch) {
    constexpr double most = 20e6;  // samples, some 600 MB
    if (stretch.pooled_->samples > most) return;
    const std::lock_guard lock(guard_);
    free_.push_back(std::move(stretch.pooled_));
}

}  // namespace deadrank::runners::serve

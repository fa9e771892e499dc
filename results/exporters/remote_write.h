// results/exporters/remote_write.h — Prometheus' remote-write protocol 0.1.0: protobuf by hand, in snappy's
// block format with literals only, which every decoder accepts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/exporters/series.h"

namespace deadrank::results::exporters {

// WriteRequest of the samples [first, last) of these series; sample 0 lies at `start_ms`. Absent samples are
// left out.
std::string write_request(std::span<const Series> series, std::size_t first, std::size_t last,
                          std::int64_t start_ms, std::int64_t step_ms);

std::string snappy_block(const std::string& bytes);

}  // namespace deadrank::results::exporters

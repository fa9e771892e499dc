// results/emitters/ras.h — The answers of NCCL's RAS service, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "results/emitters/emitter_catalog.h"
#include "results/emitters/snapshot.h"
#include "scenarios/model/enum_words.h"

namespace deadrank::results::emitters {

struct RasCounts {
    std::int64_t broadcast = 0, reduce = 0, all_gather = 0, reduce_scatter = 0, all_reduce = 0;
    bool operator==(const RasCounts&) const = default;
    std::int64_t total() const { return broadcast + reduce + all_gather + reduce_scatter + all_reduce; }
};

// Of a communicator on one rank.
enum class RasState { running, init, abort };
constexpr auto enum_words(RasState) { return std::to_array<std::string_view>({"RUNNING", "INIT", "ABORT"}); }

struct RasRank {
    std::int32_t rank = 0;  // in the communicator
    std::string host;
    std::int32_t pid = 0, cuda_dev = 0, nvml_dev = 0;
    RasState state = RasState::running;
    int async_error = 0;
    RasCounts counts;
    bool missing = false;  // did not answer
    bool dead = false;     // for so long that it is considered dead
    bool operator==(const RasRank&) const = default;
};

struct RasCommunicator {
    std::uint64_t hash = 0;
    std::int32_t size = 0;
    std::vector<RasRank> ranks;  // by rank
    bool operator==(const RasCommunicator&) const = default;
};

struct RasReport {
    std::string nccl, timestamp;
    int runtime = 0, driver = 0;  // 13000
    std::vector<RasCommunicator> communicators;
};

RasReport ras_report(const Evidence& evidence, Time at);
std::string ras_json(const RasReport& report);
std::string ras_text(const RasReport& report);

// ras/status.json and ras/status.txt, as a poller sees them at the first minute without progress.
std::vector<EmittedFile> ras_files(const Evidence& evidence, const Snapshot& snapshot);

}  // namespace deadrank::results::emitters

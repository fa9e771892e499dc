// runners/backends/ranks/meeting_place.h — A directory that all ranks of the job see: arrivals, keys and
// counters, and the rendezvous store on top of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runners/backends/ranks/gate.h"
#include "sim/world/world.h"

namespace deadrank::runners {

// Keys and counters as files: a reader sees a value whole or not at all.
class MeetingPlace {
public:
    explicit MeetingPlace(std::filesystem::path directory);

    MeetingPlace within(std::string_view name) const;
    bool claim(std::string_view name, std::string_view text) const;  // false: another process was first
    void set(std::string_view name, std::string_view text) const;
    std::optional<std::string> get(std::string_view name) const;
    std::int64_t add(std::string_view name, std::int64_t amount) const;  // the sum after it

private:
    std::filesystem::path file(std::string_view name) const;
    std::filesystem::path directory_;
};

// ── The rendezvous store as files: keys that all ranks see, at an endpoint that one of them opened. No real
// port is used.

struct Endpoint {
    std::string text;  // "host:port"
    int nodes = 1;     // node0 … are hosts that exist
};

// Throws as the simulator's store does: RankFailure for a port that is not a number, LibraryError after the
// time-out.
std::unique_ptr<sim::Store> connect_file_store(Gate& gate, const MeetingPlace& place,
                                               const Endpoint& endpoint, bool host, sim::Time timeout);

}  // namespace deadrank::runners

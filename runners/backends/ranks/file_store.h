// runners/backends/ranks/file_store.h — The rendezvous store as files: keys that all ranks see, at an
// endpoint that one of them opened. No port is used.
#pragma once

#include <memory>
#include <string>

#include "runners/backends/ranks/gate.h"
#include "runners/backends/ranks/meeting_place.h"
#include "sim/world/world.h"

namespace deadrank::runners {

struct Endpoint {
    std::string text;  // "host:port"
    int nodes = 1;     // node0 … are hosts that exist
};

// Throws as the simulator's does: RankFailure for a port that is no number, LibraryError after the time-out.
std::unique_ptr<sim::Store> connect_file_store(Gate& gate, const MeetingPlace& place,
                                               const Endpoint& endpoint, bool host, sim::Time timeout);

}  // namespace deadrank::runners

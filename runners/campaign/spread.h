// runners/campaign/spread.h — Hands out seeds to workers, on this machine or over the ranks of mpirun.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runners/campaign/children.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::campaign {

struct Message {
    int from = 0;
    std::string text;
};

// The processes that mpirun or srun started together, which send each other text messages: rank 0 is the
// manager, the others are workers. A process started alone has none. All calls come from one thread.
class Peers {
public:
    virtual ~Peers() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual void send(int to, const std::string& text) = 0;
    virtual std::optional<Message> receive() = 0;  // never waits
};

// What the launcher set in our environment, read before MPI is touched.
struct Started {
    bool together = false;  // possibly with other processes
    int rank = 0;
};
Started detect_launcher();

// Path of the library that links MPI: beside the program, or in the installed lib/deadrank. Empty: this build
// has none.
std::filesystem::path find_mpi_bridge(const std::filesystem::path& executable);

// Joins the other processes; leaving waits for all of them. Errors: environment, when the library cannot be
// loaded or MPI does not initialize.
scenarios::Result<std::unique_ptr<Peers>> join_peers(const std::filesystem::path& library);

// ── Numbers are handed out one by one, to children of this process and to its peers; answers are taken as
// they arrive. They do not depend on who played what, or on how many played.

struct Work {
    std::string definition;  // must be equal in all processes: it identifies the campaign
    std::function<std::string(std::uint64_t)> play;  // runs in a child; returns its answer as text
    int slots = 1;                                   // children at once in this process
    std::chrono::milliseconds budget{60'000};        // of one trial
    const std::atomic<bool>* stop = nullptr;
    // Called by the manager some ten times a second, also while no trial ends. Its error ends the campaign.
    std::function<scenarios::Result<void>()> look = {};
};

// The manager: plays and hands out until all numbers are answered, or a stop. `take` gets each child's end
// and the rank it was played on; its error ends the campaign. `peers` may be null. Errors: environment, for a
// worker with another definition.
scenarios::Result<void> manage(const Work& work, const std::vector<std::uint64_t>& numbers, Peers* peers,
                               const std::function<scenarios::Result<void>(const Ended&, int)>& take);

// A worker: plays what it is given until the manager dismisses it.
void serve(const Work& work, Peers& peers);

}  // namespace deadrank::runners::campaign

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

// The processes that mpirun or srun started together, which send each other text messages. A process started
// alone has no crew.
namespace deadrank::runners {
struct MpiBridge;
}

namespace deadrank::runners::campaign {

struct Message {
    int from = 0;
    std::string text;
};

// One conversation between a manager (rank 0) and its workers. All calls come from one thread.
class Crew {
public:
    virtual ~Crew() = default;
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
std::filesystem::path crew_library(const std::filesystem::path& executable);

// Joins the other processes; leaving waits for all of them. Errors: environment, when the library cannot be
// loaded or MPI does not initialize.
scenarios::Result<std::unique_ptr<Crew>> join_crew(const std::filesystem::path& library);

}  // namespace deadrank::runners::campaign

namespace deadrank::runners::campaign {

// ── Numbers are handed out one by one, to our own children and to the crew's; answers are taken as they
// arrive. They do not depend on who played what, or on how many played.

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
// and the rank it was played on; its error ends the campaign. `crew` may be null. Errors: environment, for a
// worker with another definition.
scenarios::Result<void> manage(const Work& work, const std::vector<std::uint64_t>& numbers, Crew* crew,
                               const std::function<scenarios::Result<void>(const Ended&, int)>& take);

// A worker: plays what it is given until the manager dismisses it.
void serve(const Work& work, Crew& crew);

}  // namespace deadrank::runners::campaign

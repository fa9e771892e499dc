// runners/campaign/spread.h — Hands seeds to workers, on this machine or over the ranks of mpirun.
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

// The processes that mpirun or srun started together, as peers that send each other texts. A process that was
// started alone has no crew.
namespace deadrank::runners {
struct CrewBridge;
}

namespace deadrank::runners::scale {

struct Message {
    int from = 0;
    std::string text;
};

// One conversation between a manager (rank 0) and its workers. Calls come from one thread.
class Crew {
public:
    virtual ~Crew() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual void send(int to, const std::string& text) = 0;
    virtual std::optional<Message> receive() = 0;  // never waits
};

// What a launcher said about us, read from the environment before any MPI is touched.
struct Started {
    bool together = false;  // with others, perhaps
    int rank = 0;
};
Started how_started();

// Where the library that links MPI lies: beside the program, or in the installed lib/deadrank. Empty: this
// build has none.
std::filesystem::path crew_library(const std::filesystem::path& executable);

// Joins the others; leaving waits for all. Errors: environment, when the library cannot be opened or MPI does
// not begin.
scenarios::Result<std::unique_ptr<Crew>> join_crew(const std::filesystem::path& library);

}  // namespace deadrank::runners::scale

namespace deadrank::runners::scale {

// Numbers handed out one by one, to our own children and to the crew's; answers taken as they come. Who
// played what, and how many played, changes nothing in the answers.

struct Work {
    std::string definition;  // equal in all processes, or they are not of one campaign
    std::function<std::string(std::uint64_t)> play;  // in a child; the text of its answer
    int slots = 1;                                   // children at once in this process
    std::chrono::milliseconds budget{60'000};        // of one trial
    const std::atomic<bool>* stop = nullptr;
};

// The manager: plays and hands out until all is answered or stopped. `take` gets what a child left, and the
// rank it was played on; its error ends the campaign. `crew` may be null. Errors: environment, for a worker
// that was started with something else.
scenarios::Result<void> manage(const Work& work, const std::vector<std::uint64_t>& numbers, Crew* crew,
                               const std::function<scenarios::Result<void>(const Ended&, int)>& take);

// A worker: plays what it is given until the manager ends it.
void serve(const Work& work, Crew& crew);

}  // namespace deadrank::runners::scale

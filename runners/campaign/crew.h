// runners/campaign/crew.h — The processes that mpirun or srun started together, as peers that send each other
// texts. A process that was started alone has no crew.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "scenarios/model/error.h"

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

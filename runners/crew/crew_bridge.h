// runners/crew/crew_bridge.h — The little that a campaign needs of MPI, as a table of functions in a library
// of its own: `deadrank` itself starts where no MPI is installed.
#pragma once

#include <cstddef>

namespace deadrank::runners {

struct CrewBridge {
    bool (*begin)(int* rank, int* size);  // MPI_Init
    void (*send)(int to, const char* text, std::size_t length);
    // Without waiting: the length of a message that has come, 0 when none has. The text belongs to the bridge
    // and stands until the next call.
    std::size_t (*receive)(int* from, const char** text);
    void (*end)();  // MPI_Finalize: returns when all have come
};

}  // namespace deadrank::runners

extern "C" const deadrank::runners::CrewBridge* deadrank_crew_bridge();

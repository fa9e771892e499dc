// runners/campaign/mpi_bridge/mpi_bridge.h — The few MPI functions that a campaign needs, as a table in a
// separate library, so that `deadrank` itself starts without MPI installed.
#pragma once

#include <cstddef>

namespace deadrank::runners::campaign {

struct MpiBridge {
    bool (*begin)(int* rank, int* size);  // MPI_Init
    void (*send)(int to, const char* text, std::size_t length);
    // Does not wait: returns the length of a message that has arrived, or 0. The bridge owns the text, which
    // is valid until the next call.
    std::size_t (*receive)(int* from, const char** text);
    void (*end)();  // MPI_Finalize: returns when all ranks have called it
};

}  // namespace deadrank::runners::campaign

extern "C" const deadrank::runners::campaign::MpiBridge* deadrank_mpi_bridge_table();

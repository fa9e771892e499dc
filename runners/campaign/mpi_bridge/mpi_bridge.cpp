// runners/campaign/mpi_bridge/mpi_bridge.cpp — Text messages between ranks. Only the thread that called begin
// may call anything here.
#include "runners/campaign/mpi_bridge/mpi_bridge.h"

#include <mpi.h>
#include <string>

namespace {

constexpr int tag = 27;

std::string& received() {
    static std::string text;
    return text;
}

bool begin(int* rank, int* size) {
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return false;
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    return true;
}

void send(int to, const char* text, std::size_t length) {
    MPI_Send(text, static_cast<int>(length), MPI_CHAR, to, tag, MPI_COMM_WORLD);
}

std::size_t receive(int* from, const char** text) {
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status);
    if (there == 0) return 0;
    int length = 0;
    MPI_Get_count(&status, MPI_CHAR, &length);
    std::string& into = received();
    into.resize(static_cast<std::size_t>(length));
    MPI_Recv(into.data(), length, MPI_CHAR, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *from = status.MPI_SOURCE;
    *text = into.data();
    return into.size();
}

void end() { MPI_Finalize(); }

}  // namespace

extern "C" const deadrank::runners::campaign::MpiBridge* deadrank_mpi_bridge_table() {
    static const deadrank::runners::campaign::MpiBridge bridge{begin, send, receive, end};
    return &bridge;
}

// inject/standin/exchange/coordinator_main.cpp — deadrank_coordinator HANDLE SEED: serves one job on the
// listening socket that it inherits, and ends with the last rank. Started by the library, never by hand.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include "inject/standin/exchange/coordinator.h"

namespace {

// The program's files and sockets would stay open after the program closes them.
void close_all_but(int listener) {
    std::vector<int> inherited;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        inherited.push_back(std::stoi(entry.path().filename()));
    for (const int file : inherited)
        if (file > STDERR_FILENO && file != listener) close(file);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::fputs("usage: deadrank_coordinator HANDLE SEED (the libnccl of this directory starts it)\n",
                   stderr);
        return 64;
    }
    // A program may wait for all its children, and must not wait for us.
    const pid_t child = fork();
    if (child != 0) return child < 0 ? 1 : 0;
    const int handle = std::atoi(argv[1]);
    close_all_but(handle);
    deadrank::inject::standin::Socket listener(handle);
    deadrank::inject::standin::Coordinator(std::move(listener), std::strtoull(argv[2], nullptr, 10)).serve();
    return 0;
} catch (const std::exception& trouble) {
    std::fprintf(stderr, "deadrank_coordinator: %s\n", trouble.what());
    return 1;
}

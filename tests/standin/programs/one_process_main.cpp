// tests/standin/programs/one_process_main.cpp — One process, many devices: ncclCommInitAll, groups over all
// of them.
#include "tests/standin/programs/rank.h"

int main(int argc, char** argv) {
    using namespace program;
    const int size = argc > 1 ? std::atoi(argv[1]) : 4;
    Ranks ranks(static_cast<std::size_t>(size));
    std::vector<ncclComm_t> comms(ranks.size());
    good(ncclCommInitAll(comms.data(), size, nullptr), "ncclCommInitAll");
    for (int rank = 0; rank < size; ++rank) {
        Rank& one = ranks[static_cast<std::size_t>(rank)];
        one = {rank, size, rank, comms[static_cast<std::size_t>(rank)], nullptr};
        one.begin();
    }
    const long wrong = all_values(ranks, true) + split_values(ranks);
    for (const Rank& one : ranks) good(ncclCommDestroy(one.comm), "ncclCommDestroy");
    std::printf("%ld wrong values\n", wrong);
    return wrong == 0 ? 0 : 1;
}

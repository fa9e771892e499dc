// tests/bench/shim_bench.cpp — What an interposer costs a call: not loaded, loaded and asleep, writing
// evidence. NCCL's above a library that returns at once, MPI's above the real one with one rank, those for
// files and sockets above the kernel's cheapest write. One process each, in turns, so that the machine's mood
// hits all alike.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "results/external/tool_program.h"

namespace {

const std::string programs = DEADRANK_SHIM_PROGRAMS, shims = DEADRANK_SHIMS;

struct Caller {
    std::string library;                // that is preloaded
    std::string surroundings, program;  // which then prints nanoseconds a call of so many
    int many, few;
};

// Nanoseconds a call, or -1.
double measured(const Caller& caller, const std::string& surroundings, int calls) {
    const std::string command = "env -u DEADRANK_PLAN -u DEADRANK_EVIDENCE " + caller.surroundings + " " +
                                surroundings + " " + caller.program + " time " + std::to_string(calls);
    std::FILE* pipe = popen(command.c_str(), "r");
    double answer = -1;
    if (!pipe) return answer;
    if (std::fscanf(pipe, "%lf", &answer) != 1) answer = -1;
    return pclose(pipe) == 0 ? answer : -1;
}

double middle(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void per_call(benchmark::State& state, const Caller& caller) {
    constexpr int rounds = 9;
    const std::string preload = "LD_PRELOAD=" + shims + "/" + caller.library + " ";
    const auto scratch = deadrank::results::external::Scratch::make();
    if (!scratch) return state.SkipWithError(scratch.error().text().c_str());
    if (!std::filesystem::exists(shims + "/" + caller.library))
        return state.SkipWithError("this shim is not built");
    std::vector<double> without, asleep, writing;
    for (auto _ : state) {
        for (int round = 0; round < rounds; ++round) {
            without.push_back(measured(caller, "", caller.many));
            asleep.push_back(measured(caller, preload, caller.many));
        }
        const std::string evidence =
            "DEADRANK_RANK=0 DEADRANK_EVIDENCE=" + scratch->path().string() + "/evidence";
        writing.push_back(measured(caller, preload + evidence, caller.few));
    }
    if (*std::min_element(without.begin(), without.end()) < 0 || middle(asleep) < 0)
        return state.SkipWithError("the shims or their programs are not built");
    state.counters["ns/call not loaded"] = middle(without);
    state.counters["ns/call asleep"] = middle(asleep);
    state.counters["asleep/not loaded"] = middle(asleep) / middle(without);
    state.counters["ns/call writing evidence"] = middle(writing);
}

void nccl(benchmark::State& state) {
    per_call(state, {"libdeadrank-nccl.so", "LD_LIBRARY_PATH=" + programs + "/doubles",
                     programs + "/shim_host local " + programs + "/libnccl_caller.so", 2'000'000, 20'000});
}
BENCHMARK(nccl)->Name("NcclInterposer")->Iterations(1)->Unit(benchmark::kMillisecond);

// MPI_Allreduce of one number.
void mpi(benchmark::State& state) {
    per_call(state, {"libdeadrank-mpi.so", "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                     programs + "/mpi_stranger", 1'000'000, 20'000});
}
BENCHMARK(mpi)->Name("MpiInterposer")->Iterations(1)->Unit(benchmark::kMillisecond);

// writev of 64 bytes in two parts onto /dev/null. Neither writes evidence of calls.
void files(benchmark::State& state) {
    per_call(state, {"libdeadrank-files.so", "", programs + "/file_user /dev/null", 1'000'000, 1'000'000});
}
BENCHMARK(files)->Name("FileInterposer")->Iterations(1)->Unit(benchmark::kMillisecond);

void sockets(benchmark::State& state) {
    per_call(state, {"libdeadrank-sockets.so", "", programs + "/file_user /dev/null", 1'000'000, 1'000'000});
}
BENCHMARK(sockets)->Name("SocketInterposer")->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

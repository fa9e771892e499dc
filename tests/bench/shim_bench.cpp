// tests/bench/shim_bench.cpp — What the NCCL interposer costs a call, above a library that returns at once:
// not loaded, loaded and asleep, writing evidence. One process each, in turns, so that the machine's mood
// hits all alike.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

const std::string programs = DEADRANK_SHIM_PROGRAMS, shims = DEADRANK_SHIMS;

// Nanoseconds a call, or -1.
double measured(const std::string& surroundings, int calls) {
    const std::string command = "env -u DEADRANK_PLAN -u DEADRANK_EVIDENCE LD_LIBRARY_PATH=" + programs +
                                "/doubles " + surroundings + " " + programs + "/shim_host local " + programs +
                                "/libnccl_caller.so time " + std::to_string(calls);
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

void interposer_per_call(benchmark::State& state) {
    constexpr int rounds = 9, many = 2'000'000, few = 20'000;
    const std::string preload = "LD_PRELOAD=" + shims + "/libdeadrank-nccl.so ";
    char evidence[] = "/tmp/deadrank-bench-XXXXXX";
    if (!mkdtemp(evidence)) return state.SkipWithError("no temporary directory");
    std::vector<double> without, asleep, writing;
    for (auto _ : state) {
        for (int round = 0; round < rounds; ++round) {
            without.push_back(measured("", many));
            asleep.push_back(measured(preload, many));
        }
        writing.push_back(measured(preload + "DEADRANK_RANK=0 DEADRANK_EVIDENCE=" + evidence, few));
    }
    std::remove((std::string(evidence) + "/rank0.jsonl").c_str());
    ::rmdir(evidence);
    if (*std::min_element(without.begin(), without.end()) < 0 || middle(asleep) < 0) {
        return state.SkipWithError("the shims or their programs are not built");
    }
    state.counters["ns/call not loaded"] = middle(without);
    state.counters["ns/call asleep"] = middle(asleep);
    state.counters["asleep/not loaded"] = middle(asleep) / middle(without);
    state.counters["ns/call writing evidence"] = middle(writing);
}
BENCHMARK(interposer_per_call)->Name("NcclInterposer")->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

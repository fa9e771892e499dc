// tests/bench/smpi_bench.cpp — All-reduce under SimGrid's SMPI, where Debian's package is installed: real MPI
// code in a simulated cluster. Its start-up counts, as the program is started for each measurement.
#include <benchmark/benchmark.h>

#if DEADRANK_HAS_SMPI

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/measuring.h"

namespace {

namespace fs = std::filesystem;

double children_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// One host a rank, 100 Gbit/s and 1 µs to a switch that does not block.
std::string command_for(const fs::path& directory, long ranks, long steps) {
    fs::create_directories(directory);
    std::ofstream(directory / "platform.xml")
        << "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        << "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-" << ranks - 1
        << "\" speed=\"1Gf\" bw=\"12.5GBps\" lat=\"1us\"/></platform>\n";
    std::ofstream hosts(directory / "hosts");
    for (long rank = 0; rank < ranks; ++rank) hosts << 'n' << rank << '\n';
    return "smpirun -np " + std::to_string(ranks) + " -hostfile " + (directory / "hosts").string() +
           " -platform " + (directory / "platform.xml").string() +
           " -no-privatize --cfg=smpi/simulate-computation:no " DEADRANK_SMPI_ALL_REDUCE " " +
           std::to_string(steps) + " >/dev/null 2>&1";
}

void AllReduceStepsOfSmpi(benchmark::State& state) {
    const long ranks = state.range(0);
    const long steps = ranks > 64 ? 10 : 200;
    const fs::path directory = fs::temp_directory_path() / ("deadrank_smpi_" + std::to_string(::getpid()));
    const std::string command = command_for(directory, ranks, steps);
    double played = 0;
    for (auto _ : state) {
        const double before = children_seconds();
        if (std::system(command.c_str()) != 0) {
            state.SkipWithError("smpirun did not finish the all-reduces");
            break;
        }
        state.SetIterationTime(children_seconds() - before);
        played += static_cast<double>(steps);
    }
    state.counters["steps"] = benchmark::Counter(played, benchmark::Counter::kIsRate);
    fs::remove_all(directory);
}

}  // namespace

BENCHMARK(AllReduceStepsOfSmpi)->Apply(once)->Arg(64);
BENCHMARK(AllReduceStepsOfSmpi)->Apply(once)->Arg(1'024)->Repetitions(1);  // a quarter of a minute

#else

namespace {

void AllReduceStepsOfSmpi(benchmark::State& state) {
    state.SkipWithError("SMPI is not installed (Debian: libsimgrid-dev), so there is no ratio");
    for (auto _ : state) break;
}

}  // namespace

BENCHMARK(AllReduceStepsOfSmpi);

#endif

// tests/bench/simgrid_bench.cpp — The same ring on SimGrid's s4u, where Debian's package is installed, for
// one table. Not equal work: SimGrid also shares bandwidth and matches rendezvous; our ring has latency only.
#include <benchmark/benchmark.h>

#if DEADRANK_HAS_SIMGRID

#include <simgrid/s4u.hpp>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "tests/bench/measuring.h"

namespace {

namespace s4u = simgrid::s4u;

constexpr std::size_t messages = 200'000;

// One host and one private link each; 8 simulated bytes a message.
void build(std::size_t ranks, std::vector<s4u::Host*>& hosts) {
    auto* zone = s4u::create_star_zone("cluster");
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        auto* host = zone->create_host("h" + std::to_string(rank), 1e9);
        auto* link = zone->create_link("l" + std::to_string(rank), 12.5e9)->set_latency(1e-6)->seal();
        zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {s4u::LinkInRoute(link)}, true);
        hosts.push_back(host);
    }
    zone->seal();
}

// Rounds in which everybody sends to the next one and receives: a ring of messages is that, and so is an
// all-reduce by ring, which takes 2(n - 1) rounds of one n-th of the data.
double play_rounds(std::size_t ranks, std::size_t rounds, std::uint64_t bytes) {
    int count = 1;
    char name[] = "simgrid";
    char* arguments[] = {name, nullptr};
    s4u::Engine engine(&count, arguments);
    std::vector<s4u::Host*> hosts;
    build(ranks, hosts);
    std::vector<s4u::Mailbox*> mailboxes;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        mailboxes.push_back(s4u::Mailbox::by_name(std::to_string(rank)));
    }
    static std::uint64_t payload = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        s4u::Actor::create("rank", hosts[rank], [&mailboxes, rank, ranks, rounds, bytes] {
            for (std::size_t round = 0; round < rounds; ++round) {
                const auto put = mailboxes[(rank + 1) % ranks]->put_async(&payload, bytes);
                mailboxes[rank]->get<std::uint64_t>();
                put->wait();
            }
        });
    }
    const double start = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    engine.run();
    return cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
}

// SimGrid has one engine a process, so each measurement has a process.
double seconds_of(std::size_t ranks, std::size_t rounds, std::uint64_t bytes) {
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
        const double seconds = play_rounds(ranks, rounds, bytes);
        const bool written = ::write(ends[1], &seconds, sizeof seconds) == sizeof seconds;
        ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    double seconds = -1;
    if (::read(ends[0], &seconds, sizeof seconds) != sizeof seconds) seconds = -1;
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return seconds;
}

void RingOfSimGrid(benchmark::State& state) {
    double total = 0;
    for (auto _ : state) {
        const auto ranks = static_cast<std::size_t>(state.range(0));
        const double seconds = seconds_of(ranks, messages / ranks, 8);
        if (seconds < 0) return state.SkipWithError("SimGrid did not finish the ring");
        state.SetIterationTime(seconds);
        total += static_cast<double>(messages);
    }
    state.counters["messages"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
}

// s4u has no collectives of its own: this is NCCL's ring, message by message.
void AllReduceStepsOfSimGrid(benchmark::State& state) {
    const auto ranks = static_cast<std::size_t>(state.range(0));
    const std::size_t steps = ranks > 64 ? 1 : 20;
    double played = 0;
    for (auto _ : state) {
        const double seconds = seconds_of(ranks, steps * 2 * (ranks - 1), 1024 / ranks + 1);
        if (seconds < 0) return state.SkipWithError("SimGrid did not finish the all-reduces");
        state.SetIterationTime(seconds);
        played += static_cast<double>(steps);
    }
    state.counters["steps"] = benchmark::Counter(played, benchmark::Counter::kIsRate);
}

}  // namespace

BENCHMARK(RingOfSimGrid)->Apply(once)->Arg(1'000);
BENCHMARK(RingOfSimGrid)->Apply(once)->Arg(10'000)->Repetitions(1);
BENCHMARK(AllReduceStepsOfSimGrid)->Apply(once)->Arg(64);
BENCHMARK(AllReduceStepsOfSimGrid)->Apply(once)->Arg(512)->Repetitions(1);

#else

namespace {

void RingOfSimGrid(benchmark::State& state) {
    state.SkipWithError("SimGrid is not installed (Debian: libsimgrid-dev), so there is no ratio");
    for (auto _ : state) break;
}

void AllReduceStepsOfSimGrid(benchmark::State& state) { RingOfSimGrid(state); }

}  // namespace

BENCHMARK(RingOfSimGrid);
BENCHMARK(AllReduceStepsOfSimGrid);

#endif

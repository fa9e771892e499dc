// tests/bench/engine_bench.cpp — The engine alone, per CPU second: the ring of tests/sim/ring.h by size and
// by queue, and whole small simulations, each played twice and compared. Time is that of the stage's thread,
// so that other work on the machine counts only through its caches.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <malloc.h>

#include "sim/engine/engine.h"
#include "sim/engine/stage.h"
#include "tests/bench/measuring.h"
#include "tests/sim/resident_bytes.h"
#include "tests/sim/ring.h"
#include "tests/sim/stackless_ring.h"

namespace {

using namespace deadrank::sim;
using rig::resident_bytes;
using rig::Ring;
using rig::StacklessRing;

struct Measured {
    double seconds = 0;
    double bytes = 0;
    std::uint64_t messages = 0;
    bool completed = false;
};

// The first run after the ranks were created, as in a real scenario: nothing is warm but the code.
Measured ring(std::uint32_t ranks, QueueKind queue, bool fibers) {
    const std::uint64_t messages = ranks < 1'000'000 ? 2'000'000 : 3'000'000;
    Measured measured;
    ::malloc_trim(0);
    on_stage([&](Engine& engine) {
        engine.reset({.actors = ranks, .stack_bytes = 16 << 10, .queue = queue});
        Ring ring(engine, ranks, std::max<std::uint64_t>(1, messages / ranks));
        StacklessRing crowd(engine, ring, ranks);
        const std::size_t before = resident_bytes();
        fibers ? ring.spawn() : crowd.spawn();
        const double start = cpu_seconds();
        measured.completed = engine.run().ending == Ending::completed;
        measured.seconds = cpu_seconds() - start;
        measured.bytes = static_cast<double>(resident_bytes() - before) / ranks;
        measured.messages = engine.trace().events();
    });
    return measured;
}

void ring_of(benchmark::State& state, bool fibers) {
    const auto ranks = static_cast<std::uint32_t>(state.range(0));
    const char* const queues[] = {"automatic", "heap", "wheel"};
    state.SetLabel(queues[state.range(1)]);
    double messages = 0;
    double bytes = 0;
    for (auto _ : state) {
        const Measured measured = ring(ranks, static_cast<QueueKind>(state.range(1)), fibers);
        if (!measured.completed) state.SkipWithError("the ring did not complete");
        state.SetIterationTime(measured.seconds);
        messages += static_cast<double>(measured.messages);
        bytes = std::max(bytes, measured.bytes);
    }
    state.counters["messages"] = benchmark::Counter(messages, benchmark::Counter::kIsRate);
    state.counters["bytes/rank"] = bytes;
}

void RingOfFibers(benchmark::State& state) { ring_of(state, true); }
void RingOfStackless(benchmark::State& state) { ring_of(state, false); }

void sizes_and_queues(benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"ranks", "queue"})->UseManualTime()->Unit(benchmark::kMillisecond);
    for (std::int64_t ranks : {1'000, 10'000, 100'000}) {
        for (QueueKind queue : {QueueKind::automatic, QueueKind::heap, QueueKind::wheel}) {
            bench->Args({ranks, static_cast<std::int64_t>(queue)});
        }
    }
}

// Creating and ending so many takes longer than the ring itself: once.
void a_million(benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"ranks", "queue"})->UseManualTime()->Unit(benchmark::kMillisecond);
    bench->Args({1'000'000, static_cast<std::int64_t>(QueueKind::automatic)})->Repetitions(1);
}
BENCHMARK(RingOfFibers)->Apply(sizes_and_queues)->Iterations(1);
BENCHMARK(RingOfStackless)->Apply(sizes_and_queues)->Iterations(1);
BENCHMARK(RingOfFibers)->Apply(a_million)->Iterations(1);
BENCHMARK(RingOfStackless)->Apply(a_million)->Iterations(1);

// One training step as the engine sees it: work of a length of its own, a boundary to the neighbour, and a
// reduction under a time-out that the last to come completes for all.
class OneStep {
public:
    OneStep(Engine& engine, std::uint32_t ranks) : engine_(engine), ranks_(ranks), mail_(ranks) {}

    void spawn() {
        for (ActorId rank = 0; rank < ranks_; ++rank) engine_.spawn(rank, [this, rank] { live(rank); });
    }

    bool done() const { return left_ == ranks_; }

private:
    void live(ActorId rank) {
        engine_.sleep(Time(100'000'000 + draw(1, rank, 0) % 1'000'000));
        const ActorId to = (rank + 1) % ranks_;
        engine_.call_after(Time(2'000), {to, rank, "boundary"}, [this, to] {
            mail_[to] = true;
            engine_.wake(to);
        });
        while (!mail_[rank]) engine_.block({.what = "boundary"});
        if (++arrived_ == ranks_) {
            for (ActorId other = 0; other < ranks_; ++other) engine_.wake(other);
        }
        while (arrived_ < ranks_) {
            if (!engine_.block_until(engine_.now() + Time(600'000'000'000), {.what = "all_reduce"})) return;
        }
        ++left_;
    }

    Engine& engine_;
    std::uint32_t ranks_;
    std::uint32_t arrived_ = 0, left_ = 0;
    std::vector<char> mail_;
};

void TrainingStepOfFibers(benchmark::State& state) {
    const auto ranks = static_cast<std::uint32_t>(state.range(0));
    double bytes = 0;
    for (auto _ : state) {
        ::malloc_trim(0);
        on_stage([&](Engine& engine) {
            const std::size_t before = resident_bytes();
            engine.reset({.actors = ranks, .stack_bytes = 16 << 10});
            OneStep step(engine, ranks);
            step.spawn();
            const double start = cpu_seconds();
            engine.run();
            state.SetIterationTime(cpu_seconds() - start);
            bytes = static_cast<double>(resident_bytes() - before) / ranks;
            if (!step.done()) state.SkipWithError("the step did not complete");
        });
    }
    state.counters["bytes/rank"] = bytes;
    state.counters["rank-steps"] = benchmark::Counter(ranks, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(TrainingStepOfFibers)
    ->ArgName("ranks")
    ->Arg(1'000'000)
    ->Iterations(1)
    ->Repetitions(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// A ring with lost and late messages and time-outs on receive, 20 rounds: a simulation as a sweep plays them.
class LossyRing {
public:
    LossyRing(Engine& engine, std::uint32_t ranks, std::uint64_t seed)
        : engine_(engine), ranks_(ranks), seed_(seed), mail_(ranks) {}

    void spawn() {
        for (ActorId rank = 0; rank < ranks_; ++rank) engine_.spawn(rank, [this, rank] { live(rank); });
    }

private:
    void live(ActorId rank) {
        for (int round = 0; round < 20; ++round) {
            send(rank);
            while (mail_[rank] == 0) {
                if (!engine_.block_until(engine_.now() + Time(50'000), {.what = "message"})) return;
            }
            --mail_[rank];
        }
    }

    void send(ActorId rank) {
        const std::uint64_t chance = draw(seed_, rank, sent_++);
        if (chance % 997 == 0) return;
        const std::uint64_t latency = (1000 + (chance >> 20) % 1000) * (chance % 61 == 0 ? 20 : 1);
        const ActorId to = (rank + 1) % ranks_;
        engine_.call_after(Time(latency), {to, chance, "message"}, [this, to] {
            ++mail_[to];
            engine_.wake(to);
        });
    }

    Engine& engine_;
    std::uint32_t ranks_;
    std::uint64_t seed_;
    std::uint64_t sent_ = 0;
    std::vector<std::uint32_t> mail_;
};

void SimulationsPlayedTwice(benchmark::State& state) {
    const auto ranks = static_cast<std::uint32_t>(state.range(0));
    std::uint64_t seed = 0;
    std::uint64_t mismatches = 0;
    on_stage([&](Engine& engine) {
        for (auto _ : state) {
            const double start = cpu_seconds();
            std::uint64_t hashes[2];
            for (std::uint64_t& hash : hashes) {
                engine.reset({.actors = ranks, .stack_bytes = 16 << 10});
                LossyRing ring(engine, ranks, seed);
                ring.spawn();
                engine.run();
                engine.close();
                hash = engine.trace().value();
            }
            mismatches += hashes[0] != hashes[1];
            ++seed;
            state.SetIterationTime(cpu_seconds() - start);
        }
    });
    if (mismatches > 0) state.SkipWithError("two runs of one seed differ");
    state.counters["pairs"] = benchmark::Counter(static_cast<double>(seed), benchmark::Counter::kIsRate);
}
BENCHMARK(SimulationsPlayedTwice)->ArgName("ranks")->Arg(8)->Arg(64)->Arg(1'024)->UseManualTime();

}  // namespace

// tests/sim/program/program_streams_test.cpp — Goal: what a program queues on streams takes its time beside
// the host. Who does not wait for it reads what was there before, and a wait, an event or a synchronization
// mends that.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

void expect_runs(const std::string& step, const Words& cluster = two_ranks, const std::string& setup = "") {
    const auto record = play_program(step, cluster, setup);
    EXPECT_EQ(last_words(record), "") << step;
    EXPECT_EQ(ended_well(record), 2) << step;
    EXPECT_EQ(symptoms_in(record), std::vector<std::string>{}) << step;
}

TEST(ProgramStreams, AStreamThatDoesNotWaitReadsWhatWasThereBefore) {
    expect_runs(R"py(
s = torch.cuda.Stream()
x = zeros(4)
torch.cuda.synchronize()
with torch.cuda.stream(s):
    compute("5ms")
    x.fill_(1.0)
early = x * 2
assert early.sum() == 0.0 and x.sum() == 0.0
torch.cuda.current_stream().wait_stream(s)
late = x * 2
assert late.sum() == 8.0 and early.sum() == 0.0
)py");
}

TEST(ProgramStreams, TheHostRunsAheadAndStreamsRunBesideEachOther) {
    expect_runs(R"py(
def milliseconds(work):
    torch.cuda.synchronize()
    begin = now()
    work()
    queued = now() - begin
    torch.cuda.synchronize()
    return round(queued * 1000), round((now() - begin) * 1000)

s = torch.cuda.Stream()
def beside():
    compute("5ms")
    with torch.cuda.stream(s):
        compute("5ms")
def behind():
    compute("5ms")
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        compute("5ms")
assert milliseconds(beside) == (0, 5)
assert milliseconds(behind) == (0, 10)
def asleep():
    compute("5ms")
    sleep("3ms")
assert milliseconds(asleep) == (3, 5)
)py");
}

TEST(ProgramStreams, EventsSayWhenAStreamHasComeThere) {
    expect_runs(R"py(
first, second = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
s = torch.cuda.Stream()
x = zeros(2)
torch.cuda.synchronize()
first.record()
compute("4ms")
x.add_(1.0)
second.record()
assert first.query() and not second.query()
s.wait_event(second)
with torch.cuda.stream(s):
    y = x * 3
s.synchronize()
assert second.query() and round(first.elapsed_time(second)) == 4
assert y.sum() == 6.0
never = torch.cuda.Event()
never.wait()
assert never.query()
)py");
    EXPECT_EQ(last_words(play_program("a, b = torch.cuda.Event(), torch.cuda.Event()\na.elapsed_time(b)")),
              "ValueError: Both events must be created with argument 'enable_timing=True'.");
}

// Goal: a copy that does not hold the host up is not there yet, and sends what the host writes meanwhile.
TEST(ProgramStreams, ACopyThatDoesNotHoldTheHostUp) {
    expect_runs(R"py(
norm = full([1], 7.0, device="cuda")
seen = zeros(1, device="cpu")
compute("2ms")
seen.copy_(norm, non_blocking=True)
assert seen.sum() == 0.0
torch.cuda.synchronize()
assert seen.sum() == 7.0

host = ones(2, device="cpu")
compute("2ms")
there = host.to("cuda", non_blocking=True)
host.fill_(5.0)
assert there.sum() == 10.0
compute("2ms")
held = host.to("cuda")
host.fill_(6.0)
assert held.sum() == 10.0 and norm.cpu().sum() == 7.0
)py");
}

TEST(ProgramStreams, AnAsyncCallWaitsForItsStreamAndOnlyAStreamWaitsForIt) {
    expect_runs(R"py(
compute("3ms" if rank == 0 else "9ms")
x = ones(4) * (rank + 1)
work = all_reduce(x, async_op=True)
assert not work.is_completed()
begin = now()
work.wait()                           # the stream waits, the host does not
assert now() == begin
y = x + 0
assert y.sum() == 12.0 and now() > begin

s = torch.cuda.Stream()
z = zeros(4)
torch.cuda.synchronize()
compute("3ms")
z.fill_(1.0)
with torch.cuda.stream(s):            # does not wait for what fills z
    work = all_reduce(z, async_op=True)
    work.wait()
torch.cuda.synchronize()
assert z.sum() == 4.0                 # the sum of zeros, overwritten by the kernel that came late
)py");
    expect_runs(
        "x = ones(4)\ncompute(\"2ms\")\nx.mul_(2)\nall_reduce(x)\nassert x.sum() == 16.0\n"
        "y = all_gather(x)\nassert y[1].sum() == 16.0\nx.mul_(2)\n"
        "send(x, 1) if rank == 0 else recv(x, 0)\nassert x.sum() == 32.0\nsynchronize()");
}

// Goal: memory that the program has let go is given out again at once on its stream.
TEST(ProgramStreams, MemoryIsGivenOutAgainWhileAnotherStreamReadsIt) {
    const std::string reads = R"py(
s = torch.cuda.Stream()
x = ones(8)
s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s):
    compute("2ms")
    y = x * 3
%x = None
z = full([8], 5.0)
torch.cuda.synchronize()
)py";
    const auto with = [&](const std::string& line) {
        std::string text = reads;
        return text.replace(text.find('%'), 1, line);
    };
    expect_runs(with("") + "assert y.sum() == 120.0");
    expect_runs(with("x.record_stream(s)\n") + "assert y.sum() == 24.0");
    expect_runs(with("torch.cuda.current_stream().wait_stream(s)\n") + "assert y.sum() == 24.0");
}

TEST(ProgramStreams, WithoutThemAKernelHoldsTheHostUp) {
    expect_runs("begin = now()\ncompute(\"5ms\")\nassert round((now() - begin) * 1000) == 5");
    const auto record = play_program("x = zeros(2)\nx.record_stream(1)");
    EXPECT_NE(last_words(record), "");
}

TEST(ProgramStreams, TwoRunsAreAlike) {
    const char* step =
        "s = Stream()\nx = rand(64)\nwith stream(s):\n  y = x * "
        "2\nall_reduce(y)\nloss(y.sum())\ndigest(\"y\", y)";
    EXPECT_EQ(play_program(step).trace_hash, play_program(step).trace_hash);
}

}  // namespace
}  // namespace deadrank::tests

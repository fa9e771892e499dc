// tests/sim/program/program_children_test.cpp — Goal: what a rank starts beside itself has a life of its own:
// it ends unnoticed, holds memory, and outlives its parent, unless somebody ends it.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

TEST(ProgramChildren, AChildEndsUnnoticedUnlessItIsAsked) {
    const auto record = play_program(R"py(
worker = subprocess.Popen(["loader"], lasts="2s", returncode=3)
assert worker.poll() is None and worker.pid != os.getpid()
sleep(1)
assert worker.poll() is None
sleep(2)
assert worker.returncode is None and worker.poll() == 3 and worker.returncode == 3
begin = now()
assert Popen("sleep", lasts="2s").wait() == 0 and round(now() - begin) == 2
)py");
    EXPECT_EQ(last_words(record), "");
    EXPECT_EQ(ended_well(record), 2);
}

TEST(ProgramChildren, SignalsEndThemByTheirPid) {
    const auto record = play_program(R"py(
one, other = Popen("one"), Popen("other", ignores_sigterm=True)
one.terminate()
other.terminate()
assert one.wait() == -15 and other.poll() is None
late = False
try:
    other.wait(timeout=5)
except TimeoutExpired as error:
    late = True
    assert error == "Command 'other' timed out after 5 seconds"
os.kill(other.pid, 0)
os.kill(other.pid, SIGKILL)
assert late and other.wait() == -9
gone = False
try:
    os.kill(other.pid, 0)
except ProcessLookupError:
    gone = True
assert gone
)py");
    EXPECT_EQ(last_words(record), "");
    EXPECT_EQ(ended_well(record), 2);
}

TEST(ProgramChildren, TheyHoldMemoryOfTheNodeAndOfADevice) {
    const auto record = play_program(R"py(
greedy = Popen("greedy", device_memory="200GiB")
assert greedy.poll() == 1
held = Popen("worker", device_memory="60GiB")
refused = False
try:
    allocate("40GiB")
except OutOfMemoryError:
    refused = True
held.kill()
free(allocate("40GiB"))
assert refused
)py");
    EXPECT_EQ(last_words(record), "");
    EXPECT_EQ(ended_well(record), 2);
    EXPECT_EQ(last_words(play_program("Popen(\"worker\", host_memory=\"100000GiB\")")),
              "OSError: [Errno 12] Cannot allocate memory");
}

// Goal: a restart finds what the children of the crashed job still hold.
TEST(ProgramChildren, TheyOutliveTheirParentAndItsJob) {
    const auto again = [](const char* daemon) {
        Words cluster = two_ranks;
        cluster["launcher"] = "torchrun";
        cluster["restarts_max"] = "1";
        return play_program(std::string("Popen(\"loader\", device_memory=\"25GiB\", daemon=") + daemon +
                                ")\nallocate(\"50GiB\")\nsleep(1)\nif attempt == 0:\n"
                                "    raise RuntimeError(\"crash\")\nloss(1.0)",
                            cluster);
    };
    EXPECT_TRUE(last_words(again("False")).starts_with("torch.OutOfMemoryError: CUDA out of memory."));
    EXPECT_EQ(last_words(again("True")), "RuntimeError: crash");
}

}  // namespace
}  // namespace deadrank::tests

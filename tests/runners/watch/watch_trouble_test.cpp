// tests/runners/watch/watch_trouble_test.cpp — Goal: whatever goes wrong with the watching is one sentence
// and never the program's end; evidence that is missing is told, and not taken for silence.
#include "tests/runners/watch/watched.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(DeviceWatch, SaysInOneSentenceWhatItCouldNotWatch) {
    const auto alone = watched({"/bin/sh", "-c", "exit 3"});
    ASSERT_TRUE(alone) << alone.error().text();
    EXPECT_EQ(alone->code, 3);
    EXPECT_THAT(alone->notes, ElementsAre(HasSubstr("before any Python process with a RANK was started")));
    const auto without = watched(torchrun(script("import os\nprint(os.environ['RANK'])\n")));
    ASSERT_TRUE(without) << without.error().text();
    EXPECT_EQ(without->code, 0);
    EXPECT_THAT(without->notes, ElementsAre(HasSubstr("no rank opened a process group")));
    const auto missing = watched({"/nowhere/torchrun"});
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().text(), HasSubstr("cannot start '/nowhere/torchrun'"));
}

// Whoever reads only the exit code must not take it for a job without an alarm.
TEST_F(DeviceWatch, EndsWithTwoWhenItWatchedNothing) {
    const std::string watch = DEADRANK_BINARY_DIRECTORY "/deadrank watch -- ";
    const auto nothing = tests::shell(watch + "/bin/true");
    EXPECT_EQ(nothing.code, 2) << nothing.out;
    EXPECT_THAT(nothing.out, HasSubstr("no Python process with a RANK was started"));
    EXPECT_EQ(tests::shell(watch + "/bin/sh -c 'exit 3'").code, 3) << "the program's own code comes first";
}

// The hook's files may grow no further, as on a full disk: the program trains on.
TEST_F(DeviceWatch, AHookThatFailsTurnsItselfOffAndSaysSo) {
    std::string line = "ulimit -f 16; exec";
    for (const std::string& word : torchrun(users / "accumulate.py")) line += " " + word;
    const auto seen = watched({"/bin/bash", "-c", line});
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(seen->code, 0);
    EXPECT_THAT(symptoms_of(seen->rang), IsEmpty());
    EXPECT_LT(seen->evidence.each<results::StepEnd>().size(), 48u) << "it was not turned off";
    EXPECT_EQ(seen->evidence.each<results::EvidenceLost>().size(), 2u);
    EXPECT_THAT(seen->notes, Contains(HasSubstr("evidence is missing: of rank 1")));
}

// The hook's own lines cannot be written for a while, and its folder for torch's recorder is no folder.
TEST_F(DeviceWatch, AProgramThatOutlivesItsHookSavesAndLoadsAndEndsWell) {
    const fs::path file = directory_ / "model.pt";
    fs::create_directories(directory_ / "evidence");
    std::ofstream(directory_ / "evidence" / "flight") << "in the way";
    const auto seen = watched(torchrun(script(std::string(trained) + R"(
import resource
unlimited = resource.RLIM_INFINITY
step()
resource.setrlimit(resource.RLIMIT_FSIZE, (0, unlimited))
for _ in range(400):  # more lines than there is room for
    dist.barrier()
step(), step()
resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, unlimited))
if rank == 0:
    torch.save(model.module.state_dict(), sys.argv[1])
dist.barrier()
torch.load(sys.argv[1])
dist.destroy_process_group()
)"),
                                       {file.string()}));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(seen->code, 0);
    EXPECT_TRUE(fs::exists(file));
    EXPECT_THAT(symptoms_of(seen->rang), IsEmpty());
    EXPECT_TRUE(seen->evidence.each<results::StepEnd>().empty()) << "it was not turned off";
}

// A program may run for weeks: what cannot be seen in it is told while it does.
TEST_F(DeviceWatch, SaysWhatItIsBlindForOnceTheProgramTrains) {
    const auto seen = watched(torchrun(script(std::string(trained) + R"(
for number in range(20):
    step()
time.sleep(5)
)")));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_THAT(noted_, ElementsAre(HasSubstr("sample_coverage saw no samples")));
    EXPECT_THAT(seen->notes, Not(Contains(HasSubstr("sample_coverage"))));
}

// Rank 1 has no room for lines from the beginning, as on a disk that is full.
TEST_F(DeviceWatch, SaysThatEvidenceIsMissingWhereThereIsNoRoomForIt) {
    std::ofstream(directory_ / "rank.sh") << "[ $RANK = 1 ] && ulimit -f 1\nexec " << python_.program.string()
                                          << " " << (users / "accumulate.py").string() << "\n";
    const auto seen =
        watched({python_.program.string(), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
                 "2", "--no-python", "/bin/bash", (directory_ / "rank.sh").string()});
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(seen->code, 0);
    EXPECT_THAT(symptoms_of(seen->rang), IsEmpty());
    EXPECT_THAT(seen->notes,
                Contains(AllOf(HasSubstr("evidence is missing: of rank 1"), HasSubstr("File too large"))));
}

// A user's Ctrl-C reaches all processes of the terminal, a scheduler's SIGTERM perhaps the watch alone. What
// the ranks then say is no bug of theirs; what they had shown before is.
TEST_F(DeviceWatch, WhatFollowsAnOrderToEndIsNoAlarm) {
    const fs::path program = script(std::string(trained) + R"(
for number in range(2000):
    step()
    if rank == 1 and "spoil" in sys.argv and number == 20:
        model.module.weight.data += 1
    if number == 100:
        print("far enough", flush=True)
    time.sleep(0.01)
)");
    const auto ended_by = [&](const std::string& kill, const std::string& argument) {
        std::string line = "cd " + directory_.string() +
                           "; rm -f told; DEADRANK_PYTHON=" + python_.program.string() +
                           " setsid " DEADRANK_BINARY_DIRECTORY "/deadrank watch --json told --";
        for (const std::string& word : torchrun(program)) line += " " + word;
        line += " " + argument +
                " > said 2>&1 & job=$!; until grep -q 'far enough' said; do sleep 0.2; done; " + kill +
                "; wait $job; cat said told";
        return tests::shell(line).out;
    };
    for (const std::string kill : {"kill -INT -$job", "kill -TERM $job"}) {
        const std::string said = ended_by(kill, "");
        EXPECT_THAT(said, HasSubstr("the job was asked to end by SIG")) << kill;
        EXPECT_THAT(said, HasSubstr("no alarm")) << kill;
    }
    EXPECT_THAT(ended_by("kill -INT -$job", "spoil"), HasSubstr("replica_state_divergence"));
}

// Half of the program is seen, and no alarm in it.
TEST_F(DeviceWatch, DoesNotSayNoAlarmOfWhatItCouldNotSee) {
    std::string line = "cd " + directory_.string() +
                       " && ulimit -f 16; DEADRANK_PYTHON=" + python_.program.string() +
                       " " DEADRANK_BINARY_DIRECTORY "/deadrank watch --";
    for (const std::string& word : torchrun(users / "accumulate.py")) line += " " + word;
    const tests::Answer answer = tests::shell(line);
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("no alarm up to "));
    EXPECT_THAT(answer.out, HasSubstr("after which evidence is missing"));
    EXPECT_THAT(answer.out, HasSubstr("evidence is missing: of rank 0 there is none after"));
}

// A daemon thread that comes out of C++ while the interpreter shuts down aborts the process.
TEST_F(DeviceWatch, NoThreadOfTheHookOutlivesTheProgram) {
    const auto seen = watched(torchrun(script(std::string(trained) + R"(
import threading

class Last:
    def __del__(self, alive=threading.enumerate, leave=os._exit):
        leave(any("deadrank" in thread.name for thread in alive()))

step()
torch.save(model.module.state_dict(), sys.argv[1])
dist.destroy_process_group()
kept = Last()
)"),
                                       {(directory_ / "model.pt").string()}));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(seen->code, 0) << "one is alive while the interpreter shuts down";
}

// Else the library's threads would live until the interpreter shuts down. Of the world torch itself keeps a
// reference, as the default of functions.
TEST_F(DeviceWatch, AGroupThatWasDestroyedIsGone) {
    const auto seen = watched(torchrun(script(std::string(trained) + R"(
import gc, weakref
step()
part = dist.new_group([0, 1])
dist.all_reduce(torch.ones(3), group=part)
known = weakref.ref(part)
dist.destroy_process_group(part)
del part
gc.collect()
sys.exit(known() is not None)
)")));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(seen->code, 0) << "the hook holds it";
}

}  // namespace
}  // namespace deadrank::runners

// tests/runners/watch_trouble_test.cpp — Goal: whatever goes wrong with the watching is one sentence and
// never the program's end; evidence that is missing is told, and not taken for silence.
#include "tests/runners/watched.h"
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
    EXPECT_THAT(alone->notes, ElementsAre(HasSubstr("no Python process with a RANK")));
    const auto without = watched(torchrun(script("import os\nprint(os.environ['RANK'])\n")));
    ASSERT_TRUE(without) << without.error().text();
    EXPECT_EQ(without->code, 0);
    EXPECT_THAT(without->notes, ElementsAre(HasSubstr("no rank opened a process group")));
    const auto missing = watched({"/nowhere/torchrun"});
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().text(), HasSubstr("/nowhere/torchrun cannot be started"));
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

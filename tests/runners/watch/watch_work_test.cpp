// tests/runners/watch/watch_work_test.cpp — Goal: watching takes little work of a training step, counted and
// not timed: functions called, system calls, lines; and what a process told is there when it was killed.
#include <nlohmann/json.hpp>

#include "results/processes/bounded.h"
#include "runners/backends/process/event_reader.h"
#include "tests/runners/watch/watched.h"

namespace deadrank::runners {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// A step behind the first 64, of a model in DistributedDataParallel with 13 modules: what the program itself
// calls, however it is watched, does not count.
TEST_F(DeviceWatch, AStepTakesFewCallsOfTheHook) {
    const fs::path told = directory_ / "told.txt";
    const auto seen = watched(torchrun(script(R"(import sys, torch, torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(0)
layers = [nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(4)]
model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers, nn.Linear(64, 8)))
optimizer, data, steps = torch.optim.SGD(model.parameters(), lr=0.01), torch.randn(4, 64), 64
ours = {"call": 0, "c_call": 0}

def step():
    model(data).square().mean().backward()
    optimizer.step(), optimizer.zero_grad()

def count(frame, event, argument):
    if event in ours and "deadrank_hook" in frame.f_code.co_filename:
        ours[event] += 1

def used():
    with open("/proc/self/io", encoding="ascii") as file:
        lines = dict(line.split(": ") for line in file.read().splitlines())
    return int(lines["syscr"]), int(lines["syscw"])

for _ in range(80):
    step()
before = used()
for _ in range(steps):
    step()
after = used()
sys.setprofile(count)
for _ in range(steps):
    step()
sys.setprofile(None)
if dist.get_rank() == 0:
    reads, writes = ((b - a) / steps for a, b in zip(before, after))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        print(ours["call"] / steps, ours["c_call"] / steps, reads, writes, file=file)
dist.destroy_process_group()
)"),
                                       {told.string()}));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_THAT(symptoms_of(seen->rang), IsEmpty());
    ASSERT_EQ(seen->code, 0);
    double called = 0, below = 0, reads = 0, writes = 0;
    ASSERT_TRUE(std::ifstream(told) >> called >> below >> reads >> writes);
    RecordProperty("counted", fmt::format("{} {} {} {}", called, below, reads, writes));
    EXPECT_GT(called, 10) << "nothing was counted";
    EXPECT_LT(called, 110) << "functions of the hook in a step";
    EXPECT_LT(below, 130) << "functions of C that these call";
    EXPECT_LT(reads, 16) << "reads, gloo's own among them";
    EXPECT_LT(writes, 14) << "writes, all of them gloo's";
    const double steps = static_cast<double>(seen->evidence.each<results::StepEnd>().size());
    EXPECT_LT(static_cast<double>(seen->evidence.events().size()) / steps, 9.5) << "events of a step";
}

// Statements with a writer at hand, as `deadrank watch` has one.
std::string told_by(const fs::path& directory, const std::string& statements) {
    const std::string script = fmt::format(
        "import os, signal, sys\n"
        "sys.dont_write_bytecode = True\n"
        "sys.path.insert(0, r'{}')\n"
        "from deadrank_hook.evidence import Mapped\n"
        "writer = Mapped(r'{}', 3)\n"
        "{}\n",
        DEADRANK_SOURCE_DIRECTORY "/runners/backends/local/hook", (directory / "rank3.jsonl").string(),
        statements);
    const auto answer = results::processes::run_bounded({"python3", "-c", script}, {}, "", {});
    return answer ? answer->out + answer->err : answer.error().text();
}

class HookEvidence : public testing::Test {
protected:
    void TearDown() override { fs::remove_all(directory_); }

    std::vector<std::string> lines() const {
        std::vector<std::string> all;
        Follow follow(Follow::Fills::through_memory);
        for (const auto& entry : fs::directory_iterator(directory_))
            follow.look(entry.path(), [&](std::string_view line) { all.emplace_back(line); });
        return all;
    }

    const fs::path directory_ = fs::path(testing::TempDir()) / fmt::format("hook-evidence-{}", getpid());
};

TEST_F(HookEvidence, OfAKilledProcessHoldsAllThatItTold) {
    told_by(directory_, R"(
step = writer.form("step.begin", "step")
for number in range(5000):
    writer.put(step % (number + 1, number))
writer.write("rank.log", level=2, line="50 % of " + "x" * 200000)
writer.write("step.begin", step=5000)
os.kill(os.getpid(), signal.SIGKILL))");
    const auto all = lines();
    ASSERT_EQ(all.size(), 5002u);
    for (const std::size_t at : {0, 4999, 5001}) {
        const auto line = nlohmann::json::parse(all[at], nullptr, false);
        ASSERT_TRUE(line.is_object()) << all[at];
        EXPECT_EQ(line["rank"], 3);
        EXPECT_EQ(line["step"], at == 5001 ? 5000 : static_cast<int>(at));
    }
}

TEST_F(HookEvidence, IsWrittenWithoutASystemCallForEachLine) {
    const std::string said = told_by(directory_, R"(
asked = []
real = os.posix_fallocate
os.posix_fallocate = lambda *all: asked.append(all) or real(*all)
os.write = None
for number in range(2000):
    writer.write("collective.leave", comm=1, seq=number, op="all_reduce", result="ok")
print("asked", len(asked)))");
    EXPECT_EQ(lines().size(), 2000u);
    EXPECT_THAT(said, HasSubstr("asked 4")) << "for room for 2000 lines of 110 bytes";
}

// A bound on a file's size stands for a disk without room: a store there would end the process.
TEST_F(HookEvidence, SaysThatThereIsNoRoomInsteadOfEndingTheProcess) {
    const std::string said = told_by(directory_, R"(
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 10, resource.RLIM_INFINITY))
try:
    for number in range(2000):
        writer.write("step.begin", step=number)
except OSError as trouble:
    print("no room:", trouble.errno == 27))");
    EXPECT_THAT(said, HasSubstr("no room: True"));
    EXPECT_GT(lines().size(), 200u) << "the little room that there was is used";
}

}  // namespace
}  // namespace deadrank::runners

// tests/runners/watch/worker_wait_test.cpp — A rank that waits for a loader's worker which has no processor is not
// slow: what its workers waited for a processor counts as its own waiting.
#include <fstream>
#include <gmock/gmock.h>

#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

// On counters of our own, since those of the kernel depend on what else the machine does.
TEST(WorkerWait, IsWhatTheSlowestWorkerWaitedSinceTheLastBatch) {
    const std::string script = testing::TempDir() + "/deadrank_workers.py";
    std::ofstream(script) << R"(
import os, tempfile, types
from deadrank_hook.training import Training
from deadrank_hook.waits import Workers

proc = tempfile.mkdtemp()
def waited(process, nanoseconds):
    os.makedirs(f"{proc}/{process}", exist_ok=True)
    with open(f"{proc}/{process}/schedstat", "w") as file:
        file.write(f"1 {nanoseconds} 3\n")

workers = Workers(proc)
waited(7, 500), waited(8, 100)
assert workers.longest([7, 8]) == 0, "they had waited before anybody asked"
waited(7, 600), waited(8, 900)
assert workers.longest([7, 8]) == 800
waited(7, 601)
assert workers.longest([7, 8]) == 1
assert workers.longest([7, 8, 9]) == 0, "9 is gone"
assert workers.longest([]) == 0

# The rank waited 300 for a batch whose worker had no processor for 1000, and then 5000 for one with 200.
training = types.SimpleNamespace(workers=Workers(proc), held_up=0)
loader = types.SimpleNamespace(_workers=[types.SimpleNamespace(pid=7)])
Training.batch_came(training, loader, 0)
waited(7, 1601)
Training.batch_came(training, loader, 300)
assert training.held_up == 300, training.held_up
waited(7, 1801)
Training.batch_came(training, loader, 5000)
assert training.held_up == 500, training.held_up
Training.batch_came(training, types.SimpleNamespace(), 5000)  # a loader without workers
assert training.held_up == 500
print("well")
)";
    const Answer answer = shell("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" DEADRANK_SOURCE_DIRECTORY
                                "/runners/backends/local/hook' python3 '" +
                                script + "'");
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(answer.out, testing::HasSubstr("well"));
}

}  // namespace
}  // namespace deadrank::tests

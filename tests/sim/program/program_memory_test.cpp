// tests/sim/program/program_memory_test.cpp — Goal: where a setting says what an element stands for, tensors
// take memory as long as something refers to them, and communicators do; without one, nothing does.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

const Words counted = {{"element_size", "1MiB"}};

// `used()` is in MiB.
std::string says(const std::string& step, const Words& more = counted, results::Rank rank = 0) {
    return last_words(
        play_program("MiB = 1024 * 1024\ndef used():\n  return torch.cuda.memory_allocated() // "
                     "MiB\n" +
                         step,
                     two_ranks, "", more),
        rank);
}

std::vector<std::int64_t> most_used(const runners::Record& record) {
    std::vector<std::int64_t> found;
    for (const results::Event* event : record.evidence.each<results::MemorySample>())
        if (event->rank == 0) found.push_back(event->as<results::MemorySample>()->used >> 20);
    return found;
}

TEST(ProgramMemory, AStorageCountsUntilNothingRefersToIt) {
    EXPECT_EQ(says(R"py(
x = zeros(100, device="cuda")
part, turned = x[10:20], x.view(10, 10).t()
assert used() == 100
del x
assert used() == 100
del part
assert used() == 100
turned = None
assert used() == 0 and torch.cuda.max_memory_allocated() == 100 * MiB
held = {"a": [zeros(3, device="cuda")]}
made = SimpleNamespace(weight=held["a"][0])
del held
assert used() == 3
made.weight.grad = made.weight.clone()
assert used() == 6
made.weight.grad = None
assert used() == 3
del made
assert used() == 0
)py"),
              "");
}

TEST(ProgramMemory, WhatComesOfOperationsAndCallsCounts) {
    EXPECT_EQ(says(R"py(
x = ones(8, device="cuda")
kinds = [x.half(), x.to("float64"), x > 0, x * 2, -x]
assert used() == 8 + 4 + 16 + 2 + 8 + 8
del kinds
torch.cuda.reset_peak_memory_stats()
x += 1
x.add_(x)
assert torch.cuda.max_memory_allocated() == 8 * MiB     # in place
x = x + 1
assert used() == 8 and torch.cuda.max_memory_allocated() == 16 * MiB
all = all_gather(x)
assert used() == 24
all = [all[0]]
assert used() == 24                                     # both are parts of one storage
del all
objects = all_gather_object(x)
assert used() == 16 and torch.cuda.memory_allocated(1 - local_rank) == 8 * MiB
)py"),
              "");
}

TEST(ProgramMemory, TheCacheGoesBackWhenItIsEmptied) {
    EXPECT_EQ(says(R"py(
x = zeros(64, device="cuda")
handle = allocate("10MiB")
assert used() == 74 and torch.cuda.memory_reserved() == 74 * MiB
del x
assert used() == 10 and torch.cuda.memory_reserved() == 74 * MiB
y = zeros(24, device="cuda")
assert torch.cuda.memory_reserved() == 74 * MiB
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() == 34 * MiB and torch.cuda.max_memory_reserved() == 74 * MiB
free(handle)
assert used() == 24 and torch.cuda.memory_reserved() == 24 * MiB
)py"),
              "");
}

TEST(ProgramMemory, ObjectsThatHoldEachOtherWaitForTheCollector) {
    EXPECT_EQ(says(R"py(
class Node:
    def __init__(self):
        self.value, self.other = zeros(5, device="cuda"), None
def closed():
    y = zeros(7, device="cuda")
    def inner():
        return y
    return inner
a, b = Node(), Node()
a.other, b.other = b, a
assert used() == 10
keep = a
del a, b
assert gc.collect() == 0 and used() == 10
del keep
assert used() == 10
assert gc.collect() > 0 and used() == 0
reads = closed()
assert used() == 7 and reads().sum() == 0
del reads
assert used() == 0
)py"),
              "");
}

TEST(ProgramMemory, TooMuchIsRefusedAsByTorch) {
    const std::string refused = says("x = [zeros(20000, device=\"cuda\") for i in range(8)]");
    EXPECT_TRUE(
        refused.starts_with("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 19.53 GiB. "
                            "GPU 0 has a total capacity of 80.00 GiB of which 1"))
        << refused;
    // The peak is what a sample shows.
    const auto record = play_program("x = zeros(1000, device=\"cuda\")\ndel x\ntorch.cuda.empty_cache()",
                                     two_ranks, "", {{"element_size", "1MiB"}, {"steps", "2"}});
    EXPECT_EQ(most_used(record), (std::vector<std::int64_t>{512, 1512}));
    EXPECT_EQ(says("x = [zeros(30000, device=\"cuda\") for i in range(2)]\ndel x\ny = zeros(70000, "
                   "device=\"cuda\")\nassert used() == 70000"),
              "")
        << "the cache is given up first";
}

TEST(ProgramMemory, TheNodesMemoryIsShared) {
    const auto record = play_program("x = zeros(100)\ny = x.cuda()\nif step == 1:\n  del x\nbarrier()",
                                     two_ranks, "", {{"element_size", "1MiB"}, {"steps", "2"}});
    std::int64_t most = 0;
    for (const results::Event* event : record.evidence.each<results::MemorySample>())
        most = std::max(most, event->as<results::MemorySample>()->host_used >> 20);
    EXPECT_EQ(most, 200);
    EXPECT_EQ(ended_well(record), 2);
}

// Goal: without the setting the run is the one that it was.
TEST(ProgramMemory, NothingCountsWithoutTheSetting) {
    EXPECT_EQ(
        says("x = zeros(100, device=\"cuda\")\nassert used() == 0\nh = allocate(\"3MiB\")\nassert used() == "
             "3",
             {}),
        "");
    const char* step = "x = zeros(1000, device=\"cuda\")\nall_reduce(x)\nloss(1.0)";
    const auto plain = play_program(step),
               zero = play_program(step, two_ranks, "", {{"element_size", "0MiB"}});
    EXPECT_EQ(plain.evidence.events().size(), zero.evidence.events().size());
    EXPECT_EQ(most_used(plain), (std::vector<std::int64_t>{512}));
}

TEST(ProgramMemory, ACommunicatorTakesMemoryWithItsFirstCall) {
    const Words gibibytes = {{"communicator_size", "1GiB"}, {"steps", "6"}};
    const auto record = play_program(R"py(
if step == 1:
    all_reduce(ones(1, device="cuda"))
    g = new_group([0, 1])
if step == 2:
    all_reduce(ones(1, device="cuda"), group=g)
if step == 3:
    destroy_process_group(g)
barrier()
)py",
                                     two_ranks, "", gibibytes);
    EXPECT_EQ(last_words(record), "");
    EXPECT_EQ(most_used(record), (std::vector<std::int64_t>{512, 1536, 1536, 2560, 2560, 1536}));
    const auto grows = play_program("barrier(group=new_group([0, 1]))", two_ranks, "",
                                    {{"communicator_size", "30GiB"}, {"steps", "4"}});
    EXPECT_NE(
        last_words(grows).find("ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nFailed "
                               "to CUDA calloc async 32212254720 bytes"),
        std::string::npos)
        << last_words(grows);
    EXPECT_EQ(symptoms_in(grows), std::vector<std::string>{"device_out_of_memory"});
}

}  // namespace
}  // namespace deadrank::tests

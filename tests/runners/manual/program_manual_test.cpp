// Goal: what the manual's page of the program says in passing is so: each sentence here is played.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

using Found = std::vector<std::string>;

const Words two_nodes = {{"gpus_per_node", "2"}, {"nodes", "2"}};

// Asserts of a program that hold on all ranks.
void expect_true(const std::string& setup, const Words& cluster = two_ranks, const Words& more = {}) {
    const auto record = play_program("pass", cluster, setup, more);
    EXPECT_EQ(last_words(record), "") << setup;
    EXPECT_TRUE(record.truth.completed()) << setup;
}

TEST(ProgramManual, FunctionsKeepTheNamesOfTheCallThatMadeThem) {
    expect_true(
        "def make(n):\n    def inner():\n        return n\n    return inner\na = make(1)\nb = make(2)\n"
        "assert [a(), b()] == [1, 2]\nassert [f() for f in [lambda: i for i in range(3)]] == [2, 2, 2]");
    expect_true(
        "assert sorted([(2, \"b\"), (1, \"z\"), (1, \"a\")]) == [(1, \"a\"), (1, \"z\"), (2, \"b\")]\n"
        "assert sorted([\"bb\", \"a\", \"cc\"], key=lambda t: (len(t), 0)) == [\"a\", \"bb\", \"cc\"]");
}

TEST(ProgramManual, ASumIsANumberThatNoCallTakes) {
    expect_true("x = ones(4)\nall_reduce(x.sum(dim=0))\nassert x.sum() == 4.0");
    EXPECT_THAT(last_words(play_program("all_reduce(ones(4).sum())")),
                testing::StartsWith("TypeError: Invalid function argument"));
    expect_true("y = zeros(2, 4)\nall_gather_into_tensor(y, ones(4))\nassert y.sum() == 8.0");
}

TEST(ProgramManual, RefusalsOfMethodsAreTorchsAndToldAsShapes) {
    const std::pair<const char*, const char*> refused[] = {
        {"ones(4).view(3)", "RuntimeError: shape '[3]' is invalid for input of size 4"},
        {"ones(4).narrow(0, 3, 4)", "RuntimeError: start (3) + length (4) exceeds dimension size (4)."},
        {"ones(4).index_select(0, tensor([5]))", "IndexError: index out of range in self"},
        {"ones(2, 2).gather(1, tensor([[5]]))",
         "RuntimeError: index 5 is out of bounds for dimension 1 with size 2"},
        {"ones(2, 3) @ ones(2, 3)", "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"},
        {"ones(2).item()", "RuntimeError: a Tensor with 2 elements cannot be converted to Scalar"}};
    for (const auto& [call, words] : refused) {
        const auto record = play_program(call);
        EXPECT_EQ(last_words(record), words);
        EXPECT_EQ(symptoms_in(record), Found{"tensor_shape_or_dtype_error"}) << call;
    }
    EXPECT_EQ(last_words(play_program("Generator(1).set_state(\"x\")")),
              "RuntimeError: RNG state is wrong size");
    EXPECT_EQ(last_words(play_program("new_group([])")),
              "TypeError: __init__(): incompatible constructor arguments.");
}

TEST(ProgramManual, RanksFillNodesAndEachNodeHasALocalhost) {
    Words fewer = {{"nodes", "3"}, {"gpus_per_node", "4"}, {"ranks", "6"}};
    expect_true("assert [node, local_rank] == [rank // 4, rank % 4]", fewer);
    expect_true(
        "s = TCPStore(\"localhost\", 29600, is_master=local_rank == 0, timeout=\"20s\")\n"
        "s.set(\"a\", str(node))\nbarrier()\nassert s.get(\"a\") == str(node)\nbarrier()",
        two_nodes);
    Words mpirun = two_ranks;
    mpirun["launcher"] = "mpirun";
    expect_true(
        "assert env(\"OMPI_COMM_WORLD_RANK\") == str(rank)\n"
        "assert env(\"OMPI_COMM_WORLD_LOCAL_SIZE\") == \"2\"",
        mpirun);
}

TEST(ProgramManual, TheDiskLooksAtTheEndOfItsTime) {
    expect_true(
        "if rank == 0:\n    sleep(\"500us\")\n    write_text(\"shared/a\", \"x\")\nelse:\n"
        "    sleep(\"1ms\")\n    assert not exists(\"shared/a\")\n    assert read_text(\"shared/a\") == "
        "\"x\"");
    expect_true(
        "try:\n    write_text(\"shared/lock\", \"\", mode=\"x\")\n    assert rank == 0\n"
        "except FileExistsError:\n    assert rank > 0",
        four_ranks);
    for (const char* took : {"20 / 1000000)\nassert round(now() - t, 4) == 0.0015",
                             "\"20us\")\nassert round(now() - t, 4) == 0.002"})
        expect_true(std::string("t = now()\nfor i in range(100): compute(") + took);
    expect_true("assert read_text(\"shared/a\") == \"2\"", two_ranks,
                {{"earlier", "write_text(\"shared/a\", str(device_count()))"}});
}

TEST(ProgramManual, SmallNumbersLoseTheirDigits) {
    const std::string call = "all_reduce(ones(1))\n";
    EXPECT_TRUE(symptoms_in(play_program(call + "check(\"lr\", 0.0001, 0.0002)")).empty());
    EXPECT_EQ(symptoms_in(play_program(call + "check(\"lr in thousandths\", 0.1, 0.2)")),
              Found{"wrong_intermediate_value"});
    const std::string rates = "value(\"learning_rate\", 0.2 if rank == 1 and step > 1 else 0.1)";
    EXPECT_EQ(symptoms_in(play_program(call + rates, four_ranks, "", {{"steps", "4"}})),
              Found{"wrong_intermediate_value"});
    EXPECT_TRUE(symptoms_in(play_program(call + "value(\"learning_rate\", 0.1 + rank)", four_ranks)).empty())
        << "who differed from the start may have other parameters";
}

TEST(ProgramManual, WhatIsCaughtAndWhatIsHiddenIsSo) {
    const std::string caught =
        "if rank == 1:\n    try:\n        allocate(\"100GiB\")\n    except OutOfMemoryError:\n        ";
    EXPECT_TRUE(symptoms_in(play_program(caught + "pass\nall_reduce(ones(1))")).empty());
    EXPECT_EQ(symptoms_in(play_program(caught + "raise ValueError(\"no\")\nall_reduce(ones(1))")),
              Found{"device_out_of_memory"});
    const auto after = [](const char* step) {
        return symptoms_in(play_program(std::string("check(\"v\", 1 if step == ") + step +
                                            " else 2, 2)\nif step == 2: raise ValueError(\"no\")",
                                        two_ranks, "", {{"steps", "4"}}));
    };
    EXPECT_THAT(after("1"),
                testing::UnorderedElementsAre("wrong_intermediate_value", "framework_runtime_exception"));
    EXPECT_EQ(after("2"), Found{"framework_runtime_exception"});
    for (const char* end : {"exit(16)", "_exit(3)", "raise SystemExit(2)"})
        EXPECT_EQ(symptoms_in(play_program(std::string("all_reduce(ones(1))\n") + end)),
                  Found{"framework_runtime_exception"})
            << end;
    const char* no_such_device = "if rank == 1: allocate(\"1GiB\", device=7)";
    EXPECT_EQ(symptoms_in(play_program(no_such_device)), Found{"framework_runtime_exception"});
    EXPECT_EQ(symptoms_in(play_program("pass", two_ranks, no_such_device, {{"start", "own"}})),
              Found{"communication_setup_failure"});
    Words observed = two_ranks;
    observed["observe"] = "15m";
    EXPECT_EQ(symptoms_in(play_program("pass", observed, "",
                                       {{"finish", "if rank == 1: Popen([\"worker\"]).wait()"}})),
              Found{"collective_deadlock_hang"});
    EXPECT_EQ(symptoms_in(play_program("abort()")), Found{"native_crash_or_illegal_access"});
    EXPECT_EQ(symptoms_in(play_program("if rank == 0: kill(getpid(), SIGTERM)\nall_reduce(ones(1))")),
              Found{"restart_or_recovery_failure"});
}

}  // namespace
}  // namespace deadrank::tests

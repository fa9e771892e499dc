// tests/runners/program_run_test.cpp — Goal: a rank's program computes what Python and torch would, refuses
// in their words, and is one run however often it is played.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

#include "results/record/evidence.h"
#include "runners/pipeline/play_trial.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "scenarios/program/program_examples.h"
#include "sim/world/numbers.h"
#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

using results::Event;

// Goal: numbers, lists, texts and control flow are Python's.
TEST(ProgramRun, ComputesAsPythonDoes) {
    const char* step = R"py(
assert 7 // 2 == 3 and -7 // 2 == -4 and 7 // -2 == -4
assert 7 % 3 == 1 and -7 % 3 == 2 and 7 % -3 == -2 and 7.5 % 2 == 1.5
assert 7 / 2 == 3.5 and 1 / 4 == 0.25 and 2 ** 10 == 1024 and 2 ** -1 == 0.5 and 16 ** 0.5 == 4.0
assert 1 < 2 < 3 and not 1 < 3 < 2
assert abs(-3) == 3 and min(3, 1, 2) == 1 and max([3, 1, 2]) == 3 and sum([1, 2, 3]) == 6
assert str(1.5) == "1.5" and str(2.0) == "2.0" and f"{1/3}" == "0.33333" and str(-0.25) == "-0.25"
assert int("42") == 42 and int(3.9) == 3 and int(-3.9) == -3 and float("0.5") == 0.5 and float(2) == 2.0
assert [x * x for x in range(5) if x % 2 == 0] == [0, 4, 16]
assert list(range(5, 0, -2)) == [5, 3, 1] and range(3) == [0, 1, 2]
a, b = 1, [2, 3]
b.append(4)
b += [5]
assert b == [2, 3, 4, 5] and b[-1] == 5 and b[1:3] == [3, 4] and b[:1] == [2] and len(b) == 4
assert b.index(4) == 2 and 4 in b and 9 not in b and b.pop() == 5 and b.pop(0) == 2
d = {"x": 1, "y": [1, 2]}
d["z"] = d["x"] + 1
assert d.keys() == ["x", "y", "z"] and d.get("w", 7) == 7 and "x" in d and d.pop("z") == 2 and len(d) == 2
assert "a,b".split(",") == ["a", "b"] and "-".join(["a", "b"]) == "a-b" and "abc"[1] == "b"
assert (1 if a else 2) == 1 and (a or 5) == 1 and (0 or 5) == 5 and (0 and 5) == 0
def fact(n, times=1):
    if n <= 1:
        return times
    return fact(n - 1, times * n)
assert fact(5) == 120 and fact(n=3, times=2) == 12
count = 0
def bump():
    global count
    count += 1
for i in range(10):
    if i == 3:
        continue
    if i == 6:
        break
    bump()
assert count == 5
n = 0
while True:
    n += 1
    if n > 4:
        break
assert n == 5
said = ""
try:
    raise ValueError(f"bad {n}")
except KeyError:
    said = "wrong"
except ValueError as error:
    said = error
finally:
    said = said + "!"
assert said == "bad 5!"
try:
    x = [1][3]
except Exception as error:
    assert error == "list index out of range"
assert enumerate(["a"]) == [[0, "a"]] and zip([1, 2], [3, 4]) == [[1, 3], [2, 4]]
assert sorted([3, 1, 2]) == [1, 2, 3] and sorted(["b", "a"], reverse=True) == ["b", "a"]
assert None is None and d["x"] is not None and isinstance(1.5, "float")
)py";
    EXPECT_EQ(last_words(play_program(step)), "");
}

TEST(ProgramRun, TensorsAreTorchs) {
    const char* step = R"py(
x = tensor([[1, 2, 3], [4, 5, 6]])
assert x.shape == [2, 3] and x.dtype == "torch.int64" and x[1][2] == 6 and x[1, 0] == 4 and x.numel() == 6
assert (x * 2).tolist() == [[2, 4, 6], [8, 10, 12]] and (x / 2).dtype == "torch.float32"
assert (x + tensor([10, 20, 30])).tolist() == [[11, 22, 33], [14, 25, 36]]
row = x[0]
row[0] = 9
assert x[0, 0] == 9, "a row is a view"
flat = x.flatten()
flat[5] = 60
assert x[1, 2] == 60 and x.reshape(3, -1).shape == [3, 2]
halves = arange(5).chunk(2)
assert halves[0].tolist() == [0, 1, 2] and halves[1].tolist() == [3, 4]
assert cat([ones(2), zeros(1)]).tolist() == [1.0, 1.0, 0.0] and stack([ones(2), zeros(2)]).shape == [2, 2]
assert cat([ones(2, 1), zeros(2, 2)], dim=1).tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
assert tensor([3.0, 4.0]).norm() == 5.0 and tensor([1.0, 2.0]).mean() == 1.5 and tensor([7]).item() == 7
assert tensor([1.01]).to("bfloat16").item() == 1.00781 or tensor([1.01]).to("bfloat16")[0] < 1.01
assert tensor([70000.0]).to("float16").item() == inf
assert (ones(2, dtype="float16") + ones(2)).dtype == "torch.float32"
y = zeros(4)
y[1:3] = 5
y[3] = tensor([2.0])[0]
assert y.tolist() == [0.0, 5.0, 5.0, 2.0] and len(y) == 4 and sum(y) == 12.0
y += 1
assert y[0] == 1.0 and zeros(0).shape == [0]
)py";
    EXPECT_EQ(last_words(play_program(step)), "");
}

// Goal: what torch refuses is refused in its words.
TEST(ProgramRun, RefusesInTorchsWords) {
    const std::pair<const char*, const char*> cases[] = {
        {"x = ones(3) + ones(4)",
         "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton "
         "dimension 0"},
        {"x = [1, 2][2]", "IndexError: list index out of range"},
        {"x = {\"a\": 1}[\"b\"]", "KeyError: 'b'"},
        {"x = [1][None]", "TypeError: list indices must be integers or slices, not NoneType"},
        {"x = ones(3)[3]", "IndexError: index 3 is out of bounds for dimension 0 with size 3"},
        {"x = cat([ones(2, 2), ones(3, 3)])",
         "RuntimeError: Sizes of tensors must match except in dimension 0. Expected size 2 but got size 3 "
         "for tensor "
         "number 1 in the list."},
        {"x = ones(6).reshape(4)", "RuntimeError: shape '[4]' is invalid for input of size 6"},
        {"x = ones(2, 2).size(2)",
         "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
        {"all_gather_into_tensor(zeros(3), ones(2))",
         "ValueError: output tensor size must be equal to world_size times input tensor size"},
        {"all_gather_into_tensor(zeros(4, dtype=\"float16\"), ones(2))",
         "TypeError: output tensor must have the same type as input tensor"},
        {"reduce_scatter_tensor(zeros(2), ones(3))",
         "ValueError: input tensor must be the same size as output size times world size"},
        {"all_reduce(3)",
         "TypeError: Invalid function argument. Expected parameter `tensor` of all_reduce to be of type "
         "torch.Tensor, "
         "but got 'int' instead."},
        {"send(ones(1), rank)",
         "ValueError: Invalid destination rank: destination rank should not be the same as the rank of the "
         "current "
         "process."},
        {"x = load(\"nowhere\")", "FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'"},
        {"x = store_get(\"key\", timeout=\"2s\")",
         "torch.distributed.DistStoreError: wait timeout after 2000ms, keys: /key"},
        {"x = y\ny = 1", "NameError: name 'y' is not defined"},
        {"x = 1 / 0", "ZeroDivisionError: division by zero"},
        {"x = 1 + \"a\"", "TypeError: unsupported operand type(s) for +: 'int' and 'str'"},
        {"assert rank < 0, f\"rank {rank}\"", "AssertionError: rank 0"},
        {"raise RuntimeError(f\"step {step} of {steps}\")", "RuntimeError: step 0 of 1"},
        {"x = 2 ** 70", "OverflowError: a whole number that does not fit into 64 bits"},
        {"def f(n):\n    return f(n + 1)\nf(0)", "RecursionError: maximum recursion depth exceeded"},
        {"x = []\nx.append(x)", "ValueError: a list cannot hold itself"},
        {"x = zeros(2000000)", "MemoryError: a tensor of more than 1048576 elements"},
        {"a, b = [1]", "ValueError: not enough values to unpack (expected 2, got 1)"},
    };
    for (const auto& [step, words] : cases) EXPECT_EQ(last_words(play_program(step)), words) << step;
}

// Goal: a loop without an end ends, and says where.
TEST(ProgramRun, BoundsALoopWithoutAnEnd) {
    const auto record =
        play_program("x = 0\nwhile True:\n    x += 1", two_ranks, "", {{"statements", "5000"}});
    EXPECT_NE(last_words(record).find("went on for 5000 statements, last in line"), std::string::npos)
        << last_words(record);
    const auto caught = play_program("try:\n    while True:\n        pass\nexcept Exception:\n    pass",
                                     two_ranks, "", {{"statements", "5000"}});
    EXPECT_NE(last_words(caught), "") << "no except holds it up";
    const auto grows = play_program("x = [1]\nwhile True:\n    x = x + x", two_ranks);
    EXPECT_EQ(last_words(grows), "MemoryError: a list of more than a million values");
    const auto nested = play_program("x = []\nfor i in range(100000):\n    x = [x]", two_ranks);
    EXPECT_EQ(last_words(nested), "") << "a list as deep as that is given back without a deep stack";
}

// Goal: calls really move numbers.
TEST(ProgramRun, CallsMoveNumbers) {
    const char* step = R"py(
x = tensor([float(rank), 1.0])
all_reduce(x)
assert x.tolist() == [6.0, 4.0]
all_reduce(x, op="avg")
assert x.tolist() == [6.0, 4.0]
assert [p.item() for p in all_gather(tensor([rank]))] == [0, 1, 2, 3]
out = zeros(8)
all_gather_into_tensor(out, ones(2) * rank)
assert out.tolist() == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
part = zeros(1)
reduce_scatter_tensor(part, arange(4).to("float32"))
assert part[0] == 4.0 * rank
swapped = zeros(4)
all_to_all_single(swapped, ones(4) * rank)
assert swapped.tolist() == [0.0, 1.0, 2.0, 3.0]
b = tensor([rank])
broadcast(b, src=2)
assert b[0] == 2
if rank == 0:
    send(tensor([42]), dst=3, tag=1)
elif rank == 3:
    got = zeros(1, dtype="int64")
    recv(got, src=0, tag=1)
    assert got[0] == 42
work = all_reduce(b, op="max", async_op=True)
work.wait()
assert b[0] == 2 and work.is_completed()
objects = all_gather_object({"rank": rank, "names": ["a"] * rank, "x": ones(2) * rank})
assert [o["rank"] for o in objects] == [0, 1, 2, 3]
assert len(objects[3]["names"]) == 3 and objects[2]["x"][1] == 2.0
assert broadcast_object([rank, "t"], src=1) == [1, "t"]
low = new_group([0, 1], name="low")
high = new_group([2, 3])
mine = low if rank < 2 else high
y = tensor([rank])
all_reduce(y, group=mine)
assert y[0] == (1 if rank < 2 else 5) and get_rank(mine) == rank % 2
assert get_world_size(low) == (2 if rank < 2 else -1)
all_reduce(y, group=low)
broadcast(y, src=3, group=high)
assert y[0] == (5 if rank >= 2 else 2)
store_set(f"k{rank}", rank * 10)
assert store_get(f"k{(rank + 1) % 4}") == str((rank + 1) % 4 * 10)
barrier()
total = store_add("count", 1)
barrier()
assert store_add("count", 0) == 4 and not store_check("nothing") and store_set_once("k0", "x") == "0"
save({"a": tensor([1.5, rank]), "b": [None, True, "t"]}, f"shared/r{rank}")
barrier()
there = load(f"shared/r{(rank + 1) % 4}")
assert there["a"].tolist() == [1.5, float((rank + 1) % 4)] and there["b"] == [None, True, "t"]
assert exists("shared/r0") and not exists("shared/r9") and len(listdir("shared/r")) == 4
began = now()
compute("20ms")
sleep(0.25)
assert now() - began >= 0.26
h = allocate("1GiB")
free(h)
assert env("RANK") == str(rank) and env("NOPE", "no") == "no" and random("p", 1, 10) == random("p", 1, 10)
assert seam("n", 3) == 3 and seam("f", 0.5) == 0.5 and seam("t", True) is True and block("b")
)py";
    const auto record = play_program(step, four_ranks);
    for (results::Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(last_words(record, rank), "") << rank;
    EXPECT_TRUE(record.truth.completed());
}

// Goal: one plan is one run, and sums are those of the simulator's own arithmetic.
TEST(ProgramRun, IsTheSameRunEachTime) {
    const char* step = R"py(
x = tensor([random("x", i, 1000) / 7 for i in range(8)])
all_reduce(x, op="avg")
digest("x", x)
loss(x.norm())
garbage = empty(4)
value("garbage", garbage.sum())
)py";
    const auto once = play_program(step, four_ranks, "", {{"steps", "3"}});
    const auto again = play_program(step, four_ranks, "", {{"steps", "3"}});
    EXPECT_EQ(once.trace_hash, again.trace_hash);
    EXPECT_EQ(once.events, again.events);
    std::set<std::uint64_t> digests;
    for (const Event* event : once.evidence.each<results::ParametersDigest>())
        if (event->as<results::ParametersDigest>()->step == 0)
            digests.insert(event->as<results::ParametersDigest>()->digest);
    EXPECT_EQ(digests.size(), 1u) << "replicas hold the same";
}

TEST(ProgramRun, DividesAndMultipliesAsTheWorkloadsDo) {
    using sim::Number;
    const Number value = sim::one * 7 / 3, rate = (sim::one + 5) / 10;  // a literal is rounded
    const auto record = play_program("g = tensor([7 / 3])\nvalue(\"v\", (g / 4 * 0.1)[0])");
    for (const Event* event : record.evidence.each<results::ValueSample>())
        EXPECT_EQ(event->as<results::ValueSample>()->value,
                  sim::shown(sim::times(sim::scaled(value, 1, 4), rate)));
}

// Goal: a rank that does not start up by itself can still meet the others.
TEST(ProgramRun, StartsByItselfWhereItIsToldTo) {
    const char* setup = R"py(
assert rank >= 0 and world_size == 4
store_add("agents", 1)
while store_add("agents", 0) < 4:
    sleep("100ms")
init_process_group()
)py";
    const auto record =
        play_program("x = ones(1)\nall_reduce(x)\nassert x[0] == 4.0", four_ranks, setup, {{"start", "own"}});
    EXPECT_EQ(last_words(record), "");
    EXPECT_TRUE(record.truth.completed());
    const auto without = play_program("all_reduce(ones(1))", four_ranks, "", {{"start", "own"}});
    EXPECT_EQ(last_words(without),
              "ValueError: Default process group has not been initialized, please make sure to call "
              "init_process_group.");
}

// Goal: the manual's examples do what they say.
TEST(ProgramRun, TheExamplesOfTheManualPass) {
    const auto taxonomy =
        scenarios::load_taxonomy(DEADRANK_SOURCE_DIRECTORY "/scenarios/taxonomy.toml").value();
    const auto words = runners::vocabulary();
    runners::SimRunner sim;
    for (const auto& example : scenarios::program::examples()) {
        const auto scenario = scenarios::parse_scenario(
            example.toml, fmt::format("examples/{}.toml", example.name), taxonomy, words);
        ASSERT_TRUE(scenario) << scenario.error().text();
        const auto trialled = runners::play(*scenario, {1}, sim, words);
        EXPECT_EQ(trialled.outcome.verdict, results::Verdict::pass)
            << example.name << ": " << trialled.outcome.reason;
    }
}

}  // namespace
}  // namespace deadrank::tests

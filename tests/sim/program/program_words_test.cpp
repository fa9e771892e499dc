// tests/sim/program/program_words_test.cpp — Goal: words of Python and torch that reports are written with
// mean here what they mean there, and refuse in their words.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

void expect_fine(const char* step, const Words& cluster = two_ranks) {
    const auto record = play_program(step, cluster);
    for (results::Rank rank = 0; rank < 2; ++rank) EXPECT_EQ(last_words(record, rank), "") << rank;
}

TEST(ProgramWords, ClassesHaveValuesOfTheirOwn) {
    expect_fine(R"py(
class Scaler:
    "a text says nothing"
    scale = 1.0
    seen: list = []
    kind: str
    def note(self, x):
        self.seen.append(x)
        return x * Scaler.scale
class Finer(Scaler):
    scale = 4
a, b = Scaler(), Finer()
assert a.scale == 1.0 and b.scale == 4 and Finer.seen is Scaler.seen
Scaler.scale = 2
assert a.scale == 2 and a.note(3) == 6 and b.note(5) == 10 and Scaler.seen == [3, 5]
a.scale = 7
Scaler.scale += 1
assert a.scale == 7 and Scaler().scale == 3 and Finer.scale == 4
assert hasattr(Scaler, "scale") and not hasattr(Scaler, "kind") and getattr(Finer, "scale") == 4
Finer.note = lambda self, x: -x
assert b.note(2) == -2 and a.note(1) == 3
)py");
}

TEST(ProgramWords, ClassesSayWhatComesNext) {
    expect_fine(R"py(
class Sampler:
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        return iter([i for i in range(rank, self.n, world_size)])
    def __len__(self):
        return self.n // world_size
class Counter:
    def __init__(self):
        self.at = 0
    def __iter__(self):
        return self
    def __next__(self):
        self.at += 1
        if self.at > 4:
            raise StopIteration
        return self.at
assert [i for i in Sampler(6)] == list(Sampler(6)) == [rank, rank + 2, rank + 4]
counter = Counter()
for i in counter:
    if i == 2:
        break
assert counter.at == 2 and next(counter) == 3 and list(counter) == [4] and next(counter, "end") == "end"
it = iter([1, 2, 3])
assert next(it) == 1 and sum(it) == 5 and next(it, None) is None
assert list(zip(Sampler(4), iter("ab"))) == [(rank, "a"), (rank + 2, "b")]
said = ""
try:
    next(it)
except StopIteration:
    said = "over"
assert said == "over"
try:
    for i in 3:
        pass
except TypeError as error:
    said = error
assert said == "'int' object is not iterable"
for i in Counter():
    pass
else:
    said = "all"
assert said == "all" and functools.reduce(lambda a, b: a * b, [2, 3, 4]) == 24
assert functools.reduce(max, [], 7) == 7 and [0] * 3 == 3 * [0] == [0, 0, 0]
try:
    functools.reduce(max, [])
except TypeError as error:
    said = error
assert said == "reduce() of empty iterable with no initial value"
)py");
}

TEST(ProgramWords, AMethodIsAValueAmongArguments) {
    expect_fine(R"py(
class Stream:
    def __init__(self):
        self.queue = []
    def launch(self, kernel):
        self.queue.append(kernel)
    def synchronize(self):
        while self.queue:
            self.queue.pop(0)()
x = ones(4)
stream = Stream()
handle = all_reduce(x, async_op=True)
stream.launch(handle.wait)
stream.synchronize()
assert x[0] == 2.0 and list(map("a b".split, [" "])) == [["a", "b"]]
total = []
for f in [total.append]:
    f(3)
counts = {"a": 1, "b": 3}
assert total == [3] and max(counts, key=counts.get) == "b"
)py");
}

TEST(ProgramWords, InterruptsRaiseAsInPython) {
    const auto caught = play_program(
        "try:\n    barrier()\n    if rank == 0:\n        os.kill(pid_of(1), signal.SIGINT)\n    while rank "
        "== 1:\n"
        "        sleep(\"10ms\")\nexcept KeyboardInterrupt:\n    print(\"stopped\")",
        two_ranks);
    EXPECT_TRUE(caught.truth.completed());
    const auto free = play_program("if rank == 0:\n    os.kill(pid_of(1), SIGINT)\nsleep(1)", two_ranks);
    EXPECT_EQ(last_words(free, 1), "KeyboardInterrupt");
}

TEST(ProgramWords, TensorsHaveMoreWords) {
    expect_fine(R"py(
x = zeros(1000)
assert x.normal_() is x and x.mean() < 0.2 and x.mean() > -0.2 and x.std() > 0.8
y = empty([2, 500]).uniform_(2, 3)
assert y.min() >= 2.0 and y.max() <= 3.0 and 2.4 < y.mean() < 2.6
manual_seed(3)
a = zeros(4).normal_()
manual_seed(3)
assert a.equal(randn(4)) and randn([2, 3]).shape == [2, 3] and rand(a.shape).shape == [4]
z = tensor([-1.0, 0.0, 2.0])
assert z.silu().allclose(tensor([-0.268941, 0.0, 1.761594])) and F.gelu(z).allclose(
    tensor([-0.158655, 0.0, 1.954500])), z.gelu()
m = arange(12).reshape(3, 4)
assert m[:, 1:3].tolist() == [[1, 2], [5, 6], [9, 10]]
scores = tensor([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
whole = cross_entropy(scores[:2], tensor([0, 0]))
assert abs(cross_entropy(scores, tensor([0, 0, -100])) - whole) < 0.001
assert abs(cross_entropy(scores, tensor([0, 0, 1]), ignore_index=1) - whole) < 0.001
assert isnan(cross_entropy(scores, tensor([-100, -100, -100])))
none = empty(0)
assert none.numel() == 0 and none.sum() == 0 and isnan(none.mean()) and none.copy_(ones(0)) is none
)py");
    const auto says = [](const char* step) { return last_words(play_program(step)); };
    EXPECT_EQ(says("zeros(2, 4) @ zeros(16)"),
              "RuntimeError: size mismatch, got input (2), mat (2x4), vec (16)");
    EXPECT_EQ(says("zeros(2).copy_([1, 2])"),
              "TypeError: copy_(): argument 'other' (position 1) must be Tensor, not list");
    EXPECT_EQ(says("cross_entropy(zeros(1, 2), tensor([-3]))"), "IndexError: Target -3 is out of bounds.");
}

TEST(ProgramWords, GroupsAreCutAndEnded) {
    const auto record = play_program(R"py(
front = new_group([0, 1, 2, 3])
own, all_of_them = new_subgroups(2, group=front)
assert [g.ranks for g in all_of_them] == [[0, 1], [2, 3]] and (own is None) == (rank > 3)
own, nodes = new_subgroups()
assert [g.ranks for g in nodes] == [[0, 1, 2, 3], [4, 5, 6, 7]]
assert get_process_group_ranks(front) == front.ranks == [0, 1, 2, 3]
said = ""
if rank == 5:
    own.abort()
    try:
        all_reduce(ones(1), group=own)
    except RuntimeError as error:
        said = error
assert (said == "") == (rank != 5), said
)py",
                                     {{"gpus_per_node", "4"}, {"nodes", "2"}});
    for (results::Rank rank = 0; rank < 8; ++rank) EXPECT_EQ(last_words(record, rank), "") << rank;
}

TEST(ProgramWords, TheSecondWorldIsRefusedInTheWordsOfItsRelease) {
    const auto says = [](const char* versions) {
        return last_words(play_program("init_process_group()",
                                       {{"gpus_per_node", "2"}, {"nodes", "1"}, {"versions", versions}}));
    };
    EXPECT_EQ(says("{ torch = \"2.11.0\" }"),
              "ValueError: trying to initialize the default process group twice!");
    EXPECT_EQ(says("{ torch = \"2.0.1\" }"),
              "RuntimeError: trying to initialize the default process group twice!");
}

}  // namespace
}  // namespace deadrank::tests

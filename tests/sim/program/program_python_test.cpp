// tests/sim/program/program_python_test.cpp — Goal: what somebody who knows Python and torch writes first
// means here what it means there, or is refused before it runs; nothing is passed over in silence.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "results/record/evidence.h"
#include "scenarios/program/program_names.h"
#include "scenarios/program/program_parser.h"
#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

using namespace scenarios::program;

// The first complaint about this text, and what would do.
std::string refusal_of(const std::string& step) {
    std::vector<Mistake> mistakes;
    Source source;
    source.step = step;
    read_program(source, mistakes);
    if (mistakes.empty()) return "";
    const Mistake& first = mistakes.front();
    return fmt::format("{}:{} {} — {}", first.spot.line, first.spot.column, first.what, first.remedy);
}

std::string after(const std::string& step, const Words& cluster = two_ranks) {
    return last_words(play_program(step, cluster));
}

TEST(ProgramPython, MethodsTakeWhatTheyTakeInTorch) {
    EXPECT_EQ(after(R"py(
x = ones(2)
x.add_(ones(2), alpha=0.5)
assert x.tolist() == [1.5, 1.5]
x.sub_(ones(2), alpha=2)
assert x.tolist() == [-0.5, -0.5]
)py"),
              "");
    EXPECT_EQ(refusal_of("x = ones(2)\nx.add_(x, 0.5)"),
              "2:3 add_() takes 1 arguments but 2 were given — name the last one: alpha = …");
    EXPECT_EQ(refusal_of("x = ones(2)\nx.mul_(x, beta=2)"),
              "2:3 mul_() got an unexpected keyword argument 'beta' — leave it out; known are other");
    EXPECT_TRUE(
        refusal_of("h = all_reduce(ones(1), async_op=True)\nh.wait(10)")
            .starts_with(
                "2:3 wait() takes 0 arguments but 1 were given — leave it out: how long a call may take"));
    EXPECT_TRUE(
        refusal_of("h = all_reduce(ones(1), async_op=True)\nh.wait(timeout=10)")
            .starts_with("2:3 wait() got an unexpected keyword argument 'timeout' — leave it out: how"));
    EXPECT_EQ(after("a = [2, 1]\na.sort(True)"), "TypeError: sort() takes no positional arguments");
    EXPECT_TRUE(after("a = [2, 1]\na.sort(descending=True)")
                    .starts_with("TypeError: sort() of 'list' has no such named argument"));
    EXPECT_EQ(refusal_of("x = 'a,b'.replace('a', 'b', 1)"),
              "1:11 replace() takes 2 arguments but 3 were given — leave the last ones out");
    EXPECT_TRUE(refusal_of("d = {}\nx = d.get").ends_with("as a value: lambda x: d.get(x)"));
    EXPECT_TRUE(refusal_of("x = type(1)").ends_with("isinstance(x, int) says whether it is one"));
    EXPECT_EQ(after("ones(2).std(False)"), "TypeError: std(): argument 'dim' must be int, not bool");
}

// Goal: what a class calls its methods and attributes changes nothing for what is there already.
TEST(ProgramPython, AClassLeavesBuiltInMethodsAsTheyAre) {
    const std::string wrapper = R"py(
class Wrapped:
    def __init__(self, local):
        self.local, self.mean = local, None
    def add_(self, other, alpha=1):
        self.local.add_(other.local, alpha=alpha)
        return self
    def sum(self, axis):
        return self.local.sum(dim=axis)
    def sort(self, key):
        return key
    def split(self):
        return self
    def cuda(self):
        self.local = self.local.cuda()
        return self
x = Wrapped(ones(2, 2)).add_(other=Wrapped(ones(2, 2)), alpha=3).cuda()
all_reduce(x.local)
)py";
    EXPECT_EQ(after(wrapper + R"py(
assert x.local.tolist() == [[8.0, 8.0], [8.0, 8.0]] and x.sum(axis=0).tolist() == [16.0, 16.0]
assert ones(2, 2).mean(dim=0).tolist() == [1.0, 1.0] and ones(2, 3).sum(1, keepdim=True).shape == [2, 1]
names = [2, 3, 1]
names.sort(reverse=True)
assert names == [3, 2, 1] and x.sort(key=4) == 4 and len("a,b,c".split(",", maxsplit=1)) == 2
)py"),
              "");
    EXPECT_EQ(after(wrapper + "ones(2).add_(ones(2), 3)"),
              "TypeError: add_() takes 1 positional arguments but 2 were given");
    EXPECT_EQ(after(wrapper + "ones(2).add_(ones(2), beta=3)"),
              "TypeError: add_() got an unexpected keyword argument 'beta'");
    EXPECT_EQ(after(wrapper + "ones(2).add_(ones(2), other=ones(2))"),
              "TypeError: add_() got multiple values for argument 'other'");
}

// Goal: as Python, which takes a name that a def changes for the def's own.
TEST(ProgramPython, ADefSaysWhichOuterNamesItChanges) {
    EXPECT_EQ(
        refusal_of("total = 0\ndef count():\n    total += 1\ncount()"),
        "3:5 cannot access local variable 'total' where it is not associated with a value — write `global "
        "total` first in the def: what a def assigns is its own");
    EXPECT_TRUE(refusal_of("def outer():\n    n = 0\n    def inner():\n        n -= 1\n    inner()\nouter()")
                    .ends_with("write `nonlocal n` first in the def: what a def assigns is its own"));
    EXPECT_EQ(
        after("total, w = 0, ones(1)\ndef count(n, by=1):\n    global total\n    total += by\n    n += 1\n  "
              "  m = n\n    m *= 2\n    w[0] += 1\n    return m\nassert count(2) == 6 and total == 1"),
        "");
}

TEST(ProgramPython, ListsAreSortedByAKey) {
    EXPECT_EQ(after(R"py(
a = [[2, "b"], [1, "c"], [2, "a"]]
a.sort(key=lambda x: x[0])
assert a == [[1, "c"], [2, "b"], [2, "a"]]
a.sort(key=lambda x: x[0], reverse=True)
assert a == [[2, "b"], [2, "a"], [1, "c"]]
b = [(2, "b"), (1, "z"), (2, "a")]
b.sort()
assert b == [(1, "z"), (2, "a"), (2, "b")] and sorted(b, reverse=True)[0] == (2, "b")
)py"),
              "");
}

TEST(ProgramPython, ClassesSayWhatOperatorsDo) {
    EXPECT_EQ(after(R"py(
class Version:
    def __init__(self, number):
        self.number = number
    def __eq__(self, other):
        return self.number == other.number
    def __lt__(self, other):
        return self.number < other.number
    def __add__(self, other):
        return Version(self.number + other)
    def __radd__(self, other):
        return Version(self.number + other)
    def __bool__(self):
        return self.number != 0
    def __contains__(self, number):
        return number <= self.number
    def __repr__(self):
        return f"v{self.number}"

class Bag:
    def __len__(self):
        return 0
    def __str__(self):
        return "bag"

a, b = Version(1), Version(2)
assert a == Version(1) and a != b and a in [b, Version(1)] and b not in [a]
assert a < b and b > a and min(b, a) is a and sorted([b, a])[0] is a
assert (a + 4).number == 5 and (4 + a).number == 5
assert not Version(0) and a and 1 in a and 2 not in a
assert f"{a} {[a, b]}" == "v1 [v1, v2]" and str(a) == "v1" and repr(b) == "v2"
assert not Bag() and f"{Bag()}" == "bag" and str(Bag()) == "bag"
)py"),
              "");
    EXPECT_EQ(refusal_of("class A:\n    def __hash__(self):\n        return 1"),
              "2:5 __hash__() of a class is not called here — give it a plain name, and call it");
}

TEST(ProgramPython, WhatAParameterIsOtherwiseIsFoundOnce) {
    EXPECT_EQ(after(R"py(
def f(x, acc=[]):
    acc.append(x)
    return acc
n = 1
def g(m=n + 1):
    return m
n = 5
class A:
    def add(self, x, acc=[]):
        acc.append(x)
        return len(acc)
assert f(1) == [1] and f(2) == [1, 2] and g() == 2
assert A().add(1) == 1 and A().add(1) == 2
h = f
assert h(3) == [1, 2, 3]
)py"),
              "");
}

TEST(ProgramPython, ComprehensionsKeepTheirNames) {
    EXPECT_EQ(after(R"py(
x = 7
assert [x for x in range(3)] == [0, 1, 2] and x == 7
assert {x: y for x, y in [(1, 2)]} == {1: 2} and x == 7
assert sum(arange(4).reshape(2, 2)).tolist() == [2, 4] and sum(arange(4), 1) == 7
)py"),
              "");
    EXPECT_TRUE(after("round(123.4, -1)").starts_with("ValueError: places before the point"));
}

TEST(ProgramPython, ArgumentsComeOutOfLists) {
    EXPECT_EQ(after(R"py(
def f(a, b, c=3):
    return [a, b, c]
class A:
    def __init__(self, a, b):
        self.sum = a + b
pair, shape = (1, 2), [2, 3]
assert f(*pair) == [1, 2, 3] and f(0, *pair) == [0, 1, 2] and f(*pair, c=5) == [1, 2, 5]
assert A(*pair).sum == 3 and zeros(*shape).shape == [2, 3] and ones(6).reshape(*shape).shape == [2, 3]
assert max(*pair) == 2 and [*pair, *shape] == [1, 2, 2, 3]
assert list(zip(*[[1, 2], [3, 4]])) == [(1, 3), (2, 4)]
assert pow(*pair) == 1 and ones(2, 3).transpose(*pair[:1], 0).shape == [3, 2]
)py"),
              "");
    EXPECT_EQ(after("def f(a):\n    return a\nf(*[1, 2])"),
              "TypeError: f() takes 1 positional arguments but 2 were given");
    EXPECT_TRUE(after("ones(2).mul_(*[1, 2])").starts_with("TypeError: mul_() takes 1 positional"));
}

TEST(ProgramPython, TuplesAreKeysAndIndices) {
    EXPECT_EQ(after(R"py(
d = {(0, 1): "a", None: "b"}
d[(1, 2)] = "c"
assert d[0, 1] == "a" and d[None] == "b" and d[(1, 2)] == "c" and (0, 1) in d
for pair in zip([5], [6]):
    d[pair] = 1
assert d[(5, 6)] == 1 and f"{(1, 2)} {(1,)}" == "(1, 2) (1,)"
x = arange(6).reshape(3, 2)
assert x[[0, 2]].tolist() == [[0, 1], [4, 5]] and x[0, 1] == 1 and x[(2, 0)] == 4
assert x[[True, False, True]].tolist() == [[0, 1], [4, 5]] and x[[0, 2], [1, 0]].tolist() == [1, 4]
x[[0, 1]] = 9
assert x.tolist() == [[9, 9], [9, 9], [4, 5]]
assert tuple([1, 2]) + (3,) == (1, 2, 3) and divmod(7, 2) == (3, 1) and set([2, 1, 2]) == set([1, 2])
)py"),
              "");
    EXPECT_EQ(after("d = {}\nd[[0, 1]] = 1"), "TypeError: unhashable type: 'list'");
    EXPECT_EQ(after("a = (1, 2)\na[0] = 3"), "TypeError: 'tuple' object does not support item assignment");
    EXPECT_EQ(after("a = (1, 2)\na.append(3)"), "AttributeError: 'tuple' object has no attribute 'append'");
}

TEST(ProgramPython, PrintHasAnEnd) {
    const auto record = play_program(
        "if rank == 0:\n    print('a', 1, sep='-', end='')\n    print('b', flush=True)\n"
        "    print('c', end='')\n");
    std::vector<std::string> lines;
    for (const results::Event* event : record.evidence.each<results::RankLog>())
        if (const auto line = record.evidence.text(event->as<results::RankLog>()->line); line.size() < 5)
            lines.emplace_back(line);
    EXPECT_EQ(lines, (std::vector<std::string>{"a-1b", "c"}));
}

TEST(ProgramPython, ModulesHaveWhatIsThere) {
    EXPECT_EQ(after(R"py(
begun = time.time()
time.sleep(2)
assert time.perf_counter() - begun >= 2.0
assert os.path.join("shared", "a.pt") == "shared/a.pt" and os.getenv("NOTHING", "x") == "x"
assert math.log2(8) == 3.0 and math.log2(0.5) == -1.0 and math.pow(2, 3) == 8 and 0xff == 255
a = 1; b = 2
assert a + b == 3
with torch.no_grad():
    a += 1
assert a == 2
dist.all_reduce(ones(1), group=dist.group.WORLD)
assert "a  b c ".split() == ["a", "b", "c"] and "a,b,c".split(",", 1) == ["a", "b,c"]
assert "7".zfill(3) == "007"
assert "  a".lstrip() == "a" and "xax".strip("x") == "a" and "12".isdigit() and "aba".count("a") == 2
sys.exit(0)
)py"),
              "");
    EXPECT_EQ(refusal_of("x = time.time_ns()"),
              "1:5 name 'time' is not defined — now() is the time in seconds, and sleep(seconds) waits");
    EXPECT_TRUE(refusal_of("x = os.listdir('shared')").find("listdir(prefix)") != std::string::npos);
    EXPECT_TRUE(refusal_of("x = 1e-8").find("write 1/65536") != std::string::npos);
    EXPECT_TRUE(refusal_of("barrier(device_ids=[0])").find("leave it out") != std::string::npos);
    EXPECT_TRUE(refusal_of("all_gather([], zeros(2), nothing=True)").find("'nothing'") != std::string::npos);
    std::vector<Mistake> mistakes;
    Source source;
    source.step = "o = []\nh = all_gather(o, zeros(2), nothing=True)";
    read_program(source, mistakes);
    EXPECT_EQ(mistakes.size(), 1u) << "one mistake is told once";
}

TEST(ProgramPython, TensorsHaveWhatStepsUse) {
    EXPECT_EQ(after(R"py(
x = tensor([3.0, 1.0, 2.0])
values, places = x.topk(2)
assert values.tolist() == [3.0, 2.0] and places.tolist() == [0, 2]
assert torch.topk(x, 1, largest=False)[1].tolist() == [1]
assert torch.maximum(x, tensor([2.0, 2.0, 2.0])).tolist() == [3.0, 2.0, 2.0]
assert torch.minimum(x, tensor([2.0, 2.0, 2.0])).tolist() == [2.0, 1.0, 2.0]
assert x.pow(2).tolist() == [9.0, 1.0, 4.0] and torch.pow(x, 2).tolist() == [9.0, 1.0, 4.0]
m = arange(6).reshape(2, 3)
assert m.index_select(1, tensor([2, 0])).tolist() == [[2, 0], [5, 3]]
assert m.gather(1, tensor([[0], [2]])).tolist() == [[0], [5]]
assert m.flip(0, 1).tolist() == [[5, 4, 3], [2, 1, 0]] and m.roll(1).tolist() == [[5, 0, 1], [2, 3, 4]]
assert m.roll(-1, 1).tolist() == [[1, 2, 0], [4, 5, 3]]
assert m.repeat(1, 2).tolist() == [[0, 1, 2, 0, 1, 2], [3, 4, 5, 3, 4, 5]]
assert tensor([1]).repeat(2).tolist() == [1, 1] and ones(2, 2).tril().tolist() == [[1.0, 0.0], [1.0, 1.0]]
assert ones(2, 2).triu(1).tolist() == [[0.0, 1.0], [0.0, 0.0]]
assert torch.outer(tensor([1, 2]), tensor([3, 4])).tolist() == [[3, 4], [6, 8]]
assert tensor([1, 3, 1]).bincount(5).tolist() == [0, 2, 0, 1, 0]
assert tensor([0, 2, 3]).nonzero().tolist() == [[1], [2]]
assert F.one_hot(tensor([0, 2]), 3).tolist() == [[1, 0, 0], [0, 0, 1]]
assert F.mse_loss(tensor([1.0, 3.0]), tensor([0.0, 1.0])).item() == 2.5
assert abs(F.cross_entropy(zeros(2, 4), tensor([0, 3])) - 1.38629) < 0.001
p = zeros(2)
p.grad = tensor([3.0, 4.0])
assert torch.nn.utils.clip_grad_norm_([p, zeros(1)], 1.0) == 5.0
assert abs(p.grad[0] - 0.6) < 0.001 and torch.nn.utils.clip_grad_norm_(p, max_norm=2.0) < 1.01
assert abs(p.grad[1] - 0.8) < 0.001
)py"),
              "");
}

TEST(ProgramPython, CollectivesOfListsGoOnBesideTheProgram) {
    EXPECT_EQ(after(R"py(
mine = tensor([rank])
parts = [tensor([-1]) for i in range(world_size)]
h = dist.all_gather(parts, mine, async_op=True)
h.wait()
assert [part.item() for part in parts] == [0, 1, 2, 3]
into = [tensor([-1]) for i in range(world_size)] if rank == 1 else None
h = dist.gather(mine, into, dst=1, async_op=True)
h.wait()
assert rank != 1 or [part.item() for part in into] == [0, 1, 2, 3]
h = dist.scatter(mine, into, src=1, async_op=True)
h.wait()
assert mine.item() == rank
)py",
                    four_ranks),
              "");
}

// Goal: dist.group.WORLD is a group like others, until there is none.
TEST(ProgramPython, TheDefaultGroupHasAHandle) {
    EXPECT_EQ(after(R"py(
world = dist.group.WORLD
assert world is not None and world.size() == world_size and world.rank() == rank
x = ones(1)
all_reduce(x, group=world)
assert x.item() == world_size and dist.get_rank(world) == rank and get_backend(group.WORLD) == "nccl"
assert get_process_group_ranks(torch.distributed.group.WORLD) == list(range(world_size))
try:
    x = None * ones(2)
except TypeError as error:
    assert str(error) == "unsupported operand type(s) for *: 'NoneType' and 'Tensor'"
barrier()
destroy_process_group(world)
assert not is_initialized() and dist.group.WORLD is None
sys.exit(0)
)py"),
              "");
    const std::string aborted = after(R"py(
if rank == 0:
    work = all_reduce(ones(1), async_op=True)
    dist.group.WORLD.abort()
    work.wait()
)py");
    EXPECT_NE(aborted.find("abort"), std::string::npos) << aborted;
    EXPECT_EQ(aborted.find("AttributeError"), std::string::npos) << aborted;
}

}  // namespace
}  // namespace deadrank::tests

// tests/sim/program/program_language_test.cpp — Goal: classes, functions as values, indices, formats and the
// rest of Python that programs of training jobs use mean what they mean in Python and torch.
#include <algorithm>
#include <gtest/gtest.h>

#include "scenarios/program/program_words.h"
#include "sim/program/program_tensor.h"
#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

// Goal: objects have attributes and methods, and may go on from a class.
TEST(ProgramLanguage, HasClassesAndAttributes) {
    EXPECT_EQ(last_words(play_program(R"py(
class Parameter:
    """What a model holds."""
    def __init__(self, size, sharded=False):
        self.data = zeros(size)
        self.grad: None = None
        self.sharded = sharded
    def step(self, rate=0.5):
        self.data = self.data - self.grad * rate
        return self

class Counted(Parameter):
    def step(self, rate=0.5):
        self.steps = getattr(self, "steps", 0) + 1
        return Parameter.step(self, rate)
    def __len__(self):
        return len(self.data)
    def __call__(self, x):
        return x + self.steps
    def __getitem__(self, place):
        return self.data[place]

p = Counted(2, sharded=True)
p.grad = ones(2)
assert p.step().step(rate=1.0) is p
assert p.data.tolist() == [-1.5, -1.5] and p.steps == 2 and p.sharded and len(p) == 2
assert p(1) == 3 and p[0] == -1.5
assert isinstance(p, Parameter) and isinstance(p, Counted) and not isinstance(Parameter(1), Counted)
assert hasattr(p, "grad") and not hasattr(p, "nothing") and getattr(p, "nothing", 7) == 7
q = p
q.steps += 5
assert p.steps == 7
setattr(p, "name", "w")
assert p.name == "w"
state = SimpleNamespace(step=3, best=None)
state.step += 1
assert state.step == 4 and state.best is None
x = ones(2)
x.grad = x * 2
x.sequence_parallel = True
assert x.grad[0] == 2.0 and x.sequence_parallel and not hasattr(x.view(2), "sequence_parallel")
assert ones(1).grad is None
y = zeros(2)
x.data = y
y[0] = 9
assert x[0] == 9.0 and x.sequence_parallel
del x.sequence_parallel
assert not hasattr(x, "sequence_parallel")
a = SimpleNamespace(other=None)
a.other = SimpleNamespace(other=a)
assert a.other.other is a
save(state, "shared/state")
assert load("shared/state").step == 4
)py")),
              "");
}

// Goal: a function is a value, and one within another reads that one's names when it is called.
TEST(ProgramLanguage, HasFunctionsAsValues) {
    EXPECT_EQ(last_words(play_program(R"py(
hooks = []
def register(hook):
    hooks.append(hook)
def counter(start):
    count = start
    def more(by=1):
        nonlocal count
        count += by
        return count
    return more
one_more = counter(10)
other = counter(0)
assert one_more() == 11 and one_more(by=4) == 15 and other() == 1
register(lambda x: x * 2)
register(one_more)
assert [hook(3) for hook in hooks] == [6, 18]
fs = [lambda x, i=i: x + i for i in range(3)]
assert [f(10) for f in fs] == [10, 11, 12]
late = []
for i in range(3):
    late.append(lambda: i)
assert [f() for f in late] == [2, 2, 2]
assert sorted([3, -5, 1], key=lambda x: abs(x)) == [1, 3, -5]
assert max([1, -4], key=abs) == -4
assert map(str, [1, 2]) == ["1", "2"] and filter(None, [0, 3]) == [3]
table = {"double": lambda x: 2 * x, "abs": abs}
assert table["double"](4) == 8 and table["abs"](-4) == 4
def apply(f, x: int = 1) -> int:
    return f(x)
assert apply(lambda y: y + 1) == 2 and apply(x=3, f=abs) == 3
)py")),
              "");
}

TEST(ProgramLanguage, HasTheStatementsOfTrainingCode) {
    EXPECT_EQ(last_words(play_program(R"py(
a = b = [1]
assert a is b
x: int = 1_000
pairs = [(1, (2, 3)), (4, (5, 6))]
assert [i + j + k for i, (j, k) in pairs] == [6, 15]
assert [(i, j) for i in range(3) for j in range(i)] == [[1, 0], [2, 0], [2, 1]]
assert {k: v * 2 for k, v in {"a": 1, "b": 2}.items() if v > 1} == {"b": 4}
assert sum(i for i in range(4)) == 6
for k in {"a": 1}:
    assert k == "a"
else:
    a.append(2)
for i in range(3):
    if i == 1:
        break
else:
    a.append(3)
assert a == [1, 2]
assert [1, 2, 3, 4, 5][::2] == [1, 3, 5] and [1, 2, 3][::-1] == [3, 2, 1] and "abcd"[1:4:2] == "bd"
del a[0]
assert a == [2]
said = []
try:
    try:
        raise KeyError("k")
    except (ValueError, LookupError) as error:
        said.append(error)
        raise RuntimeError("again") from error
    finally:
        said.append("finally")
except RuntimeError as error:
    said.append(str(error))
else:
    said.append("else")
assert said == ["k", "finally", "again"]
class NothingToTrain(RuntimeError):
    pass
try:
    raise NothingToTrain("rank 3")
except ValueError:
    said = "wrong"
except RuntimeError as error:
    said = error
assert said == "rank 3"
class Lock:
    def __init__(self):
        self.held = 0
    def __enter__(self):
        self.held += 1
        return self
    def __exit__(self, kind, error, trace):
        self.held -= 1
        return kind == "ValueError"
lock = Lock()
with lock as held:
    assert held.held == 1
    raise ValueError("swallowed")
assert lock.held == 0
assert f"{3.14159:.2f} {7:03d} {1234567:,} {'a':>3}" == "3.14 007 1,234,567   a"
assert f"{-1.5:+} {5:x} {0.25:.0%} {x=} {'q'!r}" == "-1.5 5 25% x=1000 'q'"
assert 1e-3 == 0.001 and 2.5e2 == 250.0 and 6 & 3 == 2 and 6 | 3 == 7 and 6 ^ 3 == 5
assert 1 << 4 == 16 and ~0 == -1
assert round(2.5) == 2 and round(1.2345, 2) == 1.23 and reversed([1, 2]) == [2, 1] and dict(a=1) == {"a": 1}
assert torch.tensor([1.0]).dtype == "torch.float32" and math.floor(-1.5) == -2 and math.sqrt(9) == 3.0
assert nan != nan and not nan == nan and isnan(inf - inf) and inf * 0.5 == inf and -inf < 0
)py")),
              "");
}

// Goal: tensors are indexed, reduced and multiplied as torch does it.
TEST(ProgramLanguage, TensorsAreIndexedAndReducedAsTorchDoes) {
    EXPECT_EQ(last_words(play_program(R"py(
x = arange(6).reshape(2, 3).float()
assert x[:, 1].tolist() == [1.0, 4.0] and x[0, 1:].tolist() == [1.0, 2.0] and x[1, ::2].tolist() == [3.0, 5.0]
x[:, 0] = 9
assert x.tolist() == [[9.0, 1.0, 2.0], [9.0, 4.0, 5.0]]
assert x[x > 4].tolist() == [9.0, 9.0, 5.0] and ((x > 4) & (x < 9)).sum() == 1 and (~(x > 4)).sum() == 3
x[x > 8] = 0
assert x[arange(2), tensor([2, 1])].tolist() == [2.0, 4.0] and x[None].shape == [1, 2, 3]
x[0] += 1
x[:, 2] += 10
assert x.tolist() == [[1.0, 2.0, 13.0], [0.0, 4.0, 15.0]]
assert x.sum(dim=0).tolist() == [1.0, 6.0, 28.0] and x.mean(dim=1, keepdim=True).shape == [2, 1]
values, places = x.max(dim=1)
assert values.tolist() == [13.0, 15.0] and places.tolist() == [2, 2] and x.argmax() == 5
assert (x @ x.t()).shape == [2, 2] and tensor([1.0, 2.0]) @ tensor([3.0, 4.0]) == 11.0
assert x.transpose(0, 1).shape == [3, 2] and x.permute(1, 0)[2].tolist() == [13.0, 15.0]
assert tensor([3, 1, 2]).sort()[0].tolist() == [1, 2, 3]
assert tensor([3, 1, 2]).argsort(descending=True).tolist() == [0, 2, 1]
assert tensor([-2.0, 3.0]).clamp(min=0, max=2).tolist() == [0.0, 2.0] and tensor([-2.0]).abs()[0] == 2.0
assert exp(0.0) == 1.0 and abs(exp(1.0) - 2.71828) < 0.001 and abs(math.log(10.0) - 2.30259) < 0.001
assert torch.log(tensor([0.0]))[0] == -inf
assert isnan(tensor([-1.0]).sqrt()[0]) and tensor([0.0]).exp()[0] == 1.0
assert tensor([1.0, 2.0]).softmax().sum() > 0.999 and tensor([1.0, 3.0]).std() > 1.41
assert abs(2.0 ** 1.5 - 2.828) < 0.001
assert where(tensor([1, -1]) > 0, tensor([5, 5]), 0).tolist() == [5, 0]
assert isnan((tensor([0.0]) / 0.0)[0]) and (tensor([1.0]) / 0.0)[0] == inf
assert tensor([nan, 1.0]).isnan().tolist() == [1, 0]
assert cat([ones(2, 1), zeros(2, 1)], dim=1).chunk(2, dim=1)[1].tolist() == [[0.0], [0.0]]
assert stack([ones(2), zeros(2)], dim=1).shape == [2, 2]
w = ones(2)
w.mul_(3).add_(1)
assert w.tolist() == [4.0, 4.0] and w.allclose(tensor([4.0, 4.0]))
assert tensor([1.0, 2.0]).cumsum().tolist() == [1.0, 3.0]
assert sorted(Generator(7).randperm(4).tolist()) == [0, 1, 2, 3]
g = Generator(7)
g.randint(5)
state = g.get_state()
first = g.randint(1000)
g.set_state(state)
assert g.randint(1000) == first and Generator(1).randint(1000000) != Generator(2).randint(1000000)
)py")),
              "");
}

TEST(ProgramLanguage, RefusesInTheWordsOfPythonAndTorch) {
    const std::pair<const char*, const char*> cases[] = {
        {"x = ones(2, 3) @ ones(2, 3)",
         "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"},
        {"x = ones(2, 2)\nx = x @ ones(2, 2, dtype=\"float16\")",
         "RuntimeError: expected m1 and m2 to have the same dtype, but got: torch.float32 != torch.float16"},
        {"x = ones(3)[ones(2) > 0]",
         "IndexError: The shape of the mask [2] at index 0 does not match the shape of the indexed tensor "
         "[3] "
         "at index 0"},
        {"x = ones(3)[0, 0]", "IndexError: too many indices for tensor of dimension 1"},
        {"x = arange(2)\nx += 0.5",
         "RuntimeError: result type Float can't be cast to the desired output type Long"},
        {"x = ones(2).narrow(0, 1, 2)", "RuntimeError: start (1) + length (2) exceeds dimension size (2)."},
        {"x = ones(2)\nx.shape = [3]",
         "AttributeError: attribute 'shape' of 'torch._C.TensorBase' objects is not writable"},
        {"x = SimpleNamespace(a=1)\ny = x.shape",
         "AttributeError: 'SimpleNamespace' object has no attribute 'shape'"},
        {"f = 3\nf()", "TypeError: 'int' object is not callable"},
        {"def f(a, b=1):\n    return a\ng = f\ng(1, 2, 3)",
         "TypeError: f() takes 2 positional arguments but 3 were given"},
        {"g = lambda a: a\ng(b=1)", "TypeError: <lambda>() got an unexpected keyword argument 'b'"},
        {"with 3:\n    pass", "TypeError: 'int' object does not support the context manager protocol"},
        {"x = all_gather_object(lambda: 1)", "TypeError: cannot pickle 'function' object"},
        {"raise SystemError", "SystemError"},
        {"all_to_all_single(zeros(3), ones(3))",
         "RuntimeError: Tensor's dim 0 does not divide equally across group size"},
        {"all_to_all_single(zeros(3), ones(3), [1, 2], [2])",
         "RuntimeError: Number of tensor splits not equal to group size"},
        {"all_to_all_single(zeros(3), ones(3), [1, 1], [1, 2])",
         "RuntimeError: Split sizes doesn't match total dim 0 size"},
        {"broadcast(ones(1), group_src=2)", "ValueError: Group rank 2 is not part of group default_pg"},
        {"init_device_mesh(\"cuda\", (2, 2))",
         "RuntimeError: Mesh should not be bigger than default world size 2, but found 4 ranks!"},
        {"all_reduce(tensor([0.5]), op=\"prod\")",
         "ValueError: a product over ranks of decimals that are not whole is not known here"},
    };
    for (const auto& [step, words] : cases) EXPECT_EQ(last_words(play_program(step)), words) << step;
}

TEST(ProgramLanguage, HasTheMathematicsOfSchedules) {
    const char* step = R"py(
near = lambda a, b: abs(a - b) < 0.00005
assert near(math.pi, 3.14159) and near(math.e, 2.71828) and near(math.tau, 6.28319)
assert math.cos(0) == 1.0 and math.sin(0) == 0.0
assert near(math.cos(math.pi), -1) and near(sin(math.pi / 2), 1)
assert near(math.cos(1), 0.5403) and near(math.sin(1), 0.84147) and near(math.sin(-2.5), -0.59847)
assert near(math.cos(100.0), 0.86232) and near(math.cos(-7.25), 0.56792) and near(math.sin(4), -0.7568)
assert math.sqrt(9) == 3.0 and near(math.exp(1), math.e) and near(math.log(math.e), 1)
assert math.floor(2.5) == 2 and math.ceil(2.1) == 3 and math.isnan(nan) and math.isinf(-math.inf)
assert not math.isinf(1) and not isinf(nan)
assert math.isfinite(2.5) and not math.isfinite(inf)
t = torch.cos(tensor([0.0, math.pi]))
assert t[0] == 1.0 and near(t[1], -1) and near(tensor([1.0]).sin()[0], 0.84147)
pi = 3
assert pi == 3 and math.pi > 3.1
)py";
    EXPECT_EQ(last_words(play_program(step)), "");
    EXPECT_EQ(last_words(play_program("math.cos(inf)")), "ValueError: math domain error");
}

TEST(ProgramLanguage, ShapesAreBroadcastAndMultipliedAsInTorch) {
    const char* step = R"py(
a = tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
assert (a @ tensor([1.0, 10.0])).tolist() == [21.0, 43.0, 65.0]
assert (tensor([1.0, 1.0, 1.0]) @ a).tolist() == [9.0, 12.0]
assert (a + tensor([10.0, 20.0])).tolist() == [[11.0, 22.0], [13.0, 24.0], [15.0, 26.0]]
assert (a * tensor([[1.0], [0.0], [2.0]])).tolist() == [[1.0, 2.0], [0.0, 0.0], [10.0, 12.0]]
assert (ones(3, 1) + ones(1, 2)).shape == [3, 2] and (ones(2, 1, 3) * ones(4, 1)).shape == [2, 4, 3]
a += tensor([1.0, 0.0])
assert a[0].tolist() == [2.0, 2.0]
)py";
    EXPECT_EQ(last_words(play_program(step)), "");
    EXPECT_EQ(last_words(play_program("ones(3, 2) + ones(3)")),
              "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton "
              "dimension 1");
}

// Goal: the table of words and the methods of tensors are the same, so that no page tells of what is not
// there.
TEST(ProgramLanguage, EveryWordOfATensorIsThere) {
    std::vector<std::string> known;
    for (const auto& part :
         {sim::program::shape_methods(), sim::program::element_methods(), sim::program::reduction_methods(),
          sim::program::place_methods(), sim::program::view_methods()})
        for (const auto& method : part) known.emplace_back(method.name);
    for (const std::string_view word : sim::program::words_of_places) known.emplace_back(word);
    for (const std::string_view word : sim::program::words_of_chance) known.emplace_back(word);
    std::vector<std::string> words = {};
    for (const auto& word : scenarios::program::method_words())
        if (word.of == "tensor" && word.name() != "grad") words.push_back(word.name());
    std::sort(known.begin(), known.end());
    std::sort(words.begin(), words.end());
    EXPECT_EQ(known, words);
}

}  // namespace
}  // namespace deadrank::tests

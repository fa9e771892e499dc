// runners/manual/program_page.cpp — How a scenario writes its rank's program: the language, all that may be
// called, how faults reach it, and scenarios as a whole.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runners/manual/manual_pages.h"
#include "runners/manual/markdown.h"
#include "scenarios/program/program_examples.h"
#include "scenarios/program/program_words.h"

namespace deadrank::runners::manual {

namespace {

using namespace scenarios::program;

constexpr std::string_view language = R"(## The language

`setup` runs once on each rank, `step` in each of `steps`, `finish` after the last one. Write them between
`'''`, so that backslashes and quotes stay as they are. They share their names: what `setup` assigns,
`step` reads and changes.

It is a strict part of Python: what is there means what it means in Python.
)";

constexpr TableRow language_rows[] = {
    {"values",
     "whole numbers of 64 bits; decimals in steps of 1/65536, `inf` beyond 2^45, `nan`: one that stands in "
     "the "
     "program is rounded to the nearest step, what is calculated is cut; "
     "`True`, `False`, `None`; texts, lists, tuples, dicts, tensors, functions, objects. A tuple "
     "is a list that nothing changes, and equals one; numbers, texts, None and tuples are keys"},
    {"statements",
     "`a, (b, c) = …`, `a = b = 0`, `x[i] = …`, `x.name = …`, `+=` and its kin, `del`; "
     "`if`, `elif`, `else`; `for`, `while`, both with `else`; `break`, `continue`, `pass`;"
     " `assert`; `raise Name(\"…\")`, `raise`; `try`, `except (A, B) as error`, `else`, `finally`; "
     "`with`; `global`, `nonlocal`"},
    {"expressions",
     "`+ - * / // % ** @ & \\| ^ ~ << >>`, comparisons, `in`, `is`, `and`, `or`, `not`, `a "
     "if c else b`; `x[1:8:2]`, `x[:, 0]`, `x[x > 0]`; lists and dicts with `for` and "
     "`if`; f-strings with formats, `{loss:.3f}`; `lambda`"},
    {"functions",
     "`def` with defaults, found once where the def stands, and types (which say nothing), also "
     "within another one; functions are values, and read the names around them when they are called: those "
     "of "
     "the call that made them, as a closure does"},
    {"classes",
     "methods, values of the class itself (`scale = 1.0`, also `Name.scale = 2`), `__init__`, one base, "
     "`__iter__` and `__next__`, which ends with `raise StopIteration`, `__call__`, `__enter__` and "
     "`__exit__`, "
     "`__getitem__`, `__setitem__`, `__contains__`, `__len__`, `__bool__`, `__str__`, `__repr__`, "
     "`__eq__`, `__lt__` and its kin, `__add__` and its kin; other names between double underscores are "
     "refused. `SimpleNamespace(a=1)` is an object without a class. A tensor has attributes too: `x.grad = "
     "y`"},
    {"not there",
     "imports, generators (`sum(x for x in y)` makes a list first), decorators, `{1, 2}`, "
     "`def f(*args)`, `f(**fields)`, `:=`, `super()` (write `Base.method(self)`), "
     "`%` between texts"},
};

constexpr std::string_view after_language = R"(
`torch.`, `dist.`, `math.` and `F.` before a word may stand or be left out: `dist.all_reduce(x,
op=dist.ReduceOp.SUM)` is `all_reduce(x)`, and `torch.exp(x)` is `x.exp()`. `time.time()` is now(),
`time.sleep` sleep(), `sys.exit()` exit(0) and `os.getenv` env(); `os.path.join`, `os.path.exists`,
`os.makedirs`, `os.rename`, `os.remove`, `os.environ`, `os.kill`, `os.getpid`, `os.abort`, `os._exit`,
`signal.signal`, `atexit.register` and `functools.reduce` are there too. Among arguments and in a list a
method may be a value: `stream.launch(handle.wait)`. There is one thread a rank; `async_op=True`, `isend`,
streams and `Popen` are what goes on beside it.

```python
class Parameter:
    def __init__(self, data, sequence_parallel=False):
        self.value, self.grad, self.hooks = data, zeros_like(data), []
        self.sequence_parallel = sequence_parallel

parameters = {name: Parameter(zeros(4), "norm" in name) for name in ("norm.weight", "mlp.weight")}
for name, parameter in parameters.items():
    if parameter.sequence_parallel:
        parameter.hooks.append(lambda p: all_reduce(p.grad, group=tp))
```

All is checked before anything runs: a name that is nowhere assigned, a function that does not exist, an
argument too many, a def that changes an outer name with `+=` and lacks `global`. The message has the file,
line and column, and the nearest known word. What only a run shows ends the rank with Python's exception,
and the log says in which line. `statements` bounds a loop without an end; calls, blocks and expressions may
nest about ninety levels deep. A word of which only certain ones will do (a level, a reduction, an element
type, a phase, a time) is checked as well, where it stands as a text.

A def or a class may have the name of a built-in, `def gather(x)`, and hides it in all texts, but for `seam`,
`block` and `phase`. A variable may too, and a call of that name still means the function. `__exit__` is
called with three arguments, as in Python: the name of what was raised and its text, or None, and None.

**Exceptions.** `except` knows Python's families (`FileNotFoundError` is an `OSError`, `KeyError` a
`LookupError`), and takes `DistBackendError`, `DistStoreError`, `DistNetworkError`, `OutOfMemoryError` and a
library's own lines for a `RuntimeError`. What is caught as `error` is its text. A wait that the watchdog
ends is not raised: it ends the process. A class of the program may be raised, and goes on from one of
Python's: `class NothingToTrain(RuntimeError): pass`.

Shapes go together as in torch: `x @ y` of one or two dimensions each, and element by element a dimension
that is 1 or missing is repeated.

**Differences from torch.** An index of a one-dimensional tensor is a number, and so are `x.sum()`, `x.max()`
and their kin: they lie nowhere, and no call takes them (`x.sum(dim=0)` of a vector is a tensor without
dimensions). A slice, a row, a column `x[:,
0]`, `x[::2]`, `chunk`, `split`, `narrow`, `t`, `transpose`, `permute`, `expand` and `view` share memory
with the whole, as in torch; a mask and a list of places are copies. Elements of such a view need not follow
each other: `is_contiguous()` says so, `contiguous()` copies, and `reshape`, `flatten`, `unsqueeze` and
`squeeze` of it are copies. `clone()`, `zeros_like` and its kin, and what is computed for each element, keep
the order in memory of a transposed tensor, as torch's preserve_format does. NCCL refuses it in collectives,
`ValueError: Tensors must be contiguous`, and so does gloo, but for `broadcast`, `reduce` and `scatter`,
which take as many elements as there are from behind the first one, as `send` and `recv` do with both. `+`
and its kin make a new tensor, `+=` changes the one that is there. float16 and bfloat16 round to their bits,
also what comes of a call, and float16 is inf beyond 65504; float8_e4m3fn and float8_e5m2 are there for
casts, gather and messages, and refuse operators and reductions: the one has four significant bits and is
nan beyond 448, the other three and is inf beyond 57344. Nothing clamps but `clamp`. float64 has no more
than float32, whose elements have the steps of all decimals.
Comparisons, `a == b` too, give int8 for each element, which indexes as a mask. Tensors of size 0 are there:
`empty(0)`, `x[6:6]`, their sum is 0 and their mean nan. A shape is a list or several numbers, also of `rand`
and `randn`. A call without a group, or with `group=None`, is one of the world. Ranks in calls (`src`, `dst`,
`new_group`) are those of the world, `group_src` and `group_dst` places in the group; who is no member of a
group still learns its ranks, by `get_process_group_ranks`. A rank's own
arguments are checked as torch checks them; whether ranks agree, only the library finds out. There is no
autograd: write the gradient.
)";

constexpr std::string_view devices = R"(## Devices

A program that puts no tensor on a device need not think of where they lie: they go together, and calls take
them. `device="cpu"`, `x.cpu()` and `load(path, map_location="cpu")` change nothing for other tensors; the one
that they give lies in the node's memory. Any word that says cuda concerns all tensors of the program:
`zeros(4, device="cuda")`, `x.cuda()`, `x.to("cuda:1")`, `set_default_device("cuda")`, `load(path,
map_location="cuda")`; also `x.to(name)` and `device=name`, where a cuda device stands as a text elsewhere in
the program or in `let`. What `allocate`, `set_device` and `init_device_mesh` name does not count. Then

)";

constexpr TableRow device_rows[] = {
    {"a new tensor", "lies in the node's memory, if no device is stated"},
    {"an operation",
     "wants its tensors on one device, or refuses: `RuntimeError: Expected all tensors to be on the same "
     "device, but found at least two devices, cuda:0 and cuda:1!` A number without dimensions is taken along "
     "from the node's memory; `copy_` and `x[i] = y` copy between devices"},
    {"a call of NCCL",
     "moves what lies on a device: `RuntimeError: No backend type associated with device type cpu`, and a "
     "warning names the line in which the tensor was made without a device; and on the one that the rank "
     "used when the group was made: `DistBackendError: Attempt to perform collective "
     "on tensor not on device passed to init_process_group`. A group with `backend=\"gloo\"` moves all"},
    {"`load`, and objects of other ranks",
     "give tensors that lie where they lay; of a device that the rank does not see, `RuntimeError: "
     "Attempting to deserialize object on CUDA device 3 but torch.cuda.device_count() is 2. …`. They open a "
     "context there, also of what nobody picks out of a list"},
    {"a world that was told no device",
     "with `start = \"own\"`: neither by `init_process_group(device_id=local_rank)` nor by set_device before "
     "it. The first call makes its communicator, over the device of its first tensor, or the one in use "
     "then. A barrier takes the one in use where set_device was called or something lies there; otherwise it "
     "guesses the number of the rank among those that it sees, and warns: `using GPU 1 as device used by "
     "this process is currently unknown`"},
    {"another device in use",
     "`with torch.cuda.device(n):` and `set_device(n)` after the group was made change where `\"cuda\"`, "
     "compute() and new groups go, and nothing for a call: it moves its tensors over the communicator that "
     "is "
     "there, whichever device is in use, and refuses one that lies on another device than the "
     "communicator's. A group takes the device in use when it is made. What torch 2.3 did, which made the "
     "communicator of a first call on device 0 of every rank, is not played"},
    {"an index out of range",
     "in `cross_entropy`, `index_select`, `gather` and `x[places]` of a tensor on a cuda device is not "
     "refused at once: the next call that reaches the device raises `torch.AcceleratorError: CUDA error: "
     "device-side assert triggered`, and so does each one after it. These are operations on tensors that lie "
     "there, `x.cpu()`, collectives, compute(), synchronize() and loss(). On the cpu it is an IndexError"},
    {"the first use of a device",
     "opens a context there, as CUDA does. On a device that is not the rank's own it takes `context_size` of "
     "that one's memory, and observers see it: device.bind. It stays, as does what was allocated there, when "
     "`set_device` moves on"},
};

constexpr std::string_view after_devices = R"(
`"cuda"` is the device that the rank uses. Numbers are those that CUDA_VISIBLE_DEVICES lets the process
see. Tensors take no device memory, unless `element_size` says what an element stands for: see
[memory](#memory-of-tensors). In a program with `start = "own"` that calls
`set_device` or says where tensors lie, the device in use is 0 on all ranks until `set_device`, as with
torch; with `start = "job"` it is the one that is meant for the rank.
)";

constexpr std::string_view lets = R"(## Settings of the program

`[workload.let]` holds names that the program reads. A whole number, `true`, a decimal and a text are
themselves; a list is a choice and `"3..9"` a range, which the seed decides; a text that begins with `[` or
`{` is a list or a dict: `lengths = ["[5, 8]", "[3, 7, 9]"]` is a choice of two lists. A name that the
program never reads is refused. `[heal.workload.let]` changes them for the healed run, and `[heal.workload]
step = '''…'''` may bring other code.
)";

constexpr std::string_view waiting = R"(## The job before

`earlier` is played once for each rank of a job that came before, as many as `earlier_ranks` says: what it
saves is there when `setup` begins. It knows `rank`, `world_size`, devices and variables of that job, and
what `let` holds in this run, makes no calls of other ranks, and shares functions alone with the other
texts. So a checkpoint can have been saved by 4 ranks and be loaded by 8. Nothing of it is seen, as of a
job of last week; only the files are there. With `start = "own"` meet the other ranks before you load.

## Calls that do not wait

A collective without `async_op` holds its rank up until the data has moved: the host waits as well, where
NCCL's own call would return and let the stream wait. With `async_op=True`, `isend` and `irecv` a call gives
a handle. Until its `wait()`:

| | |
|---|---|
| the input | is read when all members have come: what is written into it before that is sent |
| the output | is written when the data has moved; who reads it before finds what was there |
| the order | the collectives of a group follow each other: after `wait()` of one, all before it are done |
| without `wait()` | the result does not arrive |

What is read or overwritten too early is the race of many reports; the third example plays one.

**Messages** of one rank to another are taken in the order of their calls, whatever their `tag` is.
`sleep(0)` is allowed. `phase` may be called in `finish` too. **The time of a call** follows from the sizes:
a ring takes 2(n-1)/n of the bytes of an all_reduce over the slowest `link.bandwidth` on its way, and
transfers over one card of a node at the same time share it, as `nics` says.

)";

constexpr std::string_view reached = R"(## How faults reach it

Names that the program publishes are words of the scenario, and others are refused:

| in the program | in a fault |
|---|---|
| `if block("trim"): x = x[:n]` | `kind = "skip_block"`, `block = "trim"`: the condition is False |
| `n = seam("parts", len(x))` | `kind = "bend_value"`, `seam = "parts"`; also `refuse_value` |
| `phase("backward")` | `when = { phase = "backward" }` |
| `all_reduce(x)`, `save(…)` | `when = { before = "all_reduce" }`; faults of calls, links, files |
| `new_group([0, 1], name="tp")` | `when = { comm = "tp" }` |
| uneven `reduce_scatter`, `all_gather` | `before = "reduce"`, `before = "broadcast"`: what they become |
| `[workload.let] parts = 4` | `refuse_value` with `checks = "setting.let.parts"` |

All other faults act on the rank as on any other: `kill_rank`, `slow_rank`, `set_env` (read by `env`),
`skew_version` (read by `version`), `limit_memory`, `fill_storage`.

A value that is bent and a block that is skipped stay so from the fault's moment on, in later attempts too
and from their beginning: `until_step` or `lasts` ends it. What alters one call is not done again after a
restart. Blocks and seams of `earlier` are reached by faults that wait for no step.

What is known of a `skip_block` or a `bend_value` in the end is its rank, node and step, and the call before
which it acted, if `when` names one: `blames` can ask for these, not for a variable, a component or a shard.
A fault with `provokes = true` is not to be blamed, and that the process which it ends has crashed is no false
alarm; what others say for want of it is, unless `also` lists it.

Write the right line and the wrong one side by side, with a block between them; the control then runs the
right one. A check with `check(name, value, expected)` must compute what is expected from what the rank
really has.
)";

std::string functions_section() {
    std::string text = "## What it may call\n\n";
    std::string_view group;
    for (const BuiltinWord& word : builtin_words()) {
        if (word.group != group) {
            text += fmt::format("{}### {}\n\n", group.empty() ? "" : "\n", word.group);
            text += heading_row({"function", "meaning", "refuses with", "shows"});
        }
        group = word.group;
        text +=
            row({fmt::format("`{}`", word.signature), cell(word.what), cell(word.refuses), cell(word.shows)});
    }
    return text + "\n";
}

std::string names_section() {
    std::string text = "## Names that have a value\n\n" + heading_row({"name", "meaning"});
    for (const ConstantWord& word : constant_words())
        text += row({fmt::format("`{}`", word.name), cell(word.what)});
    text += "\n## Behind a dot\n\n" + heading_row({"of a", "word", "meaning"});
    for (const MethodWord& word : method_words())
        text += row({std::string(word.of), fmt::format("`{}`", word.signature), cell(word.what)});
    return text + fmt::format("\nElement types: {}.\n\n", quoted(type_names()));
}

std::string examples_section() {
    std::string text = "## Examples\n\n";
    for (const Example& example : examples()) {
        std::string_view toml = example.toml;
        if (toml.starts_with('\n')) toml.remove_prefix(1);
        text += fmt::format("### {}\n\n`{}.toml`\n\n```toml\n{}```\n\n", example.says, example.name, toml);
    }
    return text;
}

}  // namespace

std::string program_sections() {
    return std::string(language) + table_of({"", ""}, language_rows) +
           fmt::format("{}\n{}", after_language, devices) + table_of({"", ""}, device_rows) +
           fmt::format("{}\n{}{}\n{}{}{}\n{}\n", after_devices, memory_section(), lets, waiting,
                       stream_section(), telling_section(), reached) +
           functions_section() + names_section() + examples_section();
}

}  // namespace deadrank::runners::manual

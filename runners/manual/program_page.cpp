// runners/manual/program_page.cpp — How a scenario writes its rank's program: the language, all that may be
// called, how faults reach it, and two scenarios as a whole.
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

It is a strict part of Python. Values are whole numbers of 64 bits, decimals in steps of 1/65536 (beyond
2^45 they are `inf`), `True`, `False`, `None`, texts, lists, dicts and tensors; a tuple is a list.
Statements: assignment, also `a, b = …`, `x[i] = …` and `x += …`; `if`, `elif`, `else`; `for … in`;
`while`; `break`, `continue`, `pass`; `def` with defaults, `return`, `global`; `raise Name("…")`, `try`,
`except Name as error`, `finally`; `assert`. Expressions: `+ - * / // % **`, comparisons, `in`, `is`,
`and`, `or`, `not`, `a if c else b`, indices, slices, `[x for x in … if …]`, f-strings without formats,
calls with named arguments. There are no imports, classes, lambdas, generators, decorators or sets.

All is checked before anything runs: a name that is nowhere assigned, a function that does not exist, an
argument too many. The message has the file, line and column, and the nearest known word. What only a run
shows ends the rank with Python's exception, and the log says in which line. `statements` bounds a loop
without an end; calls, blocks and expressions may nest about ninety levels deep.

**Differences from torch.** An index of a one-dimensional tensor is a number. A slice, a row, `chunk`,
`split`, `reshape` and `view` share memory with the whole, as in torch; `+` and its kin make a new tensor,
`+=` changes the one that is there. Tensors are always contiguous. float16 and bfloat16 round to their
bits; float64 has no more than float32. Comparisons of tensors give int8. Ranks in calls (`src`, `dst`,
`new_group`) are those of the world. There is no autograd: write the gradient.
)";

constexpr std::string_view lets = R"(## Settings of the program

`[workload.let]` holds names that the program reads. A whole number, `true`, a decimal and a text are
themselves; a list is a choice and `"3..9"` a range, which the seed decides; a text that begins with `[`
or `{` is a list or a dict. A name that the program never reads is refused. `[heal.workload.let]` changes
them for the healed run, and `[heal.workload] step = '''…'''` may bring other code.
)";

constexpr std::string_view waiting = R"(## Calls that do not wait

With `async_op=True`, `isend` and `irecv` a call gives a handle, and the tensor must be left alone until its
`wait()`: the input is read and the output is written at some moment in between, and what is read
there before is the race of many reports. The collectives of a group follow each other: after `wait()` of
one, all before it are done. A result that is never waited for does not arrive.

## What becomes of what a program tells

| the program | found as |
|---|---|
| values of `check` differ | wrong_intermediate_value; after a load, resume_state_regression |
| digests differ within a group | replica_state_divergence; after a load, resume_state_regression |
| `samples(ids)`: one is read twice in an epoch, or a part never | wrong_sample_coverage |
| `loss(value)` is `nan` or `inf`, or grows without end | loss_nan_or_divergence |
| some ranks never enter a call | collective_deadlock_hang; with a time-out, collective_timeout_abort |
| some ranks enter it otherwise | collective_mismatch_error, or one of the two above |
| an exception in the words of torch about shapes, sizes, types | tensor_shape_or_dtype_error |
| `assert` | ci_or_test_failure |
| any other exception | framework_runtime_exception |

A rank that raises ends the job soon, so that others with the same fate may say nothing: where a whole
host is concerned, expect `blames = ["node"]`.
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
| `[workload.let] parts = 4` | `refuse_value` with `checks = "setting.let.parts"` |

All other faults act on the rank as on any other: `kill_rank`, `slow_rank`, `set_env` (read by `env`),
`skew_version` (read by `version`), `limit_memory`, `fill_storage`.

A value that is bent and a block that is skipped stay so from the fault's moment on: `until_step` or
`lasts` ends it.

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
    std::string text = "## Two examples\n\n";
    for (const Example& example : examples()) {
        std::string_view toml = example.toml;
        if (toml.starts_with('\n')) toml.remove_prefix(1);
        text += fmt::format("### {}\n\n`{}.toml`\n\n```toml\n{}```\n\n", example.says, example.name, toml);
    }
    return text;
}

}  // namespace

std::string program_sections() {
    return fmt::format("{}\n{}\n{}\n{}\n", language, lets, waiting, reached) + functions_section() +
           names_section() + examples_section();
}

}  // namespace deadrank::runners::manual

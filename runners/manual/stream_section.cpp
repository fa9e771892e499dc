// runners/manual/stream_section.cpp — Streams of a program, for people.
#include <string>
#include <string_view>

#include "runners/manual/manual_pages.h"
#include "runners/manual/markdown.h"

namespace deadrank::runners::manual {

namespace {

constexpr std::string_view begins = R"(## Streams

A program that names `Stream`, `Event`, `current_stream`, `synchronize` or `non_blocking` has streams, as
torch has them: what it does with tensors on a device is queued on the current stream, and the host goes on.
In all other programs an operation is done when it is called, and compute() holds the host up.

```python
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    compute("5ms")                                  # a kernel of so long
    weights.add_(update)
torch.cuda.current_stream().wait_stream(side)       # without it, the next line reads the old weights
output = weights * 2
```

)";

struct StreamRow {
    std::string_view of, is;
};

constexpr StreamRow stream_rows[] = {
    {"a kernel",
     "`compute(time)`, or an operation on a tensor that does not lie in the node's memory. It begins "
     "when what is before it on its stream is over, reads then, and writes when it ends. An operation"
     " takes 5 us, and 1 us for each MB that it touches; to make one longer, put compute() before it"},
    {"another stream",
     "runs beside it. It waits for nothing but `wait_stream`, `wait_event`, `event.wait()` and the "
     "`wait()` of a handle"},
    {"the host",
     "goes on, until it needs a number: `x.item()`, `x.sum()`, `x[0]`, `if x > 0`, `check`, `save` "
     "and all that shows or stores elements wait for the current stream, and for no other. It waits "
     "too where more than 1024 kernels are queued, and at the end of each step for the default stream"},
    {"a copy",
     "between the node's memory and a device takes 10 us, and 40 us for each MB. The host waits for "
     "it, unless `non_blocking=True` is said: then it may read too early, or overwrite what is still "
     "to be sent"},
    {"a call with `async_op=True`, `isend`, `irecv`",
     "begins when the current stream has come there, on a stream of its group. `wait()` makes the "
     "current stream wait, not the host. A call of NCCL without it holds the host up until it is over"},
    {"other calls, the store, files", "the host first lets all kernels end that wait for no other rank"},
    {"memory",
     "that no name holds any more is given out again at once, on the stream where it was allocated "
     "and for as many elements, with what is in it. Another stream that still reads there reads what "
     "comes next, unless `x.record_stream(stream)` said so. A call under way keeps its tensors until "
     "`wait()`"},
};

constexpr std::string_view ends = R"(
A race is won by whoever is earlier, which follows from the times and sizes alone: every run with this seed
has the same winner.

)";

}  // namespace

std::string stream_section() {
    std::string text = std::string(begins) + heading_row({"", ""});
    for (const StreamRow& one : stream_rows) text += row({std::string(one.of), std::string(one.is)});
    return text + std::string(ends);
}

}  // namespace deadrank::runners::manual

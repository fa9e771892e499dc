// runners/manual/memory_section.cpp — The memory that a program's tensors and communicators take, for people.
#include <string>
#include <string_view>

#include "runners/manual/manual_pages.h"
#include "runners/manual/markdown.h"

namespace deadrank::runners::manual {

namespace {

struct MemoryRow {
    std::string_view of, is;
};

constexpr std::string_view memory_begins = R"(## Memory of tensors

With `element_size = "1MiB"` each element of a float32 tensor stands for so much memory, and one of another
type for as much more or less as its bytes are: half of it for float16, twice for int64. So `zeros(1024)`
stands for 1 GiB, whatever else the program does with it. Without the setting no tensor takes any.

)";

constexpr MemoryRow memory_rows[] = {
    {"a storage",
     "counts from the call or operation that makes it until nothing refers to it any more: no name, list, "
     "dict, attribute, closure or call under way. Views, `x[2:4]` and `x.t()`, share that of the whole. What "
     "changes in place, `x += 1`, makes none"},
    {"where",
     "on the device on which the tensor lies; where the program says nothing of devices, on the one in use. "
     "On the cpu it takes the node's memory, which its ranks share"},
    {"what counts",
     "what operations, all_gather and `load` make, copies, gradients, and what comes with objects of other "
     "ranks, which lies where it lay there"},
    {"the cache",
     "what is let go is kept for the rank's next tensor, as by torch: observers, other processes and NCCL "
     "see "
     "the device as full as before. `empty_cache()` gives it back, and so does a tensor for which the device "
     "has too little. It has no holes: any free parts together are as good as one"},
    {"too much",
     "`torch.OutOfMemoryError: CUDA out of memory. Tried to allocate …`. all_gather asks before it sends, "
     "other calls and operations when they are done. An exception that was caught holds no tensors"},
    {"circles", "objects that hold each other stay until `gc.collect()`, which nothing calls by itself"},
    {"communicators",
     "with `communicator_size = \"1GiB\"` one of NCCL takes so much of its device with its first call, until "
     "destroy_process_group. A group that is only forgotten keeps it. Where the device has too little, also "
     "because the cache has the rest, the call is refused: `ncclUnhandledCudaError: Call to CUDA function "
     "failed. Last error: Failed to CUDA calloc async … bytes`"},
    {"the evidence",
     "memory.sample, at the beginning of each step, has the most that the device held since the one before. "
     "One that rises on all ranks alike is no symptom of its own before an allocation fails"},
};

}  // namespace

std::string memory_section() {
    std::string text = std::string(memory_begins) + heading_row({"", ""});
    for (const MemoryRow& one : memory_rows) text += row({std::string(one.of), std::string(one.is)});
    return text + "\n";
}

}  // namespace deadrank::runners::manual

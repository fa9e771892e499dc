// scenarios/program/program_words.cpp — The functions in the groups in which the manual shows them.
#include "scenarios/program/program_words.h"

#include <algorithm>

#include "scenarios/model/text.h"

namespace deadrank::scenarios::program {

namespace {

std::string_view name_in(std::string_view signature) { return signature.substr(0, signature.find('(')); }

constexpr std::string_view gather_words =
    "`ValueError: output tensor size must be equal to world_size times input tensor size`, `TypeError: "
    "output "
    "tensor must have the same type as input tensor`";
constexpr std::string_view scatter_words =
    "`ValueError: input tensor must be the same size as output size times world size`, `TypeError: output "
    "tensor must have the same type as input tensor`";
constexpr std::string_view no_group =
    "`ValueError: Default process group has not been initialized, …`; a group that the rank is not in is "
    "passed "
    "over with a warning, as torch does";
constexpr std::string_view calls = "collective.enter, collective.leave";
constexpr std::string_view messages = "p2p.enter, p2p.leave";

}  // namespace

std::string BuiltinWord::name() const { return std::string(name_in(signature)); }
bool BuiltinWord::variadic() const { return signature.find("(*") != std::string_view::npos; }

std::vector<ParameterWord> BuiltinWord::parameters() const {
    std::vector<ParameterWord> found;
    const auto open = signature.find('(');
    const std::string_view inside = signature.substr(open + 1, signature.size() - open - 2);
    if (inside.empty()) return found;
    for (std::string_view part : parts_of(inside, ',')) {
        while (part.starts_with(' ') || part.starts_with('*')) part.remove_prefix(1);
        const auto equals = part.find('=');
        found.push_back({std::string(part.substr(0, equals)), equals == std::string_view::npos});
    }
    return found;
}

std::string MethodWord::name() const { return std::string(name_in(signature)); }
bool MethodWord::called() const { return signature.find('(') != std::string_view::npos; }

namespace {

constexpr BuiltinWord builtins[] = {
    {"Python's", "abs(x)", "as Python's", "`TypeError: bad operand type for abs(): 'list'`"},
    {"Python's", "all(values)", "whether all of them are true"},
    {"Python's", "any(values)", "whether one of them is true"},
    {"Python's", "bool(x)", "whether it is true: not 0, not empty, not None"},
    {"Python's", "enumerate(values)", "a list of [place, value]"},
    {"Python's", "float(x)", "a decimal, in steps of 1/65536",
     "`ValueError: could not convert string to float: 'x'`"},
    {"Python's", "int(x)", "a whole number, cut toward zero",
     "`ValueError: invalid literal for int() with base 10: 'x'`"},
    {"Python's", "isinstance(x, type)",
     "whether it is a \"tensor\", \"list\", \"dict\", \"str\", \"int\", "
     "\"float\" or \"bool\""},
    {"Python's", "len(x)", "how many there are; of a tensor, its first dimension",
     "`TypeError: object of type 'int' has no len()`"},
    {"Python's", "list(values)", "a list of its own; of a dict, its keys in the order they came in"},
    {"Python's", "max(*values)", "the largest, of arguments or of one list",
     "`ValueError: max() arg is an empty sequence`"},
    {"Python's", "min(*values)", "the smallest", "`ValueError: min() arg is an empty sequence`"},
    {"Python's", "print(*values)", "a line of the rank's log", "", "rank.log"},
    {"Python's", "range(*ends)", "range(end), range(first, end), range(first, end, step)",
     "`ValueError: range() arg 3 must not be zero`"},
    {"Python's", "sorted(values, reverse=False)", "a sorted list of numbers or of texts",
     "`TypeError: '<' not supported between instances of 'str' and 'int'`"},
    {"Python's", "str(x)", "its text"},
    {"Python's", "sum(values)", "their sum; of a tensor, that of all its elements"},
    {"Python's", "zip(a, b)", "a list of pairs, as long as the shorter one"},

    {"Tensors", "tensor(values, dtype=None)",
     "of a list, or of a list of lists that are equally long; whole numbers become int64, others float32",
     "`ValueError: expected sequence of length 2 at dim 1 (got 3)`"},
    {"Tensors", "zeros(*size, dtype=\"float32\")", "zeros(4), zeros(2, 3) or zeros([2, 3])"},
    {"Tensors", "ones(*size, dtype=\"float32\")", "as zeros, of ones"},
    {"Tensors", "empty(*size, dtype=\"float32\")",
     "what the memory held: numbers that are different on each rank and mean nothing"},
    {"Tensors", "full(size, value, dtype=None)", "of one value"},
    {"Tensors", "arange(end)", "0, 1, 2, … as int64"},
    {"Tensors", "zeros_like(tensor)", "of its shape and type"},
    {"Tensors", "empty_like(tensor)", "as empty, of its shape and type"},
    {"Tensors", "cat(tensors, dim=0)", "one behind the other",
     "`RuntimeError: torch.cat(): expected a non-empty list of Tensors`, `RuntimeError: Sizes of tensors "
     "must "
     "match except in dimension 0. Expected size 2 but got size 3 for tensor number 1 in the list.`"},
    {"Tensors", "stack(tensors)", "one row each",
     "`RuntimeError: stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry "
     "1`"},

    {"Groups", "new_group(ranks, name=\"\")",
     "a communicator among these ranks. As torch has it, every rank of the world calls it for every "
     "group, "
     "in one order, and waits for the others; who is no member gets a handle that takes part in nothing",
     "`ValueError: Default process group has not been initialized, …`, "
     "`torch.distributed.DistStoreError: "
     "Timed out initializing process group in store based barrier on rank: …`",
     "rendezvous.enter, rendezvous.leave, comm.init.enter, comm.init.leave"},
    {"Groups", "get_rank(group=None)", "the rank's place in it; -1 where it is no member"},
    {"Groups", "get_world_size(group=None)", "how many members it has; -1 where the rank is none"},
    {"Groups", "init_process_group()",
     "with `start = \"own\"`: reads the environment, meets the others at the store and makes the world's "
     "communicator, as other workloads do before their first step",
     "all that start-up refuses", "rendezvous.enter, rendezvous.leave, comm.init.enter, comm.init.leave"},

    {"Collectives", "all_reduce(tensor, op=\"sum\", group=None, async_op=False)",
     "in place; op is sum, avg, max, min or prod", no_group, calls},
    {"Collectives", "broadcast(tensor, src, group=None)", "in place, from this rank of the world",
     "`ValueError: Global rank 5 is not part of group tp`", calls},
    {"Collectives", "reduce(tensor, dst, op=\"sum\", group=None)", "as all_reduce, for one rank alone",
     "`ValueError: Global rank 5 is not part of group tp`", calls},
    {"Collectives", "all_gather(tensor, group=None)",
     "a list of the members' tensors; all are taken to have the shape of one's own", no_group, calls},
    {"Collectives", "all_gather_into_tensor(output, input, group=None, async_op=False)",
     "one behind the other, into a tensor that is there", gather_words, calls},
    {"Collectives", "reduce_scatter_tensor(output, input, op=\"sum\", group=None, async_op=False)",
     "each member's part of the sum", scatter_words, calls},
    {"Collectives", "all_to_all_single(output, input, group=None)", "equal parts, one for each member",
     "`RuntimeError: Split sizes doesn't match total dim 0 size`, `ValueError: Tensors must be of equal "
     "type`",
     calls},
    {"Collectives", "barrier(group=None)", "until all members have come", no_group, calls},
    {"Collectives", "all_gather_object(value, group=None)",
     "a list of the members' values: numbers, texts, lists, dicts, tensors. Two calls, as torch makes: "
     "their "
     "lengths, then as much as the longest needs",
     "`RuntimeError: an object of another kind came`", calls},
    {"Collectives", "broadcast_object(value, src, group=None)", "the value of that rank; likewise two calls",
     "`ValueError: Global rank 5 is not part of group tp`", calls},

    {"Messages", "send(tensor, dst, tag=0, group=None)", "until the other one takes it",
     "`ValueError: Invalid destination rank: destination rank should not be the same as the rank of the "
     "current process.`",
     messages},
    {"Messages", "recv(tensor, src, tag=0, group=None)", "into a tensor that is there",
     "`ValueError: Invalid source rank: …`", messages},
    {"Messages", "isend(tensor, dst, tag=0, group=None)", "does not wait: the handle's wait() does", "",
     messages},
    {"Messages", "irecv(tensor, src, tag=0, group=None)", "likewise", "", messages},
    {"Messages", "group_start(group=None)", "until group_end, messages wait for each other only at its end"},
    {"Messages", "group_end(group=None)", "waits for all of them together"},

    {"Store", "store_set(key, value)", "at the rendezvous store, which all ranks share and rank 0 hosts",
     "`torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. …` once rank 0 has ended"},
    {"Store", "store_set_once(key, value)", "sets it where it has no value yet; what it holds then"},
    {"Store", "store_get(key, timeout=\"5m\")", "waits for it; a text",
     "`torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /key`"},
    {"Store", "store_add(key, amount)", "the sum after it: a counter"},
    {"Store", "store_check(key)", "whether it is set, without waiting"},

    {"Files", "save(value, path)",
     "written and synced, as state of the step under way; \"node0/…\" is that node's own disk",
     "`OSError: [Errno 28] No space left on device`, and other errors of the disk", "checkpoint.save"},
    {"Files", "load(path)", "what was saved there",
     "`FileNotFoundError: [Errno 2] No such file or directory: 'path'`, `RuntimeError: "
     "PytorchStreamReader "
     "failed reading zip archive: failed finding central directory`",
     "checkpoint.load"},
    {"Files", "resume_at(step)", "in setup: the first step to make, as after a load",
     "`ValueError: there is no step -1`"},
    {"Files", "exists(path)", "whether there is such a file"},
    {"Files", "listdir(prefix)", "all paths that begin so, sorted"},
    {"Files", "rename(old, new)", "at once, for all that look", "`FileNotFoundError: …`"},
    {"Files", "remove(path)", "", "`FileNotFoundError: …`"},

    {"Time and memory", "compute(time)", "the device is busy so long: \"10ms\", or seconds as a number", "",
     ""},
    {"Time and memory", "sleep(time)", "the process waits so long"},
    {"Time and memory", "now()", "seconds since the job's start, by the rank's own clock"},
    {"Time and memory", "allocate(size, device=None)", "device memory, \"1GiB\" or bytes; a handle",
     "`torch.OutOfMemoryError: CUDA out of memory. …`", "memory.sample, memory.oom"},
    {"Time and memory", "free(handle)", "gives it back", "`ValueError: invalid handle`"},

    {"Told to observers", "phase(name)",
     "the phase of the step that begins: data, forward, backward, reduce, optimizer, checkpoint or "
     "serve. A "
     "fault may wait for it",
     "", "phase.begin, phase.end"},
    {"Told to observers", "log(line, level=\"info\")",
     "a line of the rank's log; also \"warning\", \"error\"", "", "rank.log"},
    {"Told to observers", "loss(value)", "the step's loss", "", "step.end"},
    {"Told to observers", "grad_norm(value)", "the step's gradient norm", "", "step.end"},
    {"Told to observers", "samples(ids, epoch=0)",
     "the samples that this rank takes in this step. A sample that is read twice in one epoch is an alarm, "
     "so each pass over the data has an epoch of its own",
     "", "data.batch"},
    {"Told to observers", "digest(name, tensor, group=\"replica\")",
     "a digest of what all ranks that name this group should hold alike", "", "parameters.digest"},
    {"Told to observers", "config(name, value)", "a setting as this rank read it", "", "rank.config"},
    {"Told to observers", "value(name, value)", "a number that is logged", "", "value.sample"},
    {"Told to observers", "check(name, value, expected)",
     "a number beside what it should be by its definition. Compute `expected` from what the rank really "
     "has, "
     "never from what a fault did",
     "", "value.sample"},

    {"Chance and environment", "random(purpose, index, bound)",
     "a whole number below bound that the seed, this rank, its attempt, the purpose and the index "
     "decide, and "
     "nothing else",
     "`ValueError: bound must be positive`"},
    {"Chance and environment", "env(name, default=None)",
     "a variable of the process as a text, or the default"},
    {"Chance and environment", "version(package)",
     "the installed version, \"2.11.0\"; empty = not installed"},
    {"Chance and environment", "exit(code=1)", "ends the process", "", "rank.exit"},

    {"For faults", "seam(name, value)",
     "the value, unless a bend_value bends it. A whole number, a boolean, or a decimal, which is bent in "
     "65536ths. The name is a text that stands there"},
    {"For faults", "block(name)", "True, unless a skip_block skips it"},
};

}  // namespace

std::span<const BuiltinWord> builtin_words() { return builtins; }

int builtin_place(std::string_view name) {
    const auto words = builtin_words();
    const auto found = std::find_if(words.begin(), words.end(),
                                    [&](const BuiltinWord& word) { return name_in(word.signature) == name; });
    return found == words.end() ? -1 : static_cast<int>(found - words.begin());
}

namespace {

constexpr ConstantWord constants[] = {
    {"rank", "as RANK says; with start = \"own\", before init_process_group, the place in the launch"},
    {"world_size", "as WORLD_SIZE says; likewise"},
    {"node", "the node that the process runs on"},
    {"local_rank", "the index of its device"},
    {"step", "the step under way, from 0"},
    {"steps", "how many there are, as the setting says"},
    {"attempt", "0 at first, one more after each restart of the job"},
    {"inf", "beyond all numbers"},
};

}  // namespace

std::span<const ConstantWord> constant_words() { return constants; }

namespace {

constexpr MethodWord methods[] = {
    {"tensor", "shape", "its sizes, as a list"},
    {"tensor", "dtype", "\"torch.float32\", …"},
    {"tensor", "ndim", "1 or 2"},
    {"tensor", "reshape(*size)", "the same elements in another shape; -1 is what is left"},
    {"tensor", "view(*size)", "as reshape"},
    {"tensor", "flatten()", "in one dimension"},
    {"tensor", "chunk(chunks)", "a list of so many parts, or fewer, as torch cuts them"},
    {"tensor", "split(size)", "a list of parts of this size, or of these sizes"},
    {"tensor", "sum()", "a number"},
    {"tensor", "mean()", "a number"},
    {"tensor", "max()", "a number"},
    {"tensor", "min()", "a number"},
    {"tensor", "norm()", "the root of the sum of squares"},
    {"tensor", "item()", "its one element"},
    {"tensor", "tolist()", "a list, or a list of lists"},
    {"tensor", "numel()", "how many elements"},
    {"tensor", "size(*dim)", "shape, or one size"},
    {"tensor", "clone()", "a copy"},
    {"tensor", "to(dtype)", "of another type; float16 and bfloat16 round"},
    {"tensor", "copy_(other)", "the other one's elements, of the same shape"},
    {"tensor", "fill_(value)", ""},
    {"tensor", "zero_()", ""},
    {"list", "append(value)", ""},
    {"list", "extend(values)", ""},
    {"list", "insert(place, value)", ""},
    {"list", "pop(*place)", "also of a dict: pop(key) or pop(key, default)"},
    {"list", "index(value)", "its place"},
    {"list", "sort()", "in place"},
    {"list", "reverse()", "in place"},
    {"dict", "keys()", "a list, in the order they came in"},
    {"dict", "values()", "a list"},
    {"dict", "items()", "a list of [key, value]"},
    {"dict", "get(key, default=None)", ""},
    {"dict", "update(other)", ""},
    {"text", "split(separator)", "a list of texts"},
    {"text", "join(values)", "texts with this one between them"},
    {"text", "startswith(other)", ""},
    {"text", "endswith(other)", ""},
    {"text", "replace(old, new)", ""},
    {"text", "strip()", "without blanks at both ends"},
    {"handle", "wait()", "of an async call or isend, irecv"},
    {"handle", "is_completed()", ""},
    {"group", "ranks", "its members, as ranks of the world"},
    {"group", "name", ""},
};

}  // namespace

std::span<const MethodWord> method_words() { return methods; }

const std::vector<std::string>& phase_names() {
    static const std::vector<std::string> words = {"data",      "forward",    "backward", "reduce",
                                                   "optimizer", "checkpoint", "serve"};
    return words;
}

const std::vector<std::string>& type_names() {
    static const std::vector<std::string> words = {"float32", "float64", "float16", "bfloat16",
                                                   "int64",   "int32",   "int8"};
    return words;
}

}  // namespace deadrank::scenarios::program

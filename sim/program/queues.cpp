// sim/program/queues.cpp — What is queued, and what it reads and writes. A kernel is launched in 5 us and
// moves 1000 bytes a nanosecond; a copy between host and device takes 10 us and moves 25.
#include "sim/program/queues.h"

#include <algorithm>
#include <span>
#include <utility>

#include "scenarios/program/program_words.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

using Tensors = std::vector<std::shared_ptr<Tensor>>;

constexpr std::int64_t launch_ns = 5'000, copy_ns = 10'000, device_bytes_a_ns = 1000, host_bytes_a_ns = 25;

std::int64_t bytes_of(const Tensor& tensor) { return tensor.count() * element_bytes(tensor.dtype); }

// The tensors of a result, or of operands: itself, or those in a list.
void collect(const Value& value, Tensors& found, int depth = 0) {
    if (value.is(Type::tensor)) found.push_back(value.shared_tensor());
    if (value.is(Type::list) && depth < 3)
        for (const Value& item : value.list().items) collect(item, found, depth + 1);
}

Tensors tensors_of(const Value& value) {
    Tensors found;
    collect(value, found);
    return found;
}

Tensors tensors_of(const Arguments& values) {
    Tensors found;
    for (const Value& value : values) collect(value, found);
    return found;
}

const void* memory_of(const Tensor& tensor) {
    return tensor.strided ? tensor.strided->of.get() : tensor.memory.get();
}

bool share(const Tensors& made, const Tensors& operands) {
    return std::any_of(made.begin(), made.end(), [&](const auto& one) {
        return std::any_of(operands.begin(), operands.end(),
                           [&](const auto& other) { return memory_of(*one) == memory_of(*other); });
    });
}

Time kernel_time(const Tensors& touched) {
    std::int64_t bytes = 0;
    for (const auto& tensor : touched) bytes += bytes_of(*tensor);
    return Time(launch_ns + bytes / device_bytes_a_ns);
}

void copy_elements(const Tensor& from, const Tensor& into) {
    if (from.count() != into.count()) return;
    std::copy_n(from.data().begin(), from.count(), into.data().begin());
    into.flush();
}

}  // namespace

bool on_device(const Value& value, int depth) {
    if (value.is(Type::tensor)) return value.tensor().place != on_host;
    if (depth >= 3) return false;
    if (value.is(Type::list))
        return std::any_of(value.list().items.begin(), value.list().items.end(),
                           [&](const Value& item) { return on_device(item, depth + 1); });
    if (value.is(Type::dict))
        return std::any_of(value.dict().items.begin(), value.dict().items.end(),
                           [&](const auto& item) { return on_device(item.second, depth + 1); });
    return false;
}

Queues::Queues(Interpreter& rank)
    : rank_(rank), streams_(rank.world()), pool_(std::make_shared<MemoryPool>(streams_)) {}

void Queues::use_on(const Value& tensor, int stream) {
    if (auto* block = pool_->block_of(memory_of(tensor.tensor())); block && block->stream != stream)
        block->used_on.insert(stream);
}

// Until it is written, new memory holds what lay there.
void Queues::adopt(Tensor& made) {
    if (made.place == on_host || made.count() == 0) return;
    bool used_before = false;
    const std::size_t size = made.memory->size();
    made.memory = pool_->give(size, current_, used_before);
    if (!used_before) fill_unwritten(made);
}

void Queues::fill_unwritten(Tensor& made) {
    constexpr std::uint64_t spread = 1 << 12;
    for (Number& element : *made.memory) {
        const auto drawn = rank_.world().chance("program.empty", rank_.garbage_drawn++, spread);
        element =
            converted(static_cast<Number>(drawn) - static_cast<Number>(spread / 2), Dtype::i64, made.dtype);
    }
}

// The same memory, without a claim to it.
std::shared_ptr<Tensor> Queues::pinned(const Tensor& tensor) const {
    const auto storage = [&](const Memory& memory) {
        const auto* block = pool_->block_of(memory.get());
        return block ? block->storage : memory;
    };
    auto same = std::make_shared<Tensor>();
    same->memory = storage(tensor.memory);
    same->first = tensor.first;
    same->shape = tensor.shape;
    same->dtype = tensor.dtype;
    same->place = tensor.place;
    if (!tensor.strided) return same;
    same->memory = std::make_shared<std::vector<Number>>(tensor.memory->size(), 0);
    same->strided = std::make_shared<const Strided>(
        Strided{storage(tensor.strided->of), tensor.strided->first, tensor.strided->strides});
    return same;
}

// What lies on the host is read when the kernel is launched.
Value Queues::pinned(const Value& value, bool host_too) const {
    if (value.is(Type::tensor)) {
        const Tensor& tensor = value.tensor();
        return Value::of(tensor.place == on_host && !host_too ? cast(tensor, tensor.dtype) : pinned(tensor));
    }
    if (!value.is(Type::list) || !on_device(value)) return value;
    std::vector<Value> items;
    for (const Value& item : value.list().items) items.push_back(pinned(item, host_too));
    return value.list().fixed ? Value::new_tuple(std::move(items)) : Value::new_list(std::move(items));
}

Arguments Queues::pinned(const Arguments& operands) const {
    Arguments pins;
    for (const Value& value : operands) pins.push_back(pinned(value, false));
    return pins;
}

namespace {

// As memory is now, which may not be as it will be: nothing where that is refused.
std::optional<Value> tried(const Queues::Does& does, Arguments operands) {
    try {
        return does(operands);
    } catch (const RankFailure&) {
        return std::nullopt;
    }
}

bool any_on_device(const Arguments& operands) {
    return std::any_of(operands.begin(), operands.end(), [](const Value& value) { return on_device(value); });
}

}  // namespace

Value Queues::result(Arguments operands, const Does& does) {
    streams_.catch_up();
    const bool device = any_on_device(operands);
    const std::optional<Value> made = tried(does, operands);
    const Tensors tensors = made ? tensors_of(*made) : Tensors();
    if (!made || (tensors.empty() && device)) {
        if (device) wait_for_current();
        return does(operands);
    }
    const bool new_ones = !tensors.empty() && on_device(*made) && !share(tensors, tensors_of(operands));
    if (!new_ones) return *made;
    Arguments pins = pinned(operands);
    auto comes = std::make_shared<Value>();
    Tensors into, touched = tensors_of(operands);
    std::vector<Value> from_host;
    for (const auto& tensor : tensors) {
        if (!device) from_host.push_back(Value::of(cast(*tensor, tensor->dtype)));
        adopt(*tensor);
        into.push_back(pinned(*tensor));
        touched.push_back(into.back());
    }
    if (!device) *comes = Value::new_list(std::move(from_host));
    streams_.queue(current_, {.length = kernel_time(touched),
                              .begin =
                                  [=]() mutable {
                                      if (device) *comes = does(pins);
                                  },
                              .end =
                                  [=] {
                                      const Tensors from = tensors_of(*comes);
                                      for (std::size_t i = 0; i < std::min(from.size(), into.size()); ++i)
                                          copy_elements(*from[i], *into[i]);
                                  }});
    return *made;
}

Value Queues::by_content(Arguments operands, const Does& does) {
    streams_.catch_up();
    if (any_on_device(operands)) wait_for_current();
    return does(operands);
}

void Queues::change(const Value& target, Arguments operands, const Changes& changes, bool at_once) {
    streams_.catch_up();
    const Tensor& tensor = target.tensor();
    const bool device = tensor.place != on_host || any_on_device(operands);
    const Does on_copy = [&](Arguments& given) {
        const Value copy = Value::of(cast(tensor, tensor.dtype));
        changes(copy, given);
        return copy;
    };
    if (!device || !tried(on_copy, operands)) {
        if (device) wait_for_current();
        return changes(target, operands);
    }
    const Value into = Value::of(pinned(tensor));
    Tensors touched = tensors_of(operands);
    touched.push_back(into.shared_tensor());
    Arguments pins = pinned(operands);
    auto comes = std::make_shared<Value>();
    streams_.queue(current_, {.length = kernel_time(touched),
                              .begin =
                                  [=]() mutable {
                                      if (at_once) return;
                                      *comes = Value::of(cast(into.tensor(), into.tensor().dtype));
                                      changes(*comes, pins);
                                  },
                              .end =
                                  [=]() mutable {
                                      if (at_once) return changes(into, pins);
                                      copy_elements(comes->tensor(), into.tensor());
                                  }});
}

// Between the node's memory and a device the host waits, unless it is told to go on: then it may see, or
// change, what is still to be copied.
void Queues::copy(const Value& target, const Value& source, bool host_goes_on) {
    const bool crosses =
        source.is(Type::tensor) && (source.tensor().place == on_host) != (target.tensor().place == on_host);
    const auto assigns = [](const Value& into, Arguments& given) { assign(into.tensor(), given[0]); };
    if (!crosses) return change(target, {source}, assigns);
    streams_.catch_up();
    const Value trial = Value::of(cast(target.tensor(), target.tensor().dtype));
    assign(trial.tensor(), source);
    const Value into = Value::of(pinned(target.tensor())), from = pinned(source);
    auto comes = std::make_shared<Value>();
    const auto entry =
        streams_.queue(current_, {.length = Time(copy_ns + bytes_of(trial.tensor()) / host_bytes_a_ns),
                                  .begin =
                                      [=] {
                                          *comes = Value::of(cast(into.tensor(), into.tensor().dtype));
                                          assign(comes->tensor(), from);
                                      },
                                  .end = [=] { copy_elements(comes->tensor(), into.tensor()); }});
    if (!host_goes_on) streams_.wait(entry);
}

Value Queues::moved(const Value& source, Value made, bool host_goes_on) {
    const bool here = source.tensor().place == on_host && made.tensor().place == on_host;
    if (made.same_object(source) || here) return made;
    if (made.tensor().place == on_host) fill_unwritten(made.tensor());
    adopt(made.tensor());
    copy(made, source, host_goes_on);
    return made;
}

void Queues::look(const Value& value) {
    streams_.catch_up();
    if (on_device(value)) wait_for_current();
}

void Queues::kernel(Time length) {
    const Time real = rank_.world().device().queue(length);
    streams_.queue(current_, {.length = real});
}

std::shared_ptr<Handle> Queues::call(Comm& comm, Tensors held, const Calls& calls) {
    if (comm.moves_host_memory()) {
        for (const auto& tensor : held)
            if (tensor) look(Value::of(tensor));
        return nullptr;
    }
    const auto known = of_groups_.find(&comm);
    const int stream = known != of_groups_.end() ? known->second : streams_.make();
    of_groups_[&comm] = stream;
    Tensors pins;
    for (const auto& tensor : held) pins.push_back(tensor ? pinned(*tensor) : nullptr);
    auto handle = std::make_shared<Handle>();
    handle->kept = std::make_shared<Tensors>(std::move(held));
    handle->entry = streams_.queue(stream, {.after = {streams_.last(current_)},
                                            .end =
                                                [kept = handle->kept, pins] {
                                                    for (const auto& tensor : pins)
                                                        if (tensor) fit(*tensor);
                                                    kept->clear();
                                                },
                                            .call = [calls, pins] { return calls(pins); }});
    return handle;
}

// From here on the library no longer holds what it moves: this stream comes after it, others may not.
void Queues::wait(Handle& handle) {
    streams_.catch_up();
    streams_.queue(current_, {.after = {handle.entry}});
    handle.kept->clear();
}

namespace {

using Words = std::span<const std::string_view>;

bool is_one_of(Words words, std::string_view name) {
    return std::find(words.begin(), words.end(), name) != words.end();
}

constexpr std::string_view kernel_words[] = {
    "abs",  "ceil",   "cos",     "exp",        "floor",     "isfinite",  "isinf",      "isnan", "max",
    "min",  "pow",    "round",   "sin",        "sqrt",      "sum",       "log2",       "zeros", "ones",
    "full", "arange", "eye",     "zeros_like", "ones_like", "full_like", "cat",        "stack", "where",
    "rand", "randn",  "randint", "randperm",   "tensor",    "mse_loss",  "natural_log"};
// They look at no element, or see to it themselves.
// clang-format off
constexpr std::string_view blind_words[] = {
    "callable", "dict", "getattr", "hasattr", "isinstance", "len", "setattr", "map", "filter", "seam",
    "block", "range", "no_grad", "SimpleNamespace", "zip", "list", "tuple", "enumerate", "reversed",
    "P2POp", "stream", "all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor",
    "reduce_scatter_tensor", "reduce_scatter", "all_to_all_single", "all_to_all", "isend", "irecv",
    "send", "recv", "gather", "scatter", "batch_isend_irecv", "sleep", "compute", "phase"};
// clang-format on
constexpr std::string_view groups_that_wait[] = {"Groups", "Collectives", "Messages", "Store", "Files"};

}  // namespace

// Words that make tensors or compute with them are kernels; some never look at an element, some make the host
// wait for others; all else reads what it is given.
Value Queues::called(int place, Arguments& arguments) {
    const auto& word = scenarios::program::builtin_words()[static_cast<std::size_t>(place)];
    const std::string name = word.name();
    const Builtin does = builtin(place);
    if (is_one_of(kernel_words, name))
        return result(arguments, [this, does](Arguments& given) { return does(rank_, given); });
    if (name == "empty" || name == "empty_like") {
        const Value made = does(rank_, arguments);
        adopt(made.tensor());
        return made;
    }
    if (is_one_of(blind_words, name)) {
        streams_.catch_up();
        if (!arguments.empty() && arguments[0].is(Type::tensor) && word.group == "Python's" &&
            arguments[0].tensor().shape.size() == 1 && name != "len" && name != "isinstance" &&
            !name.ends_with("attr"))
            look(arguments[0]);  // its rows are numbers
        return does(rank_, arguments);
    }
    if (is_one_of(groups_that_wait, word.group)) streams_.settle();
    if (name == "clip_grad_norm_") wait_for_current();
    for (const Value& value : arguments) look(value);
    return does(rank_, arguments);
}

}  // namespace deadrank::sim::program

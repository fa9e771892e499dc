// sim/program/program_memory.cpp — The memory that a program's tensors and communicators take, what
// torch.cuda tells of it, and Python's collector. Texts: NCCL 2.28, torch 2.11.
#include <fmt/format.h>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/framework_parts/storage_memory.h"
#include "sim/program/builtins.h"
#include "sim/program/interpreter.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

StorageMemory& Interpreter::memory() {
    auto& memory = seldom().memory;
    if (!memory) memory = std::make_shared<StorageMemory>(world());
    return *memory;
}

// A tensor that lies nowhere in particular lies on the device in use, as its own `device` says. A view that
// was made before its whole was counted is found by its elements.
void Interpreter::count(Tensor& tensor) {
    const Memory storage = tensor.strided ? tensor.strided->of : tensor.memory;
    if (storage->empty() || StorageMemory::counts(storage)) return;
    Device& devices = world().device();
    const int device = tensor.place == on_host    ? -1
                       : tensor.place == anywhere ? devices.index()
                                                  : devices.seen(tensor.place);
    const std::int64_t bytes = std::ssize(*storage) * host_.element_size() * element_bytes(tensor.dtype) / 4;
    Memory counted = memory().count(storage, device, bytes);
    if (!tensor.strided) {
        tensor.memory = std::move(counted);
        return;
    }
    Strided same = *tensor.strided;
    same.of = std::move(counted);
    tensor.strided = std::make_shared<const Strided>(std::move(same));
}

void Interpreter::count(const Value& value, int depth) {
    if (depth > deepest_value) return;
    if (value.is(Type::tensor)) {
        count(value.tensor());
        for (const auto& [name, item] : value.tensor().attributes) count(item, depth + 1);
    } else if (value.is(Type::list)) {
        for (const Value& item : value.list().items) count(item, depth + 1);
    } else if (value.is(Type::dict)) {
        for (const auto& [key, item] : value.dict().items) count(item, depth + 1);
    }
}

Value Interpreter::noticed(Value made) {
    if (made.is(Type::tensor)) stop(made.tensor().stopped);
    return counted(std::move(made));
}

namespace {

// Calls visit(pointer) for all that an object holds.
template <class Visit>
void each_held(const Object* object, Visit visit) {
    const auto value = [&](const Value& held) {
        if (held.object()) visit(held.object());
    };
    const auto fields = [&](const Fields& all) {
        for (const auto& [name, held] : all) value(held);
    };
    if (const auto* list = dynamic_cast<const List*>(object)) {
        for (const Value& item : list->items) value(item);
    } else if (const auto* dict = dynamic_cast<const Dict*>(object)) {
        for (const auto& [key, item] : dict->items) value(key), value(item);
    } else if (const auto* instance = dynamic_cast<const Instance*>(object)) {
        fields(instance->fields);
    } else if (const auto* tensor = dynamic_cast<const Tensor*>(object)) {
        fields(tensor->attributes);
    } else if (const auto* env = dynamic_cast<const Env*>(object)) {
        for (const Value& held : env->slots) value(held);
        if (env->outer) visit(env->outer);
    } else if (const auto* callable = dynamic_cast<const Callable*>(object)) {
        for (const Value& usual : callable->usual) value(usual);
        value(callable->self);
        if (callable->around) visit(callable->around);
    }
}

struct Known {
    long others = 0;  // references that come from none of the known objects
    bool reached = false;
};

}  // namespace

std::int64_t Interpreter::collect_cycles() {
    std::vector<std::shared_ptr<Object>> begun;
    for (const auto& weak : tracked_)
        if (auto object = weak.lock()) begun.push_back(std::move(object));
    std::map<const Object*, Known> known;
    std::vector<const Object*> pending;
    for (const auto& object : begun)
        if (known.try_emplace(object.get(), Known{object.use_count() - 1, false}).second)
            pending.push_back(object.get());
        else
            --known[object.get()].others;
    const auto found = [&](const auto& held) {
        auto [place, is_new] = known.try_emplace(held.get(), Known{held.use_count(), false});
        if (is_new) pending.push_back(held.get());
        --place->second.others;
    };
    while (!pending.empty()) {
        const Object* const object = pending.back();
        pending.pop_back();
        each_held(object, found);
    }
    for (const auto& [object, how] : known)
        if (how.others > 0) pending.push_back(object);
    while (!pending.empty()) {
        const Object* const object = pending.back();
        pending.pop_back();
        if (std::exchange(known[object].reached, true)) continue;
        each_held(object, [&](const auto& held) { pending.push_back(held.get()); });
    }
    std::int64_t unreached = 0;
    for (const auto& [object, how] : known) unreached += !how.reached;
    // All circles pass through one of these.
    std::vector<Value> last;  // ends when all of them are empty
    for (const auto& object : begun) {
        if (known[object.get()].reached) continue;
        const auto take = [&](Fields& fields) {
            for (auto& [name, held] : fields) last.push_back(std::move(held));
            fields.clear();
        };
        if (auto* instance = dynamic_cast<Instance*>(object.get())) take(instance->fields);
        if (auto* tensor = dynamic_cast<Tensor*>(object.get())) take(tensor->attributes);
        if (auto* env = dynamic_cast<Env*>(object.get()))
            for (Value& held : std::exchange(env->slots, {})) last.push_back(std::move(held));
    }
    return unreached;
}

namespace {

// The least of what NCCL cannot get; the rest it has not asked for yet.
[[noreturn]] void refuse_buffers(Interpreter& rank, int device, std::int64_t bytes) {
    World& world = rank.world();
    const std::string last = fmt::format("Failed to CUDA calloc async {} bytes", bytes);
    const auto warn = [&](int line, std::string_view text) {
        const int pid = world.signals().pid();
        world.log(fmt::format("node{}:{}:{} [{}] include/alloc.h:{} NCCL WARN {}", world.node(), pid, pid,
                              device, line, text),
                  1);
    };
    warn(245, "Cuda failure 2 'out of memory'");
    warn(251, last);
    throw LibraryError(
        Code::unhandled_device_error,
        fmt::format("torch.distributed.DistBackendError: NCCL error in: "
                    "/pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3690, unhandled cuda error "
                    "(run with NCCL_DEBUG=INFO for details), NCCL version {}\nncclUnhandledCudaError: Call "
                    "to CUDA function failed.\nLast error:\n{}",
                    world.env().version("nccl"), last));
}

}  // namespace

void take_buffers(Interpreter& rank, const Comm& comm, const Value& group) {
    const std::int64_t bytes = rank.host().communicator_size();
    if (bytes == 0 || comm.moves_host_memory()) return;
    std::int64_t& handle = stated(group) ? group.group().buffers : rank.seldom().world_buffers;
    if (handle != 0) return;
    Device& devices = rank.world().device();
    const int device = devices.seen(stated(group) ? group.group().place : rank.world_place);
    bool refused = false;
    try {
        handle = devices.allocate_on(device, bytes);
    } catch (const OutOfMemory&) {
        refused = true;
    }
    if (refused) refuse_buffers(rank, device, bytes);
    rank.seldom().buffers.push_back(handle);
}

void free_buffers(Interpreter& rank, std::int64_t& handle) {
    if (handle == 0) return;
    rank.world().device().release(handle);
    std::erase(rank.seldom().buffers, handle);
    handle = 0;
}

// Groups that nobody destroyed by themselves go with the world; one that was merely forgotten keeps its
// memory until then.
void free_all_buffers(Interpreter& rank) {
    if (rank.host().communicator_size() == 0) return;
    for (const std::int64_t handle : rank.seldom().buffers) rank.world().device().release(handle);
    rank.seldom().buffers.clear();
    rank.seldom().world_buffers = 0;
}

namespace {

const MemoryUse& use_in(Interpreter& rank, const Value& device) {
    return rank.memory().use_of(device_in(rank, device));
}

Value memory_allocated(Interpreter& rank, Arguments& given) {
    return Value::whole(use_in(rank, given[0]).allocated);
}
Value memory_reserved(Interpreter& rank, Arguments& given) {
    return Value::whole(use_in(rank, given[0]).reserved);
}
Value max_memory_allocated(Interpreter& rank, Arguments& given) {
    return Value::whole(use_in(rank, given[0]).most_allocated);
}
Value max_memory_reserved(Interpreter& rank, Arguments& given) {
    return Value::whole(use_in(rank, given[0]).most_reserved);
}
Value reset_peak_memory_stats(Interpreter& rank, Arguments& given) {
    rank.memory().forget_most(device_in(rank, given[0]));
    return Value::none();
}
Value empty_cache(Interpreter& rank, Arguments&) {
    rank.memory().empty_cache();
    return Value::none();
}

Value gc_collect(Interpreter& rank, Arguments&) { return Value::whole(rank.collect_cycles()); }

}  // namespace

std::vector<BuiltinRow> memory_builtins() {
    return {{"memory_allocated", memory_allocated},
            {"memory_reserved", memory_reserved},
            {"max_memory_allocated", max_memory_allocated},
            {"max_memory_reserved", max_memory_reserved},
            {"reset_peak_memory_stats", reset_peak_memory_stats},
            {"empty_cache", empty_cache},
            {"gc_collect", gc_collect}};
}

}  // namespace deadrank::sim::program

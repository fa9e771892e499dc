// sim/program/builtins_world.cpp — The store, time, memory, chance, and where faults act.
#include <algorithm>
#include <fmt/format.h>

#include "scenarios/model/value.h"
#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

// Store.

Value store_set(Interpreter& rank, Arguments& given) {
    rank.host().store().set(text_in(given[0], "a key"), shown_text(given[1]));
    return Value::none();
}

Value store_set_once(Interpreter& rank, Arguments& given) {
    return Value::new_text(rank.host().store().set_once(text_in(given[0], "a key"), shown_text(given[1])));
}

Value store_get(Interpreter& rank, Arguments& given) {
    constexpr Time usual{300'000'000'000};
    const Time patience = stated(given[1]) ? time_in(given[1]) : usual;
    const std::string key = text_in(given[0], "a key");
    if (auto found = rank.host().store().wait(key, patience)) return Value::new_text(*found);
    throw LibraryError(Code::timeout,
                       fmt::format("torch.distributed.DistStoreError: wait timeout after {}ms, keys: /{}",
                                   patience.count() / 1'000'000, key));
}

Value store_add(Interpreter& rank, Arguments& given) {
    return Value::whole(rank.host().store().add(text_in(given[0], "a key"), as_whole(given[1], "an amount")));
}

Value store_check(Interpreter& rank, Arguments& given) {
    constexpr Time at_once{1'000'000};
    return Value::boolean(rank.host().store().wait(text_in(given[0], "a key"), at_once).has_value());
}

// Time and memory.

Value compute(Interpreter& rank, Arguments& given) {
    rank.world().device().compute(time_in(given[0]));
    return Value::none();
}

Value sleep(Interpreter& rank, Arguments& given) {
    rank.world().timer().sleep(time_in(given[0]));
    return Value::none();
}

Value now(Interpreter& rank, Arguments&) {
    return Value::decimal(
        saturate((Wide{rank.world().timer().now().count()} << fraction_bits) / 1'000'000'000));
}

std::int64_t bytes_in(const Value& size) {
    if (!size.is(Type::text)) return std::max<std::int64_t>(as_whole(size, "a size"), 0);
    const auto parsed = scenarios::parse_value(scenarios::ValueType::bytes, size.text());
    if (!parsed) raise("ValueError", fmt::format("'{}' is not a size: write \"1GiB\" or bytes", size.text()));
    return parsed->number;
}

constexpr int own_device = -2, no_device = -1;  // the latter is the node's own memory

// None, 1, "cuda", "cuda:1", "cpu" or -1.
int device_in(const Device& devices, const Value& value) {
    if (!stated(value)) return own_device;
    std::int64_t index = 0;
    if (value.is(Type::text)) {
        const std::string& text = value.text();
        if (text == "cpu") return no_device;
        if (text == "cuda") return own_device;
        const auto number = text.starts_with("cuda:") ? scenarios::parse_whole(text.substr(5)) : std::nullopt;
        if (!number || *number < 0)
            raise("RuntimeError",
                  fmt::format("Expected one of cpu, cuda device type at start of device string: {}", text));
        index = *number;
    } else {
        index = as_whole(value, "a device");
        if (index == no_device) return no_device;
    }
    if (index < 0 || index >= devices.count())
        raise("torch.AcceleratorError",
              fmt::format("CUDA error: invalid device ordinal: {}, where the node has 0 to {}", index,
                          devices.count() - 1));
    return static_cast<int>(index);
}

Value allocate(Interpreter& rank, Arguments& given) {
    const std::int64_t bytes = bytes_in(given[0]);
    Device& device = rank.world().device();
    const int where = device_in(device, given[1]);
    const std::int64_t handle = where == no_device    ? device.allocate_host(bytes)
                                : where == own_device ? device.allocate(bytes)
                                                      : device.allocate_on(where, bytes);
    // What is put on another device opens a context there.
    if (where >= 0 && where != device.index() && rank.contexts.insert(where).second)
        rank.world().record(results::DeviceBind{rank.world().text("context"), where});
    rank.sizes_of_handles[handle] = bytes;
    return Value::whole(handle);
}

// What came before the group's start is told by the start itself.
Value set_device(Interpreter& rank, Arguments& given) {
    Device& device = rank.world().device();
    const int wanted = device_in(device, given[0]);
    if (wanted == no_device) raise("ValueError", "Expected a cuda device, but got: cpu");
    if (wanted == own_device) return Value::none();
    device.choose(wanted);
    if (rank.host().started())
        rank.world().record(results::DeviceBind{rank.world().text("model"), device.index()});
    return Value::none();
}

Value current_device(Interpreter& rank, Arguments&) { return Value::whole(rank.world().device().index()); }

Value device_count(Interpreter& rank, Arguments&) { return Value::whole(rank.world().device().count()); }

Value free(Interpreter& rank, Arguments& given) {
    const std::int64_t handle = as_whole(given[0], "a handle");
    if (rank.sizes_of_handles.erase(handle) == 0) raise("ValueError", "invalid handle");
    rank.world().device().release(handle);
    return Value::none();
}

// Chance, environment, faults.

Value random(Interpreter& rank, Arguments& given) {
    const std::int64_t bound = as_whole(given[2], "bound");
    if (bound < 1) raise("ValueError", "bound must be positive");
    const auto index = static_cast<std::uint64_t>(as_whole(given[1], "index"));
    return Value::whole(static_cast<std::int64_t>(
        rank.world().chance(text_in(given[0], "a purpose"), index, static_cast<std::uint64_t>(bound))));
}

Value env(Interpreter& rank, Arguments& given) {
    const auto found = rank.world().env().get(text_in(given[0], "a name"));
    return found ? Value::new_text(*found) : given[1].is(Type::unset) ? Value::none() : given[1];
}

Value version(Interpreter& rank, Arguments& given) {
    return Value::new_text(rank.world().env().version(text_in(given[0], "a package")));
}

Value leave(Interpreter&, Arguments& given) {
    const auto code = given[0].is(Type::unset) ? 1 : static_cast<int>(as_whole(given[0], "a code"));
    throw RankFailure(fmt::format("SystemExit: {}", code), code);
}

Value seam(Interpreter& rank, Arguments& given) {
    const Value& usual = given[1];
    if (!usual.is_number())
        raise("TypeError", fmt::format("the value of a seam must be a number, not {}", type_word(usual)));
    const std::int64_t bent = rank.world().seam(given[0].text(), usual.number());
    if (usual.is(Type::boolean)) return Value::boolean(bent != 0);
    return usual.is(Type::whole) ? Value::whole(bent) : Value::decimal(bent);
}

Value block(Interpreter& rank, Arguments& given) {
    return Value::boolean(rank.world().block(given[0].text()));
}

}  // namespace

std::vector<BuiltinRow> world_builtins() {
    return {{"store_set", store_set},
            {"store_set_once", store_set_once},
            {"store_get", store_get},
            {"store_add", store_add},
            {"store_check", store_check},
            {"compute", compute},
            {"sleep", sleep},
            {"now", now},
            {"allocate", allocate},
            {"free", free},
            {"set_device", set_device},
            {"current_device", current_device},
            {"device_count", device_count},
            {"random", random},
            {"env", env},
            {"version", version},
            {"exit", leave},
            {"seam", seam},
            {"block", block}};
}

}  // namespace deadrank::sim::program

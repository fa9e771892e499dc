// sim/program/builtins_devices.cpp — Devices as torch names them: memory on them, which one a rank uses, and
// where tensors lie. Numbers are those that the process sees. Texts: torch 2.11.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "scenarios/model/value.h"
#include "sim/framework_parts/storage_memory.h"
#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

// A job that came before had its ranks on the devices of their numbers.
Place place_in_use(Interpreter& rank) {
    const Device& device = rank.world().device();
    if (rank.host().over()) return static_cast<Place>(rank.host().rank() % std::max(device.visible(), 1));
    return static_cast<Place>(device.number());
}

[[noreturn]] void no_such_word(const std::string& text) {
    raise("RuntimeError",
          fmt::format("Expected one of cpu, cuda device type at start of device string: {}", text));
}

[[noreturn]] void refuse_number(std::int64_t index, int count) {
    raise(
        "torch.AcceleratorError",
        fmt::format("CUDA error: invalid device ordinal: {}, where the node has 0 to {}", index, count - 1));
}

Place numbered(Interpreter& rank, std::int64_t index) {
    const int visible = rank.world().device().visible();
    if (visible == 0) raise("RuntimeError", "No CUDA GPUs are available");
    if (index < 0 || index >= visible) refuse_number(index, visible);
    return static_cast<Place>(index);
}

// cuda:1 has a number, cuda has none.
std::optional<std::int64_t> index_in(const std::string& text) {
    if (text == "cuda" || text == "cpu") return std::nullopt;
    const auto number = text.starts_with("cuda:") ? scenarios::parse_whole(text.substr(5)) : std::nullopt;
    if (!number || *number < 0) no_such_word(text);
    return *number;
}

// None, 1, "cuda", "cuda:1", "cpu" or -1.
Place place_in(Interpreter& rank, const Value& value) {
    if (!stated(value)) return place_in_use(rank);
    if (!value.is(Type::text)) {
        const std::int64_t index = as_whole(value, "a device");
        return index == on_host ? on_host : numbered(rank, index);
    }
    if (value.text() == "cpu") return on_host;
    const auto index = index_in(value.text());
    return index ? numbered(rank, *index) : place_in_use(rank);
}

void tell_context(Interpreter& rank, int device, bool counted) {
    if (std::exchange(rank.contexts[device], true)) return;
    rank.world().record(results::DeviceBind{rank.world().text("context"), device});
    if (!counted) rank.world().device().allocate_on(device, rank.host().context_size());
}

// The first use of a device opens a context there. The start-up counts the one of the rank's own device.
void open_context(Interpreter& rank, Place place) {
    if (place < 0 || rank.host().over()) return;
    const int device = rank.world().device().seen(place);
    if (device == rank.world().device().index()) {
        rank.contexts.try_emplace(device, false);
    } else if (device >= 0) {
        tell_context(rank, device, false);
    }
}

// The context of a device that the process has used stays there when it moves on to another one.
void move_to(Interpreter& rank, int number) {
    Device& device = rank.world().device();
    const int before = rank.contexts.empty() ? -1 : device.index();
    device.choose(number);
    if (before != device.index() && rank.contexts.contains(before))
        tell_context(rank, before, rank.host().started());
}

}  // namespace

Place place_for(Interpreter& rank, const Value& stated_device) {
    const bool usual = !stated(stated_device);
    if (usual && !stated(rank.default_device)) return rank.program().places_tensors ? on_host : anywhere;
    const Place place = place_in(rank, usual ? rank.default_device : stated_device);
    open_context(rank, place);
    return place;
}

Place group_place(Interpreter& rank) { return place_in_use(rank); }

OnDevice::OnDevice(Interpreter& rank, const Value& device) : rank_(rank) {
    if (!stated(device)) return;
    const Place place = place_in(rank, device);
    if (place == on_host)
        raise("ValueError", "init_process_group device_id parameter must be an accelerator");
    before_ = rank.world().device().number();
    open_context(rank, place);
    rank.world().device().choose(place);
}

OnDevice::~OnDevice() {
    if (before_ >= 0) rank_.world().device().choose(before_);
}

// A process that has neither chosen a device nor used the one it began with has no current device.
bool knows_device(Interpreter& rank) {
    return rank.device_chosen || rank.contexts.contains(rank.world().device().index());
}

void connect_world(Interpreter& rank, std::string_view call, Place place) {
    if (!rank.host().unconnected()) return;
    if (place < 0 && call == "barrier" && !knows_device(rank)) {
        place = static_cast<Place>(rank.host().rank() % std::max(rank.world().device().visible(), 1));
        rank.world().log(
            fmt::format(
                "[PG ID 0 PG GUID 0 Rank {}]  using GPU {} as device used by this process is currently "
                "unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect. "
                "You can specify device_id in init_process_group() to force use of a particular device.",
                rank.host().rank(), place),
            1);
    }
    const int told = rank.bound_device < 0 ? rank.world().device().index() : rank.bound_device;
    const OnDevice on(rank, place < 0 ? Value() : Value::whole(place));
    rank.bound_device = rank.world().device().index();
    if (rank.bound_device != told)
        rank.world().record(results::DeviceBind{rank.world().text("model"), rank.bound_device});
    (void)rank.host().comm();
    rank.world_place = group_place(rank);
}

void lay(Interpreter& rank, Tensor& made, const Value& stated_device) {
    made.place = place_for(rank, stated_device);
    const scenarios::program::Spot* const now = rank.spot_now();
    if (made.place != on_host || stated(stated_device) || stated(rank.default_device) || !now) return;
    made.made_part = static_cast<std::uint8_t>(now->part);
    made.made_line = static_cast<std::uint16_t>(std::min(now->line, UINT16_MAX));
}

void settle_places(Interpreter& rank, const Value& value, const Value& mapped, int depth) {
    if (depth > deepest_value) too_deep();
    const auto all = [&](const std::vector<Value>& items) {
        for (const Value& item : items) settle_places(rank, item, mapped, depth + 1);
    };
    if (value.is(Type::list)) return all(value.list().items);
    if (value.is(Type::dict))
        for (const auto& [key, item] : value.dict().items) settle_places(rank, item, mapped, depth + 1);
    if (value.is(Type::object)) value.instance().rank = &rank;
    if (value.is(Type::object))
        for (const auto& [name, item] : value.instance().fields) settle_places(rank, item, mapped, depth + 1);
    if (!value.is(Type::tensor)) return;
    Tensor& tensor = value.tensor();
    if (stated(mapped)) {
        tensor.place = place_for(rank, mapped);
        return;
    }
    if (tensor.place < 0) return;
    const int visible = rank.world().device().visible();
    if (tensor.place >= visible)
        raise("RuntimeError",
              fmt::format("Attempting to deserialize object on CUDA device {} but torch.cuda.device_count() "
                          "is {}. Please use torch.load with map_location to map your storages to an "
                          "existing device.",
                          tensor.place, visible));
    open_context(rank, tensor.place);
}

std::optional<Value> moved(Interpreter& rank, const Value& object, const std::string& name,
                           const std::vector<Value>& given) {
    if (name != "to" && name != "cuda" && name != "cpu") return std::nullopt;
    const Tensor& tensor = object.tensor();
    Place place = tensor.place;
    Dtype dtype = tensor.dtype;
    const Value target = given.empty() ? Value() : given[0];
    const bool named = target.is(Type::text) && (target.text() == "cpu" || target.text().starts_with("cuda"));
    if (name == "cpu") {
        place = on_host;
    } else if (name == "cuda" || named || target.is(Type::whole)) {
        place = place_in(rank, target);
    } else if (target.is(Type::tensor)) {
        place = target.tensor().place;
        dtype = target.tensor().dtype;
    } else if (stated(target)) {
        dtype = dtype_of(target);
    } else if (given.size() < 2 || !stated(given[1])) {
        raise("TypeError", "to() received an invalid combination of arguments");
    }
    if (given.size() > 1 && stated(given[1])) dtype = dtype_of(given[1]);
    open_context(rank, place);
    if (place == tensor.place && dtype == tensor.dtype && place != anywhere) return object;
    const auto made = cast(tensor, dtype);
    made->place = place;
    return Value::of(in_order_of(tensor, made));
}

std::optional<Value> device_attribute(Interpreter& rank, const Value& object, const std::string& name) {
    if (object.is(Type::tensor)) {
        const Place place = object.tensor().place;
        if (name == "is_cuda") return Value::boolean(place != on_host);
        if (name == "device")
            return Value::new_text(place_text(place == anywhere ? place_in_use(rank) : place));
    }
    if (!object.is(Type::text)) return std::nullopt;
    const std::string& text = object.text();
    if (text != "cpu" && text != "cuda" && !text.starts_with("cuda:")) return std::nullopt;
    if (name == "type") return Value::new_text(text.substr(0, text.find(':')));
    if (name != "index") return std::nullopt;
    const auto index = index_in(text);
    return index ? Value::whole(*index) : Value::none();
}

std::int64_t bytes_in(const Value& size) {
    if (!size.is(Type::text)) return std::max<std::int64_t>(as_whole(size, "a size"), 0);
    const auto parsed = scenarios::parse_value(scenarios::ValueType::bytes, size.text());
    if (!parsed) raise("ValueError", fmt::format("'{}' is not a size: write \"1GiB\" or bytes", size.text()));
    return parsed->number;
}

int device_in(Interpreter& rank, const Value& device) {
    const Place place = place_in(rank, device);
    if (place == on_host) raise("ValueError", "Expected a cuda device, but got: cpu");
    return rank.world().device().seen(place);
}

namespace {

Value allocate(Interpreter& rank, Arguments& given) {
    const std::int64_t bytes = bytes_in(given[0]);
    Device& device = rank.world().device();
    const Place place = place_in(rank, given[1]);
    const bool own = place == place_in_use(rank);
    const std::int64_t handle = place == on_host ? device.allocate_host(bytes)
                                : own            ? device.allocate(bytes)
                                                 : device.allocate_on(device.seen(place), bytes);
    open_context(rank, place);
    const int of = place == on_host ? on_host : device.seen(place);
    rank.sizes_of_handles[handle] = {bytes, of};
    if (of >= 0) rank.memory().hold(of, bytes);
    return Value::whole(handle);
}

Value free(Interpreter& rank, Arguments& given) {
    const std::int64_t handle = as_whole(given[0], "a handle");
    const auto known = rank.sizes_of_handles.find(handle);
    if (known == rank.sizes_of_handles.end()) raise("ValueError", "invalid handle");
    if (known->second.device >= 0) rank.memory().hold(known->second.device, -known->second.bytes);
    rank.sizes_of_handles.erase(known);
    rank.world().device().release(handle);
    return Value::none();
}

// What came before the group's start is told by the start itself. "cuda" is the one in use.
Value set_device(Interpreter& rank, Arguments& given) {
    Device& device = rank.world().device();
    const bool said = given[0].is(Type::text);
    const auto index = said               ? index_in(given[0].text())
                       : stated(given[0]) ? std::optional(as_whole(given[0], "a device"))
                                          : std::nullopt;
    if (index == on_host || (said && given[0].text() == "cpu"))
        raise("ValueError", "Expected a cuda device, but got: cpu");
    if (!index) return Value::none();
    if (*index < 0 || *index >= device.count()) refuse_number(*index, device.count());
    move_to(rank, static_cast<int>(*index));
    rank.device_chosen = true;
    if (rank.host().started()) {
        rank.world().record(results::DeviceBind{rank.world().text("model"), device.index()});
        rank.bound_device = device.index();
    }
    return Value::none();
}

Value current_device(Interpreter& rank, Arguments&) { return Value::whole(place_in_use(rank)); }

Value device_count(Interpreter& rank, Arguments&) { return Value::whole(rank.world().device().visible()); }

Value device_name(Interpreter&, Arguments& given) {
    if (given[0].is(Type::whole)) return Value::new_text(fmt::format("cuda:{}", given[0].number()));
    const std::string& type = text_in(given[0], "a device");
    if (!stated(given[1])) return (void)index_in(type), given[0];
    if (type != "cuda") no_such_word(type);
    return Value::new_text(fmt::format("cuda:{}", as_whole(given[1], "an index")));
}

// with torch.cuda.device(n): …
Value cuda_device(Interpreter& rank, Arguments& given) {
    auto made = std::make_shared<Instance>();
    made->kind = device_kind;
    made->name = "device";
    made->rank = &rank;
    const Place place = place_in(rank, given[0]);
    if (place == on_host) raise("ValueError", "Expected a cuda device, but got: cpu");
    set_field(made->fields, "idx", Value::whole(place));
    return Value::of(std::move(made));
}

Value set_default_device(Interpreter& rank, Arguments& given) {
    (void)place_in(rank, given[0]);
    rank.default_device = given[0];
    return Value::none();
}

}  // namespace

std::vector<BuiltinRow> device_builtins() {
    return {{"allocate", allocate},         {"free", free},
            {"set_device", set_device},     {"current_device", current_device},
            {"device_count", device_count}, {"device", device_name},
            {"cuda_device", cuda_device},   {"set_default_device", set_default_device}};
}

}  // namespace deadrank::sim::program

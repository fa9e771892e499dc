// sim/program/builtins_streams.cpp — Streams and events as torch.cuda calls them, and how a program that has
// them reads and changes its tensors.
#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "sim/program/program_tensor.h"
#include "sim/program/queues.h"

namespace deadrank::sim::program {

using scenarios::program::Operator;

namespace {

Value made(Interpreter& rank, int kind, const char* name, std::shared_ptr<Object> held) {
    auto instance = std::make_shared<Instance>();
    instance->kind = kind;
    instance->name = name;
    instance->rank = &rank;
    instance->held = std::move(held);
    return Value::of(std::move(instance));
}

Value stream_of(Interpreter& rank, int number) {
    auto held = std::make_shared<StreamHeld>();
    held->stream = number;
    return made(rank, stream_kind, "Stream", std::move(held));
}

int stream_in(const Value& value, int otherwise) {
    if (!stated(value)) return otherwise;
    if (!value.is(Type::object) || value.instance().kind != stream_kind)
        raise("TypeError", fmt::format("stream must be a torch.cuda.Stream, not {}", type_word(value)));
    return static_cast<const StreamHeld&>(*value.instance().held).stream;
}

EventHeld& event_in(const Value& value) {
    if (!value.is(Type::object) || value.instance().kind != event_kind)
        raise("TypeError", fmt::format("event must be a torch.cuda.Event, not {}", type_word(value)));
    return static_cast<EventHeld&>(*value.instance().held);
}

Value new_stream(Interpreter& rank, Arguments&) { return stream_of(rank, rank.queues()->streams().make()); }

Value new_event(Interpreter& rank, Arguments& given) {
    auto held = std::make_shared<EventHeld>();
    held->timed = !given[0].is(Type::unset) && truth(given[0]);
    return made(rank, event_kind, "Event", std::move(held));
}

Value current_stream(Interpreter& rank, Arguments&) { return stream_of(rank, rank.queues()->current()); }
Value default_stream(Interpreter& rank, Arguments&) { return stream_of(rank, 0); }

Value on_stream(Interpreter& rank, Arguments& given) {
    return stream_of(rank, stream_in(given[0], rank.queues()->current()));
}

Value synchronize(Interpreter& rank, Arguments&) {
    rank.reach_device();
    rank.queues()->streams().wait_for_all();
    return Value::none();
}

bool is_over(DeviceStreams& streams, const DeviceStreams::Entry& entry) {
    streams.catch_up();
    return !entry || entry->state == StreamEntry::State::over;
}

void record(DeviceStreams& streams, EventHeld& event, int stream) { event.at = streams.queue(stream, {}); }

Value milliseconds(DeviceStreams& streams, const EventHeld& from, const EventHeld& to) {
    if (!from.timed || !to.timed)
        raise("ValueError", "Both events must be created with argument 'enable_timing=True'.");
    if (!from.at || !to.at)
        raise("RuntimeError", "Both events must be recorded before calculating elapsed time.");
    if (!is_over(streams, from.at) || !is_over(streams, to.at))
        raise("RuntimeError", "CUDA error: device not ready");
    return Value::decimal(saturate(Wide{(to.at->ended - from.at->ended).count()} * one / 1'000'000));
}

Value event_method(Interpreter& rank, const Value& object, const std::string& name, const Arguments& given) {
    Queues& queues = *rank.queues();
    DeviceStreams& streams = queues.streams();
    EventHeld& event = event_in(object);
    const Value first = given.empty() ? Value() : given[0];
    if (name == "query") return Value::boolean(is_over(streams, event.at));
    if (name == "elapsed_time") return milliseconds(streams, event, event_in(needed(given, 0, name)));
    if (name == "record") {
        record(streams, event, stream_in(first, queues.current()));
    } else if (name == "wait") {
        streams.queue(stream_in(first, queues.current()), {.after = {event.at}});
    } else if (name == "synchronize") {
        streams.wait(event.at);
    } else {
        raise("AttributeError", fmt::format("'Event' object has no attribute '{}'", name));
    }
    return Value::none();
}

}  // namespace

Value stream_method(Interpreter& rank, const Value& object, const std::string& name,
                    const std::vector<Value>& given) {
    if (object.instance().kind == event_kind) return event_method(rank, object, name, given);
    DeviceStreams& streams = rank.queues()->streams();
    const int stream = stream_in(object, 0);
    if (name == "query") return Value::boolean(is_over(streams, streams.last(stream)));
    if (name == "wait_stream") {
        streams.queue(stream, {.after = {streams.last(stream_in(needed(given, 0, name), 0))}});
    } else if (name == "wait_event") {
        streams.queue(stream, {.after = {event_in(needed(given, 0, name)).at}});
    } else if (name == "record_event") {
        Arguments none(3);
        const Value event = given.empty() || !stated(given[0]) ? new_event(rank, none) : given[0];
        record(streams, event_in(event), stream);
        return event;
    } else if (name == "synchronize") {
        streams.wait_for_stream(stream);
    } else {
        raise("AttributeError", fmt::format("'Stream' object has no attribute '{}'", name));
    }
    return Value::none();
}

std::vector<BuiltinRow> stream_builtins() {
    return {{"Stream", new_stream},
            {"Event", new_event},
            {"stream", on_stream},
            {"current_stream", current_stream},
            {"default_stream", default_stream},
            {"synchronize", synchronize}};
}

std::optional<Value> queued_call(Interpreter& rank, Comm& comm, std::vector<std::shared_ptr<Tensor>> held,
                                 bool async, const CallOn& call) {
    auto handle = rank.queues()->call(comm, std::move(held), call);
    if (!handle) return std::nullopt;
    if (async) return Value::of(std::move(handle));
    rank.queues()->streams().wait(handle->entry);
    return Value::none();
}

void wait_for_kernels(Interpreter& rank) {
    if (rank.queues()) rank.queues()->streams().settle();
}

OnStream::OnStream(Interpreter& rank, const Value& stream)
    : rank_(rank), before_(rank.queues()->choose(stream_in(stream, 0))) {}
OnStream::~OnStream() { rank_.queues()->choose(before_); }

namespace {

constexpr std::string_view words_in_place[] = {"add_", "sub_", "mul_", "div_", "clamp_", "zero_", "fill_"};
constexpr std::string_view words_without_elements[] = {"dim",   "numel", "size",          "stride",
                                                       "shape", "dtype", "is_contiguous", "item"};

bool holds(std::span<const std::string_view> words, std::string_view name) {
    return std::find(words.begin(), words.end(), name) != words.end();
}

bool host_goes_on(const std::string& name, const Arguments& given) {
    const std::size_t place = name == "to" ? 2 : 1;
    return name != "cpu" && given.size() > place && stated(given[place]) && truth(given[place]);
}

// A mask, or places, decide on the shape of what is picked.
bool picks_by_content(const Value& index) {
    if (index.is(Type::tensor)) return true;
    return index.is(Type::list) && std::any_of(index.list().items.begin(), index.list().items.end(),
                                               [](const Value& one) { return one.is(Type::tensor); });
}

}  // namespace

Value queued_method(Interpreter& rank, const Value& object, const std::string& name, Arguments given) {
    Queues& queues = *rank.queues();
    if (name == "record_stream") {
        queues.use_on(object, stream_in(needed(given, 0, name), 0));
        return Value::none();
    }
    if (name == "normal_" || name == "uniform_") {  // the host draws once
        const Value drawn = Value::of(cast(object.tensor(), object.tensor().dtype));
        (void)draws_in_place(rank, drawn, name, given);
        queues.copy(object, drawn, true);
        return object;
    }
    if (name == "to" || name == "cuda" || name == "cpu") {
        queues.streams().catch_up();
        const Value made = *moved(rank, object, name, given);
        return queues.moved(object, made, host_goes_on(name, given));
    }
    if (name == "copy_") {
        queues.copy(object, needed(given, 0, name), host_goes_on(name, given));
        return object;
    }
    if (holds(words_in_place, name)) {
        queues.change(object, std::move(given),
                      [name](const Value& target, Arguments& operands) { method(target, name, operands); });
        return object;
    }
    if (holds(words_without_elements, name) && name != "item") return method(object, name, given);
    given.insert(given.begin(), object);
    const Queues::Does does = [name](Arguments& operands) {
        return method(operands[0], name, Arguments(operands.begin() + 1, operands.end()));
    };
    const bool decides = name == "nonzero" || name == "bincount";
    return decides ? queues.by_content(std::move(given), does) : queues.result(std::move(given), does);
}

Value queued_element(Interpreter& rank, const Value& object, const Value& index) {
    const Queues::Does does = [](Arguments& operands) { return picked(operands[0], operands[1]); };
    return picks_by_content(index) ? rank.queues()->by_content({object, index}, does)
                                   : rank.queues()->result({object, index}, does);
}

Queues* Interpreter::queues_made() {
    auto& queues = seldom().queues;
    if (!queues) queues = std::make_shared<Queues>(*this);
    return queues.get();
}

void Interpreter::look_at(const Value& value) {
    if (program_.has_streams && !value.is(Type::whole)) queues()->look(value);
}

bool Interpreter::is_over(Handle& handle) { return program::is_over(queues()->streams(), handle.entry); }

// The host is no further ahead than a step: it waits there as it does where a step's loss is read. What is
// still queued on other streams goes on, until the program is over.
void Interpreter::come_to_an_end(Part part) {
    if (part == Part::finish) return queues()->streams().wait_for_all();
    queues()->streams().wait_for_stream(0);
}

Value Interpreter::call_word(int place, std::vector<Value>& arguments) {
    if (!program_.has_streams && !counts_) return builtin(place)(*this, arguments);
    Value made = program_.has_streams ? queues()->called(place, arguments) : builtin(place)(*this, arguments);
    if (!counts_) return made;
    for (const Value& given : arguments)  // calls of objects fill lists
        if (given.is(Type::list)) count(given);
    return counted(std::move(made));
}

Value Interpreter::operated(Operator op, const Value& a, const Value& b) {
    return counted(calculated_now(op, a, b));
}

Value Interpreter::calculated_now(Operator op, const Value& a, const Value& b) {
    for (const Value* operand : {&a, &b})
        if (operand->is(Type::tensor) && operand->tensor().place >= 0) reach_device();
    const bool relates = op >= Operator::equal;
    const Queues::Does does = [op, relates](Arguments& both) {
        return relates ? calculated(op, both[0], both[1]) : operate(op, both[0], both[1]);
    };
    if (queues() && (a.is(Type::tensor) || b.is(Type::tensor))) return queues()->result({a, b}, does);
    return relates ? calculated(op, a, b) : operate(op, a, b);
}

}  // namespace deadrank::sim::program

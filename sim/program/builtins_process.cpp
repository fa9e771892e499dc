// sim/program/builtins_process.cpp — What a program does as a process: its own variables, signals to others
// of its node and to itself, and ends without a word.
#include <fmt/format.h>

#include "results/record/codes.h"
#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

Signals& signals_of(Interpreter& rank) {
    if (rank.host().over())
        raise("RuntimeError", "the job that came before is over: nobody gets its signals");
    return rank.world().signals();
}

int signal_in(const Value& value) {
    const std::int64_t number = as_whole(value, "a signal");
    if (number < 0 || number > 31) raise("OSError", "[Errno 22] Invalid argument");
    return static_cast<int>(number);
}

Value getpid(Interpreter& rank, Arguments&) { return Value::whole(signals_of(rank).pid()); }

Value pid_of(Interpreter& rank, Arguments& given) {
    const std::int64_t asked = as_whole(given[0], "a rank");
    const auto found =
        asked < 0 || asked > INT32_MAX ? std::nullopt : signals_of(rank).pid_of(static_cast<Rank>(asked));
    if (!found) raise("ValueError", fmt::format("there is no rank {}", asked));
    return Value::whole(*found);
}

Value kill(Interpreter& rank, Arguments& given) {
    const std::int64_t pid = as_whole(given[0], "a pid");
    const int number = signal_in(given[1]);
    const bool found = pid > 0 && pid <= INT32_MAX && signals_of(rank).send(static_cast<int>(pid), number);
    if (!found) raise("ProcessLookupError", "[Errno 3] No such process");
    return Value::none();
}

Value abort(Interpreter& rank, Arguments&) {
    Signals& signals = signals_of(rank);
    signals.keep(results::sigabrt, false);
    signals.send(signals.pid(), results::sigabrt);
    return Value::none();
}

Value leave_at_once(Interpreter& rank, Arguments& given) {
    signals_of(rank).leave(static_cast<int>(as_whole(given[0], "a code") & 255));
    return Value::none();  // never reached: a process is over at once
}

// What SIG_DFL and SIG_IGN are in Python.
constexpr std::int64_t usual_action = 0, no_action = 1;

Value on_signal(Interpreter& rank, Arguments& given) {
    const int number = signal_in(given[0]);
    const bool fixed = number == 0 || number == results::sigkill || number == results::sigstop;
    if (fixed) raise("OSError", "[Errno 22] Invalid argument");
    const Value& handler = given[1];
    const bool usual = handler.is(Type::whole) && handler.number() == usual_action;
    const bool none = handler.is(Type::whole) && handler.number() == no_action;
    if (!usual && !none && !handler.is(Type::function))
        raise("TypeError", "signal handler must be signal.SIG_IGN, signal.SIG_DFL, or a callable object");
    signals_of(rank).keep(number, !usual);
    return rank.handle_signal(number, usual || none ? Value::none() : handler);
}

// Its pid and its code stand behind its dot.
Value popen(Interpreter& rank, Arguments& given) {
    ChildRequest child;
    child.name = shown_text(given[0]);
    child.lasts = stated(given[1]) ? time_in(given[1]) : results::never;
    child.code = stated(given[2]) ? static_cast<int>(as_whole(given[2], "returncode") & 255) : 0;
    child.device_bytes = stated(given[3]) ? bytes_in(given[3]) : 0;
    child.host_bytes = stated(given[4]) ? bytes_in(given[4]) : 0;
    if (stated(given[5])) child.device = device_in(rank, given[5]);
    child.ends_with_parent = stated(given[6]) && truth(given[6]);
    child.ignores_sigterm = stated(given[7]) && truth(given[7]);
    auto made = std::make_shared<Instance>();
    made->kind = process_kind;
    made->name = "Popen";
    made->rank = &rank;
    made->fields = {{"args", given[0]},
                    {"pid", Value::whole(signals_of(rank).start(child))},
                    {"returncode", Value::none()}};
    return Value::of(std::move(made));
}

}  // namespace

Value Interpreter::handle_signal(int number, Value handler) {
    handles_signals_ = true;
    Value before = std::exchange(seldom().handlers[number], std::move(handler));
    return before.is(Type::unset) ? Value::none() : before;
}

// As Python does: between two statements, with the number and no frame. Another one waits until it is done.
void Interpreter::take_signals() {
    handles_signals_ = false;
    const Stmt* const from = now_;
    while (const int number = world().signals().take()) {
        const Value handler = seldom().handlers[number];
        if (number == interrupt_signal && handler.is(Type::unset))
            throw RankFailure("KeyboardInterrupt", 128 + interrupt_signal);
        if (handler.is(Type::function)) call(handler, {Value::whole(number), Value::none()});
    }
    handles_signals_ = true;
    now_ = from;
}

// The last one first; what one of them raises is told, and the others follow.
void Interpreter::run_at_exit() {
    while (runs_at_exit()) {
        const Value called = seldom().at_exit.back();
        seldom().at_exit.pop_back();
        frame_ = nullptr;
        own_ = around_ = nullptr;
        depth_ = 0;
        std::string raised;
        try {
            call(called, {});
        } catch (const RankFailure& failure) {
            if (exhausted_) throw;
            raised = failure.what();
        }
        if (!raised.empty())
            world().log(
                "Exception ignored in atexit callback:\nTraceback (most recent call last):\n" + raised, 2);
    }
}

Value process_method(Interpreter& rank, const Value& object, const std::string& name,
                     const std::vector<Value>& given) {
    Fields& fields = object.instance().fields;
    Signals& signals = signals_of(rank);
    const int pid = static_cast<int>(find_field(fields, "pid")->number());
    const auto code = [&] {
        const auto found = signals.code_of(pid);
        if (found) set_field(fields, "returncode", Value::whole(*found));
        return found ? Value::whole(*found) : Value::none();
    };
    if (name == "poll") return code();
    if (name == "wait") {
        const bool bounded = !given.empty() && stated(given[0]);
        if (!signals.wait_for(pid, bounded ? time_in(given[0]) : results::never))
            raise("subprocess.TimeoutExpired",
                  fmt::format("Command {} timed out after {} seconds", repr(*find_field(fields, "args")),
                              shown_text(given[0])));
        return code();
    }
    const int number = name == "terminate" ? results::sigterm
                       : name == "kill"    ? results::sigkill
                                           : signal_in(needed(given, 0, name));
    (void)signals.send(pid, number);  // one that is over is passed over, as Python does
    return Value::none();
}

std::vector<BuiltinRow> process_builtins() {
    return {{"Popen", popen}, {"getpid", getpid},       {"pid_of", pid_of},      {"kill", kill},
            {"abort", abort}, {"_exit", leave_at_once}, {"on_signal", on_signal}};
}

Value environment_of(Interpreter& rank) {
    auto made = std::make_shared<Instance>();
    made->kind = environment_kind;
    made->name = "environ";
    made->rank = &rank;
    return Value::of(std::move(made));
}

std::optional<std::string> variable_in(const Value& environment, const Value& name) {
    return environment.instance().rank->world().env().get(text_in(name, "a name"));
}

void set_variable(const Value& environment, const Value& name, const Value& value) {
    Interpreter& rank = *environment.instance().rank;
    if (rank.host().over()) raise("RuntimeError", "the job that came before is over: it keeps its variables");
    if (value.is(Type::none)) return rank.world().env().set(text_in(name, "a name"), std::nullopt);
    if (!value.is(Type::text)) raise("TypeError", fmt::format("str expected, not {}", type_word(value)));
    rank.world().env().set(text_in(name, "a name"), value.text());
}

Value environment_method(const Value& object, const std::string& name, const std::vector<Value>& given) {
    if (name == "update") {
        const Value& other = needed(given, 0, name);
        if (!other.is(Type::dict))
            raise("TypeError", fmt::format("{} object is not a dict", type_word(other)));
        for (const auto& [key, value] : other.dict().items) {
            if (value.is(Type::none)) raise("TypeError", "str expected, not 'NoneType'");
            set_variable(object, key, value);
        }
        return Value::none();
    }
    const bool known = name == "get" || name == "pop" || name == "setdefault";
    if (!known) raise("AttributeError", fmt::format("'environ' object has no attribute '{}'", name));
    const Value& key = needed(given, 0, name);
    const auto found = variable_in(object, key);
    const bool otherwise = given.size() > 1 && !given[1].is(Type::unset);
    if (name == "setdefault" && !found) set_variable(object, key, otherwise ? given[1] : Value::none());
    if (name == "pop") {
        if (!found && !otherwise) raise("KeyError", repr(key));
        if (found) set_variable(object, key, Value::none());
    }
    return found ? Value::new_text(*found) : otherwise ? given[1] : Value::none();
}

}  // namespace deadrank::sim::program

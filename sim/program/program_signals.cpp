// sim/program/program_signals.cpp — Signals that a program handles: between two statements, as Python does.
#include "sim/program/interpreter.h"

namespace deadrank::sim::program {

namespace {

constexpr int interrupt = 2;

}  // namespace

// Python itself handles this one, and raises KeyboardInterrupt.
void Interpreter::keep_interrupts() {
    world().signals().keep(interrupt, true);
    handles_signals_ = true;
}

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
        if (number == interrupt && handler.is(Type::unset))
            throw RankFailure("KeyboardInterrupt", 128 + interrupt);
        if (handler.is(Type::function)) call(handler, {Value::whole(number), Value::none()});
    }
    handles_signals_ = true;
    now_ = from;
}

}  // namespace deadrank::sim::program

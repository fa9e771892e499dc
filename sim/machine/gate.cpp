// sim/machine/gate.cpp — The order of things before a call: the delay passes, then signals arrive, then its
// own code may raise.
#include "sim/machine/gate.h"

#include <fmt/format.h>

#include "sim/machine/machine.h"
#include "sim/world/failure.h"

namespace deadrank::sim {

void Gate::ask(Process& process, Call& call) {
    call.rank = process.id;
    call.step = process.step;
    call.phase = process.phase;
    call.now = machine_.engine.now();
    interceptor_->before(call);
    machine_.processes.settle(process);
    if (call.delay > Time{0}) machine_.engine.sleep(call.delay);
    process.pending_stop |= call.stop;
    if (call.kill_signal != 0) process.pending_signal = call.kill_signal;
    machine_.processes.settle(process);
}

bool Gate::plain(Process& process, Call& call) {
    pass(process, call);
    if (call.answer != results::Code::ok) {
        throw LibraryError(call.answer, fmt::format("RuntimeError: {} failed: {}", call.name,
                                                    results::name_of(call.answer)));
    }
    if (call.never_completes) {
        machine_.wait(process, {.kind = WaitKind::other}, [] { return false; });
    }
    return call.skip;
}

}  // namespace deadrank::sim

// sim/machine/gate.h — Before each call of an armed process somebody outside may look at it and alter it.
// Others pay one branch.
#pragma once

#include "sim/machine/call.h"
#include "sim/machine/process.h"

namespace deadrank::sim {

struct Machine;

class Gate {
public:
    explicit Gate(Machine& machine) : machine_(machine) {}

    void intercept(Interceptor* interceptor) { interceptor_ = interceptor; }

    // Asks, then waits, stops, kills or raises as it was told. What is left in `call` is the caller's to
    // honour. Must run on the process's own fiber.
    void pass(Process& process, Call& call) {
        if (process.armed && interceptor_) ask(process, call);
    }

    // Answers that all callers treat alike. True: the call is to be skipped.
    // Throws LibraryError for `answer`, and never comes back from `never_completes`.
    bool plain(Process& process, Call& call);

private:
    void ask(Process& process, Call& call);

    Machine& machine_;
    Interceptor* interceptor_ = nullptr;
};

}  // namespace deadrank::sim

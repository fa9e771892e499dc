// sim/examples/engine.cpp — The engine alone: actors on fibers in virtual time, a time-out, and a deadlock
// that is found at once. It prints the same on every machine.
#include <chrono>
#include <cstdio>
#include <deadrank/sim/engine/engine.h>
#include <deadrank/sim/engine/stage.h>

namespace sim = deadrank::sim;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;

namespace {

void say(const sim::Engine& engine, const char* what) {
    std::printf("%8lld ns  %s\n", static_cast<long long>(engine.now().count()), what);
}

void play(sim::Engine& engine) {
    engine.reset({.actors = 2});
    bool sent = false;
    engine.spawn(0, [&] {
        engine.sleep(5us);  // passes in virtual time, and takes none
        sent = true;
        engine.wake(1);
        say(engine, "the sender has sent");
        engine.block({.what = "an answer", .on = 1});
    });
    engine.spawn(1, [&] {
        while (!sent) engine.block({.what = "a message", .on = 0});  // wakes may be spurious
        say(engine, "the receiver has the message");
        const auto deadline = engine.now() + 1ms;
        while (engine.block_until(deadline, {.what = "a second message", .on = 0})) {
        }
        say(engine, "the receiver gives up");
        engine.block({.what = "a third message", .on = 0});
    });
    engine.call_after(2us, {.label = "look"}, [&engine] { say(engine, "a handler runs"); });

    const sim::EngineEnd end = engine.run();
    say(engine, end.ending == sim::Ending::deadlock ? "deadlock: nothing can happen any more" : "the end");
    for (const auto& [actor, wait, frozen] : end.waiting)
        std::printf("             actor %u waits for %s from actor %u\n", actor, wait.what, wait.on);
    std::printf("             trace hash %016llx\n", static_cast<unsigned long long>(engine.trace().value()));
    engine.close();
}

}  // namespace

int main() { sim::on_stage(play); }

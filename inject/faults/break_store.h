// inject/faults/break_store.h — The way between some ranks and the rendezvous store is not what it was: a
// firewall that forgets connections, a sidecar that resets them, a queue of the store that overflowed.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind break_store() {
    return {{.name = "break_store",
             .what = "What these ranks and the rendezvous store say to each other is disturbed on its way.",
             .parameters =
                 {rank_parameter(),
                  {"how",
                   ValueType::choice,
                   "mute",
                   "nothing passes and nobody is told; new connections are refused; connections break; all "
                   "comes later; little passes a second; one bit of an answer turns",
                   {"mute", "refuse", "cut", "late", "narrow", "flip"}},
                  {"latency", ValueType::duration, "1s", "late: how much later", {}, false, 0},
                  {"amount",
                   ValueType::integer,
                   "0",
                   "cut: bytes that still pass; narrow: bytes a second; flip: which bit of the answers",
                   {},
                   false,
                   0}},
             .levers = {ChangeStore::lever}},
            [](const FaultSpec& spec) {
                const StoreChange change{.how = results::store_trouble_named(spec.text("how")),
                                         .late = duration(spec, "latency"),
                                         .amount = spec.number("amount")};
                return make_deed(spec, {.apply =
                                            [change](Levers& levers, Rank rank) {
                                                return levers.pull(ChangeStore{rank, change});
                                            },
                                        .revert =
                                            [](Levers& levers, Rank rank) {
                                                (void)levers.pull(ChangeStore{rank, {}});
                                            },
                                        .blame = aimed(spec, {.component = "store"})});
            }};
}

}  // namespace deadrank::inject

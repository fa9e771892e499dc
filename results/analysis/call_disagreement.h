// results/analysis/call_disagreement.h — Which ranks are odd in one collective.
#pragma once

#include <string>
#include <vector>

#include "results/analysis/call_order.h"
#include "results/analysis/calls.h"
#include "results/record/evidence.h"

namespace deadrank::results::analysis {

// The odd ranks in one collective: those outside the majority, or of two sides of a size the one with an
// unusual call. Where neither tells, both sides are odd.
//
// A minority that came with a call of a step that the majority has ended either made a call too many, or the
// majority left it out. What they did in such a phase before tells: if they all called, the majority left it
// out. Nothing tells in the first phase of its kind, such as the first save, which rank 0 alone is asked for:
// then both sides are named. So they are where of two sides of a size one begins something that was never
// done before while the other has gone on to its next step.
//
// Where sizes alone differ, that most have one size does not make it right. If the group has just agreed on a
// size (all learnt the largest of a few integers, or one member told them), who comes with another one is
// odd; else who changed its size since it was last at this place, while the others kept theirs.
struct Disagreement {
    std::vector<Rank> odd = {};  // processes
    const CollectiveEnter* usual = nullptr;
    const CollectiveEnter* unusual = nullptr;
    bool skipped =
        false;  // the odd ones left a call out and are one ahead; their calls are right in themselves
    std::string aspect = {};  // "512 elements instead of 1024", or "against" where nothing tells who is right

    explicit operator bool() const { return unusual != nullptr; }
};

// Compares the members that came. Nothing if they agree.
Disagreement find_disagreement(const Evidence& evidence, const Communicator& comm,
                               const Collective& collective);

}  // namespace deadrank::results::analysis

// results/analysis/odd_ranks.h — Which ranks are odd: in one collective, or by the pattern of their peers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

// Which device each process has, and which processes break the pattern of their peers. The pattern is the
// distance between the n-th process of a host and the n-th device that most processes of the job have:
// usually 0; 4 where the first half of each host belongs to another job.

class DevicesInUse {
public:
    explicit DevicesInUse(const Evidence& evidence);

    // The device that the rank computes on, or the pattern's if that was not recorded; -1 if the rank was
    // never seen to start.
    std::int32_t of(Rank rank) const;

    // A process off the pattern that shares its device, or that uses one outside of the pattern on a host
    // where most processes keep to it. Processes that exchanged their devices are not odd, nor is any process
    // on a host with fewer devices than processes. Nor are those that share devices alike on every host.
    struct Odd {
        Rank rank = no_rank;
        std::int32_t device = 0, usual = 0;
        Time at{0};
    };
    const std::vector<Odd>& odd() const { return odd_; }

private:
    struct Seat {
        std::int32_t node = 0, place = 0;
        TextId environment = {};
        std::optional<std::int32_t> device;
        Time at{0};
        std::int32_t offset() const { return *device - place; }
    };
    using Attempt = std::map<Rank, Seat>;  // who was there between two restarts

    void find_odd(const Evidence& evidence, const Attempt& attempt, std::int32_t devices_on_host);

    std::map<Rank, std::int32_t> last_;
    std::vector<Odd> odd_;
};

}  // namespace deadrank::results::analysis

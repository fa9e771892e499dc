// sim/collectives/communicator_gloo.cpp — Where gloo differs from NCCL: ranks are joined by connections,
// which report their end, and a rank that receives more than its buffer holds aborts. Any other mismatch
// waits, as with NCCL.
#include <algorithm>

#include "results/record/codes.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/fabric.h"
#include "sim/collectives/library_texts.h"

namespace deadrank::sim {

namespace {

constexpr Time notice{50'000};  // until a connection's end, or a message, has come

// What a call is on the wire: torch runs a reduce_scatter over gloo as an all_reduce of the whole input.
struct Sent {
    results::Op op;
    std::int32_t root;
    std::int64_t bytes;

    Sent(const Offer& offer, Rank members)
        : op(offer.op), root(offer.root), bytes(offer.count * results::size_of(offer.dtype)) {
        if (op != results::Op::reduce_scatter) return;
        op = results::Op::all_reduce;
        bytes *= members;
    }
};

}  // namespace

void Communicator::lose_peer(Rank index, Rank peer) {
    if (!over_gloo() || member(index).gone) return;
    const Process& lost = machine_.processes[member(peer).process];
    const std::string text = gloo_closed_text(machine_.topology.host_name(lost.node));
    const auto actor = static_cast<ActorId>(member(index).process);
    machine_.engine.call_after(notice, {actor, id_, "gloo"},
                               [this, index, text] { async_error(index, Code::remote_error, text); });
}

// All that wait in a call that the lost rank had not left; other calls may wait for it later.
void Communicator::break_waiting_members(Rank lost) {
    for (const Member& other : members_) {
        const bool waits = std::any_of(open_.begin(), open_.end(), [&](const auto& pending) {
            const Offer& own = offer(*pending, other.place);
            return offer(*pending, lost).gone && own.arrived && !own.left;
        });
        if (waits || p2p_.waits_for(other.place, lost)) lose_peer(other.place, lost);
    }
}

// Only where all make the same call: another operation has other messages, and these are waited for.
void Communicator::abort_shorter_messages(const PendingCollective& pending) {
    const Sent first(pending.offers.front(), size());
    std::int64_t longest = 0;
    for (const Offer& offer : pending.offers) {
        const Sent sent(offer, size());
        if (sent.op != first.op || sent.root != first.root) return;
        longest = std::max(longest, sent.bytes);
    }
    for (const Offer& offer : pending.offers) {
        const std::int64_t room = Sent(offer, size()).bytes;
        if (room == longest || offer.gone) continue;
        Process& process = machine_.processes[member(offer.place).process];
        const int pid = process.pid;
        const auto actor = static_cast<ActorId>(process.id);
        machine_.engine.call_after(notice, {actor, id_, "gloo"}, [this, &process, pid, longest, room] {
            if (!process.alive || process.pid != pid) return;
            machine_.recorder.log(process.id, 2, gloo_terminate_text());
            machine_.recorder.log(process.id, 2, gloo_too_long_text(longest, room));
            machine_.processes.signal(process, results::sigabrt);
        });
    }
}

}  // namespace deadrank::sim

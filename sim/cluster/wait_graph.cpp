// sim/cluster/wait_graph.cpp — "rank 0 waits in all_reduce #7 of world for rank 3, which exited (signal 9)".
#include "sim/cluster/wait_graph.h"

#include <fmt/format.h>

#include "sim/collectives/fabric.h"
#include "sim/world/members.h"

namespace deadrank::sim {

namespace {

std::string state_of(const Process& process) {
    switch (process.end) {
        case ProcessEnd::finished:
            return "which finished";
        case ProcessEnd::failed:
            return fmt::format("which exited (code {})", process.exit_code);
        case ProcessEnd::killed:
            return process.lost ? "which was lost with its node"
                                : fmt::format("which exited (signal {})", process.exit_signal);
        default:
            break;
    }
    return process.stopped ? "which is stopped" : "";
}

std::string named(const Process& process) {
    const std::string state = state_of(process);
    return fmt::format("rank {}{}{}", process.id, state.empty() ? "" : ", ", state);
}

std::string listed_ranks(const Fabric& machine, const std::vector<Rank>& ranks) {
    if (ranks.size() == 1) return named(machine.processes[ranks.front()]);
    return fmt::format("ranks {}", rank_list(ranks));
}

std::string op_text(const Offer& offer, std::int64_t seq) {
    return fmt::format("{} #{} of {} {}", results::name_of(offer.op), seq, offer.count,
                       results::name_of(offer.dtype));
}

std::string collective_words(const Fabric& machine, const Process& process, const Communicator& comm,
                             std::int64_t seq) {
    const PendingCollective* own = comm.pending(seq);
    if (!own) return "waits for a call that is over";
    Rank mine = 0;
    for (const auto& [known, index] : process.comms) {
        if (known == &comm) mine = index;
    }
    const Offer& offer = offer_at(*own, mine);
    const std::string where =
        fmt::format("waits in {} #{} of {}", results::name_of(offer.op), seq, comm.name());
    // Calls end in order: what holds up an earlier one holds up this one.
    const PendingCollective& front = *comm.pending(comm.last_completed() + 1);
    std::vector<Rank> missing, spoilers, still;
    for (const Offer& other : front.offers) {
        const Rank peer = comm.member(other.place).process;
        if (!other.arrived) missing.push_back(peer);
        if (other.arrived && (other.gone || other.stuck)) spoilers.push_back(peer);
        if (!other.left && machine.processes[peer].stopped) still.push_back(peer);
    }
    if (!missing.empty()) return fmt::format("{} for {}", where, listed_ranks(machine, missing));
    if (!spoilers.empty())
        return fmt::format("{} for {}, whose kernel never ended", where, listed_ranks(machine, spoilers));
    if (!still.empty() && front.state == PendingCollective::State::moving)
        return fmt::format("{} for {}", where, listed_ranks(machine, still));
    for (const Offer& other : front.offers) {
        const Offer& first = front.offers.front();
        if (fits(other, first)) continue;
        return fmt::format("{}: rank {} called {}, rank {} called {}", where, comm.member(0).process,
                           op_text(first, front.seq), comm.member(other.place).process,
                           op_text(other, front.seq));
    }
    return fmt::format("{}: its connections are broken", where);
}

std::string words(const Fabric& machine, const Process& process) {
    const WaitNote& note = process.waits;
    switch (note.kind) {
        case WaitKind::collective:
            return collective_words(machine, process, *note.comm, note.number);
        case WaitKind::send:
        case WaitKind::recv: {
            if (note.number == any_source)
                return fmt::format("waits in recv from anybody on {}", note.comm->name());
            const char* way = note.kind == WaitKind::send ? "send to" : "recv from";
            const Process& peer =
                machine.processes[note.comm->member(static_cast<Rank>(note.number)).process];
            return fmt::format("waits in {} {} on {}", way, named(peer), note.comm->name());
        }
        case WaitKind::comm_init: {
            const std::vector<Rank> missing = machine.bootstrap.missing(process);
            const std::string where = fmt::format("waits in comm_init of {}", note.text ? *note.text : "");
            return missing.empty() ? where + ": the root has given up, and tells nobody"
                                   : fmt::format("{} for {}", where, listed_ranks(machine, missing));
        }
        case WaitKind::destroy:
            return fmt::format("waits in destroy_process_group of {}", note.comm->name());
        case WaitKind::store:
            return fmt::format("waits at the store for {}", note.text ? *note.text : "");
        default:
            return process.stopped ? "is stopped" : "waits for something that never ends";
    }
}

}  // namespace

std::vector<std::string> wait_graph(const Fabric& machine) {
    std::vector<std::string> lines;
    for (const Process& process : machine.processes.all()) {
        if (process.alive)
            lines.push_back(fmt::format("rank {}{} {}", process.id, process.stopped ? " (stopped)" : "",
                                        words(machine, process)));
    }
    return lines;
}

}  // namespace deadrank::sim

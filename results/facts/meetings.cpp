// results/facts/meetings.cpp — Calls as a graph of processes, whose connected parts are found.
#include "results/facts/meetings.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "results/facts/calls.h"
#include "results/facts/lives.h"

namespace deadrank::results::detectors {

namespace {

class Graph {
public:
    explicit Graph(std::size_t count) : above_(count) { std::iota(above_.begin(), above_.end(), 0u); }

    std::uint32_t of(std::size_t one) {
        while (above_[one] != one) one = above_[one] = above_[above_[one]];
        return static_cast<std::uint32_t>(one);
    }
    void join(Rank a, Rank b) { above_[of(static_cast<std::size_t>(a))] = of(static_cast<std::size_t>(b)); }

private:
    std::vector<std::uint32_t> above_;
};

Time first_step(const Evidence& evidence) {
    const auto steps = evidence.each<StepBegin>();
    return steps.empty() ? Time{0} : steps.front()->at;
}

// By process; of those that have ended none, the end of time.
std::vector<Time> last_steps(const Evidence& evidence) {
    std::vector<Time> ended(static_cast<std::size_t>(evidence.facts<Lives>().count()), Time::max());
    for (const Event* event : evidence.each<StepEnd>()) {
        const auto process = static_cast<std::size_t>(event->rank);
        if (event->rank >= 0 && process < ended.size()) ended[process] = event->at;
    }
    return ended;
}

}  // namespace

Meetings::Meetings(const Evidence& evidence, Time until)
    : Meetings(evidence, first_step(evidence), {}, until) {}

Meetings::Meetings(const Evidence& evidence)
    : Meetings(evidence, first_step(evidence), last_steps(evidence), evidence.observed_until()) {}

Meetings::Meetings(const Evidence& evidence, Time from, const std::vector<Time>& until, Time until_at_most) {
    const Calls& calls = evidence.facts<Calls>();
    const auto processes = static_cast<std::size_t>(evidence.facts<Lives>().count());
    Graph graph(processes);
    const auto counts = [&](Rank process, Time entered) {
        if (!until.empty() && entered >= until[static_cast<std::size_t>(process)]) return false;
        return entered >= from && entered <= until_at_most;
    };
    for (const Communicator& comm : calls.communicators()) {
        for (const auto& [seq, collective] : comm.collectives) {
            Rank first = no_rank;
            const std::size_t places = std::min(collective.calls.size(), comm.processes.size());
            for (std::size_t place = 0; place < places; ++place) {
                const Rank process = comm.processes[place];
                const Call& call = collective.calls[place];
                if (process == no_rank || !call.what || !counts(process, call.entered)) continue;
                if (first == no_rank) first = process;
                graph.join(first, process);
            }
        }
    }
    for (const Event* event : evidence.each<P2pEnter>()) {
        const auto* call = event->as<P2pEnter>();
        const Communicator* comm = calls.find(evidence.facts<Lives>().attempt_at(event->at), call->comm);
        const auto place = static_cast<std::size_t>(call->peer);
        if (event->rank < 0 || !counts(event->rank, event->at) || !comm || call->peer < 0 ||
            place >= comm->processes.size() || comm->processes[place] == no_rank)
            continue;
        graph.join(event->rank, comm->processes[place]);
    }
    part_of_.reserve(processes);
    members_.resize(processes);
    for (std::size_t process = 0; process < processes; ++process) {
        part_of_.push_back(graph.of(process));
        parts_ += members_[part_of_.back()]++ == 0;
    }
}

std::size_t Meetings::of(Rank process) const { return part_of_[static_cast<std::size_t>(process)]; }

bool Meetings::meets(Rank process) const { return members_[of(process)] > 1; }

}  // namespace deadrank::results::detectors

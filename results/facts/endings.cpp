// results/facts/endings.cpp — The last calls of all ranks against how they left, and the calls that came
// after an error that was caught.
#include "results/facts/endings.h"

#include <algorithm>

#include "results/facts/calls.h"
#include "results/facts/complaints.h"
#include "results/facts/lives.h"

namespace deadrank::results::detectors {

bool agreed_to_end(const Evidence& evidence, std::int64_t done) {
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempts() - 1;
    Rank left = 0;
    Time last_began{0};
    for (const Life& life : lives.of(attempt)) {
        if (!life.start) continue;
        if (life.ended == never || life.failed() || life.step <= done) return false;
        ++left;
    }
    for (const Event* event : evidence.each<StepBegin>())
        if (event->as<StepBegin>()->step > done) last_began = std::max(last_began, event->at);
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        if (comm.attempt != attempt || std::ssize(comm.processes) != left || comm.collectives.empty())
            continue;
        const auto& calls = comm.collectives.rbegin()->second.calls;
        const bool met =
            std::ssize(calls) == left && std::all_of(calls.begin(), calls.end(), [&](const Call& call) {
                return call.what && call.left != never && call.entered >= last_began;
            });
        if (met) return true;
    }
    return false;
}

namespace {

// Which of these ranks, ascending, are named by any of the events.
class Ticks {
public:
    explicit Ticks(const std::vector<Rank>& ranks) : ranks_(ranks), ticked_(ranks.size()) {}

    void tick(Rank rank) {
        const auto at = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
        if (at != ranks_.end() && *at == rank) ticked_[static_cast<std::size_t>(at - ranks_.begin())] = true;
    }
    bool has(std::size_t place) const { return ticked_[place]; }

private:
    const std::vector<Rank>& ranks_;
    std::vector<bool> ticked_;
};

}  // namespace

bool outlived(const Evidence& evidence, const Outbreak& outbreak) {
    const Lives& lives = evidence.facts<Lives>();
    Ticks called(outbreak.ranks), timed_out(outbreak.ranks);
    for (const Event* event : evidence.each<CollectiveEnter>()) {
        if (event->at >= outbreak.at && lives.attempt_at(event->at) == outbreak.attempt)
            called.tick(event->rank);
    }
    for (const Complaint& complaint : evidence.facts<Complaints>().all()) {
        if (complaint.trouble == Trouble::timeout && complaint.attempt == outbreak.attempt &&
            complaint.at > outbreak.at)
            timed_out.tick(complaint.process);
    }
    for (std::size_t i = 0; i < outbreak.ranks.size(); ++i) {
        const Life* life = lives.find(outbreak.attempt, outbreak.ranks[i]);
        const bool died = life && life->failed() && life->signal != 9 && life->signal != 15;
        if (!called.has(i) || (died && !timed_out.has(i))) return false;
    }
    return true;
}

}  // namespace deadrank::results::detectors

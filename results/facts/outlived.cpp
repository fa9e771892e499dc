// results/facts/outlived.cpp — Who went on after an error: it entered another call, and what ended it, if
// anything did, was not the error.
#include <algorithm>
#include <vector>

#include "results/facts/complaints.h"

namespace deadrank::results::detectors {

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

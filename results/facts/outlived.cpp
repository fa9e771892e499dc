// results/facts/outlived.cpp — Who went on after an error: it entered another call, and what ended it, if
// anything did, was not the error.
#include <algorithm>
#include <vector>

#include "results/facts/complaints.h"

namespace deadrank::results::detectors {

bool outlived(const Evidence& evidence, const Outbreak& outbreak) {
    const Lives& lives = evidence.facts<Lives>();
    const auto& complaints = evidence.facts<Complaints>().all();
    std::vector<bool> called(outbreak.ranks.size());
    const auto place = [&](Rank rank) {
        return std::lower_bound(outbreak.ranks.begin(), outbreak.ranks.end(), rank) - outbreak.ranks.begin();
    };
    for (const Event* event : evidence.each<CollectiveEnter>()) {
        if (event->at < outbreak.at || lives.attempt_at(event->at) != outbreak.attempt) continue;
        if (outbreak.includes(event->rank)) called[static_cast<std::size_t>(place(event->rank))] = true;
    }
    if (std::find(called.begin(), called.end(), false) != called.end()) return false;
    return std::all_of(outbreak.ranks.begin(), outbreak.ranks.end(), [&](Rank rank) {
        const Life* life = lives.find(outbreak.attempt, rank);
        if (!life || !life->failed() || life->signal == 9 || life->signal == 15) return true;
        return std::any_of(complaints.begin(), complaints.end(), [&](const Complaint& complaint) {
            return complaint.process == rank && complaint.attempt == outbreak.attempt &&
                   complaint.at > outbreak.at && complaint.trouble == Trouble::timeout;
        });
    });
}

}  // namespace deadrank::results::detectors

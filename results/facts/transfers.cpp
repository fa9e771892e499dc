// results/facts/transfers.cpp — A transfer begins when the last member came, or when the one before
// it was over.
#include "results/facts/transfers.h"

#include <algorithm>

namespace deadrank::results::detectors {

std::vector<CommTransfers> transfers_of(const Evidence& evidence) {
    std::vector<CommTransfers> all;
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        CommTransfers transfers{.comm = &comm};
        Time before{0};
        for (const auto& [seq, meeting] : comm.meetings) {
            Time left{0};
            for (const Call& call : meeting.calls) left = std::max(left, call.left);
            const Time complete = meeting.complete_at();
            if (complete == never || left == never || meeting.calls.size() < 2) continue;
            const CollectiveEnter& what = *meeting.calls.front().what;
            const Time began = std::max(complete, before);
            // With asynchronous calls the later of two ends is seen first where it is waited for.
            const Time first_left =
                std::min_element(meeting.calls.begin(), meeting.calls.end(),
                                 [](const Call& a, const Call& b) { return a.left < b.left; })
                    ->left;
            transfers.kinds[{what.op, what.count * size_of(what.dtype)}].push_back(
                {left, std::max(Time{0}, first_left - began)});
            before = std::max(before, first_left);
        }
        all.push_back(std::move(transfers));
    }
    return all;
}

}  // namespace deadrank::results::detectors

// results/facts/transfers.cpp — How long calls took once all members had come.
#include <algorithm>

#include "results/facts/paces.h"

namespace deadrank::results::detectors {

// A transfer begins when the last member came, or when the transfer before it ended.

std::vector<CommTransfers> transfers_of(const Evidence& evidence) {
    std::vector<CommTransfers> all;
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        CommTransfers transfers{.comm = &comm};
        Time before{0};
        for (const auto& [seq, collective] : comm.collectives) {
            Time left{0};
            for (const Call& call : collective.calls) left = std::max(left, call.left);
            const Time complete = collective.complete_at();
            if (complete == never || left == never || collective.calls.size() < 2) continue;
            const CollectiveEnter& what = *collective.calls.front().what;
            const Time began = std::max(complete, before);
            // With asynchronous calls the end of a later one may be seen first, if it is waited for first.
            const Time first_left =
                std::min_element(collective.calls.begin(), collective.calls.end(),
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

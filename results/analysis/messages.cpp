// results/analysis/messages.cpp — Sends and receives matched in the order in which they were made. Both ends
// count their own messages, so that their numbers say nothing about each other.
#include "results/analysis/messages.h"

#include <algorithm>

namespace deadrank::results::analysis {

Messages::Lane* Messages::lane_of(const Event& event, CommId comm, std::int32_t peer, Op op) {
    const int attempt = lives_.attempt_at(event.at);
    const Communicator* members = calls_.find(attempt, comm);
    const auto place = static_cast<std::size_t>(std::max(peer, 0));
    if (!members || peer < 0 || place >= members->processes.size()) return nullptr;
    const Rank other = members->processes[place];
    const bool sends = op == Op::send;
    return &lanes_[{attempt, comm, sends ? event.rank : other, sends ? other : event.rank}];
}

void Messages::enters(const Event& event, std::uint32_t mark) {
    const auto* enter = event.as<P2pEnter>();
    Lane* lane = lane_of(event, enter->comm, enter->peer, enter->op);
    if (!lane) return;
    const bool sends = enter->op == Op::send;
    std::size_t& next = sends ? lane->sends : lane->receives;
    if (next == lane->messages.size()) lane->messages.emplace_back();
    Message& message = lane->messages[next++];
    (sends ? message.sent : message.taken) = event.at;
    (sends ? message.send_seq : message.receive_seq) = enter->seq;
    (sends ? message.send_mark : message.receive_mark) = mark;
}

UnderWay Messages::leaves(const Event& event, std::uint32_t unknown) {
    const auto* leave = event.as<P2pLeave>();
    Lane* lane = lane_of(event, leave->comm, leave->peer, leave->op);
    if (!lane) return {.mark = unknown};
    const bool sends = leave->op == Op::send;
    const auto found =
        std::find_if(lane->messages.begin(), lane->messages.end(), [&](const Message& message) {
            return (sends ? message.send_seq : message.receive_seq) == leave->seq;
        });
    if (found == lane->messages.end()) return {.mark = unknown};
    const Time from = std::max(found->sent, found->taken);
    const UnderWay message{from, std::max(from, std::min(event.at, found->received)),
                           sends ? found->send_mark : found->receive_mark};
    if (sends) found->send_over = true;
    if (!sends) found->received = event.at;
    while (!lane->messages.empty() && lane->messages.front().send_over &&
           lane->messages.front().received != never) {
        lane->messages.pop_front();
        --lane->sends;
        --lane->receives;
    }
    return sends && message.from != never ? message : UnderWay{.mark = message.mark};
}

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

}  // namespace deadrank::results::analysis

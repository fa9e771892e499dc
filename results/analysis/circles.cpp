// results/analysis/circles.cpp — Follows who waits for whom to the ranks that wait for nobody outside of
// their own circle; whose message is missing in it, and how it is told.
#include "results/analysis/circles.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "results/analysis/error_quote.h"
#include "results/analysis/findings.h"
#include "results/analysis/waits.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::analysis {

using scenarios::Cause;

namespace {

// The ranks that can be reached from that one along the graph; itself only if it can be.
std::set<Rank> reached_from(const WaitGraph& graph, Rank start) {
    std::set<Rank> reached;
    std::vector<Rank> left = {start};
    while (!left.empty()) {
        const auto found = graph.find(left.back());
        left.pop_back();
        if (found == graph.end()) continue;
        for (const Rank next : found->second)
            if (reached.insert(next).second) left.push_back(next);
    }
    return reached;
}

WaitGraph reverse_graph(const WaitGraph& graph) {
    WaitGraph turned;
    for (const auto& [rank, waits_for] : graph)
        for (const Rank other : waits_for) turned[other].push_back(rank);
    return turned;
}

}  // namespace

std::vector<Circle> closed_circles(const WaitGraph& graph) {
    const WaitGraph turned = reverse_graph(graph);
    std::vector<Circle> circles;
    std::set<Rank> seen;
    for (const auto& [rank, unused] : graph) {
        // Each turn goes on to a rank further down, until all that a rank reaches also reach it.
        for (Rank start = rank; seen.insert(start).second;) {
            const std::set<Rank> down = reached_from(graph, start), up = reached_from(turned, start);
            const auto further =
                std::find_if(down.begin(), down.end(), [&](Rank one) { return !up.contains(one); });
            if (further != down.end()) {
                start = *further;
                continue;
            }
            if (!down.contains(start)) break;   // it waits for nobody that is known
            seen.insert(up.begin(), up.end());  // none of these is in another closed circle
            circles.push_back({{down.begin(), down.end()}, {up.begin(), up.end()}});
            break;
        }
    }
    std::sort(circles.begin(), circles.end(),
              [](const Circle& a, const Circle& b) { return a.members.front() < b.members.front(); });
    return circles;
}

namespace {

// What the program raises, and not what a call says of its peers.
bool is_raised_by_program(const Complaint& complaint) {
    switch (complaint.trouble) {
        case Trouble::none:
        case Trouble::launcher:
        case Trouble::mismatch:
        case Trouble::timeout:
        case Trouble::connection:
        case Trouble::setup:
            return false;
        default:
            return complaint.comm == 0;
    }
}

}  // namespace

// The error that a rank raised in the step in which it stands: what it waits in since, if in anything, is its
// way out, or was begun before and is never asked for. Empty if there is none.
std::string_view Waits::raised_by(Rank rank) const {
    const Life* life = lives_.find(attempt_, rank);
    for (const Complaint& complaint : evidence_.facts<Complaints>().all()) {
        if (complaint.process != rank || complaint.attempt != attempt_ || complaint.at > when_) continue;
        const bool here = life && step_at(evidence_, rank, complaint.at).value_or(-1) == life->step;
        if (here && is_raised_by_program(complaint)) return complaint.text;
    }
    return {};
}

// Some of the circle have raised an error and the others have not: those wait for them.
bool Waits::find_culprits_by_error(const Circle& circle, Standstill& found) const {
    for (const Rank rank : circle.members)
        if (!raised_by(rank).empty()) found.culprits.push_back(rank);
    const Wait* wait = wait_for(found.culprits);
    if (found.culprits.empty() || found.culprits.size() == circle.members.size() || !wait) {
        found.culprits.clear();
        return false;
    }
    found.last = *wait;
    found.call_skipped = true;
    found.cause = id_of(Cause::unpropagated_rank_failure);
    found.why =
        fmt::format("{} had raised an error, and {} is never over without {}: {}", ranks_text(found.culprits),
                    call_text(*wait), found.culprits.size() == 1 ? "it" : "them",
                    quoted(raised_by(found.culprits.front())));
    return true;
}

namespace {

// How many messages one process sent another in each of its steps.
std::map<std::int64_t, std::size_t> sent_by_step(const Evidence& evidence, const Communicator& comm,
                                                 Rank sender, Rank receiver, Time until) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::int64_t, std::size_t> sent;
    std::map<Time, std::int64_t> begun;
    for (const Event* event : evidence.each<StepBegin>()) {
        if (event->rank != sender || lives.attempt_at(event->at) != comm.attempt) continue;
        begun[event->at] = event->as<StepBegin>()->step;
        sent[event->as<StepBegin>()->step];
    }
    for (const Event* event : evidence.each<P2pEnter>()) {
        const auto* enter = event->as<P2pEnter>();
        const bool ours = event->rank == sender && enter->op == Op::send && enter->comm == comm.id;
        if (!ours || event->at > until || lives.attempt_at(event->at) != comm.attempt) continue;
        const auto place = static_cast<std::size_t>(std::max(enter->peer, 0));
        const auto next = begun.upper_bound(event->at);
        if (place < comm.processes.size() && comm.processes[place] == receiver && next != begun.begin())
            ++sent[std::prev(next)->second];
    }
    return sent;
}

}  // namespace

// A rank waits in a call, and another one, which is missing there, is in a later step.
bool Waits::continued_without(const Wait& wait, Rank waiting, Rank missing) const {
    const Life* here = lives_.find(attempt_, waiting);
    const Life* there = lives_.find(attempt_, missing);
    const bool is_missing =
        std::find(wait.for_whom.begin(), wait.for_whom.end(), missing) != wait.for_whom.end();
    return is_missing && here && there && there->step > here->step;
}

// Who waits to receive from a rank that has sent to it before, and has gone on to a collective, is a victim,
// unless it has left out that collective itself.
// If the sender sent as many messages as in its step before, it is the receiver that takes one too many. A
// rank that has never sent there may have its message still before it, after a call that all of them make.
bool Waits::find_culprits_by_message(const Circle& circle, Standstill& found) const {
    for (const Rank receiver : circle.behind_it) {
        for (const Wait& wait : waits_.at(receiver)) {
            if (wait.op != Op::recv || wait.collective) continue;
            const Rank sender = wait.for_whom.front();
            const auto theirs = waits_.find(sender);
            if (theirs == waits_.end() ||
                !std::all_of(theirs->second.begin(), theirs->second.end(),
                             [](const Wait& other) { return other.collective != nullptr; }))
                continue;
            const auto sent = sent_by_step(evidence_, *wait.comm, sender, receiver, when_);
            const Life* life = lives_.find(attempt_, receiver);
            const auto any = [](const auto& step) { return step.second > 0; };
            if (std::none_of(sent.begin(), sent.end(), any)) continue;
            const auto here = life ? sent.find(life->step) : sent.end();
            const bool known = here != sent.end() && here != sent.begin() && any(*std::prev(here));
            const bool all_sent = known && here->second >= std::prev(here)->second;
            const Wait& gone = theirs->second.front();
            if (continued_without(gone, sender, receiver)) {
                found.culprits = {receiver};
                found.last = gone;
                found.call_skipped = true;
                found.why = fmt::format(
                    "rank {} never entered {}: it has gone on to step {}, and waits to receive from rank {}",
                    receiver, call_text(gone), life->step, sender);
                found.cause = id_of(Cause::rank_divergent_control_flow);
                return true;
            }
            if (found.culprits.empty()) {
                found.last = wait;
                found.why =
                    fmt::format("rank {} waits to receive from rank {}, which {} {}", receiver, sender,
                                all_sent ? "sent as many messages as before and waits in"
                                         : "has gone on without sending, to",
                                call_text(gone));
            }
            found.culprits.push_back(all_sent ? receiver : sender);
        }
    }
    found.culprits = sorted(std::move(found.culprits));
    return !found.culprits.empty();
}

namespace {

bool most_have_arrived(const Wait& wait) {
    const std::size_t missing = wait.for_whom.size();
    return wait.collective && missing > 0 && missing * 2 < wait.collective->calls.size();
}

}  // namespace

// Of the collectives that most of a group has entered, the wait with the fewest ranks missing; of several,
// the one that began first, since it holds up the others. Null if no group has a majority, as in a pair. Half
// of a group is enough, two at least, where it waits in a barrier and the others in messages.
const Wait* Waits::find_nearly_complete_wait(const Circle& circle) const {
    const Wait *least = nullptr, *half = nullptr;
    std::set<const Collective*> met;
    for (const Rank process : circle.behind_it) {
        for (const Wait& wait : waits_.at(process)) {
            if (!wait.collective) continue;
            met.insert(wait.collective);
            const std::size_t missing = wait.for_whom.size();
            const bool by_half = missing >= 2 && missing * 2 == wait.collective->calls.size();
            if (by_half && wait.op == Op::barrier) half = &wait;
            if (!most_have_arrived(wait)) continue;
            const auto order = [](const Wait& one) { return std::pair(one.for_whom.size(), one.since); };
            if (!least || order(wait) < order(*least)) least = &wait;
        }
    }
    return least || met.size() > 1 ? least : half;
}

// Who is missing in further groups of the circle to which most have come, has not come to one itself, and
// does not wait for who is missing in the first.
std::vector<Rank> Waits::find_missing_elsewhere(const Circle& circle, const Wait& least) const {
    std::set<Rank> excused(least.for_whom.begin(), least.for_whom.end()), missing;
    for (const Rank process : circle.behind_it) {
        for (const Wait& wait : waits_.at(process)) {
            const bool for_them =
                std::find_first_of(wait.for_whom.begin(), wait.for_whom.end(), least.for_whom.begin(),
                                   least.for_whom.end()) != wait.for_whom.end();
            if (for_them || most_have_arrived(wait)) excused.insert(process);
            if (!most_have_arrived(wait)) continue;
            missing.insert(wait.for_whom.begin(), wait.for_whom.end());
        }
    }
    std::vector<Rank> all;
    std::set_difference(missing.begin(), missing.end(), excused.begin(), excused.end(),
                        std::back_inserter(all));
    return all;
}

// "; rank 0 waits there, and for it ranks 1-3 in all_reduce (operation 5 of dp)": those who wait for the ones
// that are kept waiting, link by link.
std::string Waits::describe_ranks_left_behind(const Standstill& found) const {
    constexpr std::size_t links_max = 3;
    std::set<Rank> front, told;
    for (const auto& [rank, waits] : waits_)
        for (const Wait& wait : waits)
            if (wait.comm == found.last.comm && wait.seq == found.last.seq && wait.op == found.last.op)
                front.insert(rank);
    std::string text;
    told = front;
    for (std::size_t link = 0; link < links_max && !front.empty(); ++link) {
        std::map<std::string, std::set<Rank>> next;
        for (const auto& [rank, waits] : waits_) {
            const Wait& wait = waits.front();
            const bool behind = std::any_of(wait.for_whom.begin(), wait.for_whom.end(),
                                            [&](Rank one) { return front.contains(one); });
            if (behind && !told.contains(rank)) next[call_text(wait)].insert(rank);
        }
        if (next.empty()) break;
        const std::vector<Rank> ones(front.begin(), front.end());
        if (link == 0)
            text = fmt::format("; {} {} there", ranks_text(ones), ones.size() == 1 ? "waits" : "wait");
        front.clear();
        const auto& [call, ranks] = *next.begin();
        text += fmt::format(", and for {} {} in {}", ones.size() == 1 ? "it" : "them",
                            ranks_text({ranks.begin(), ranks.end()}), call);
        for (const auto& group : next) front.insert(group.second.begin(), group.second.end());
        told.insert(front.begin(), front.end());
    }
    return text;
}

// "ranks 0,2 wait in all_gather (operation 1 of world) for ranks 1,3, which wait in barrier (operation 1 of
// cpu)": from one rank to the first of whom it waits for, each with those of the circle that wait in the same
// call, until it closes.
std::string Waits::format_circle(const Circle& circle) const {
    constexpr std::size_t links_max = 6;
    const auto with = [&](const Wait& first) {
        std::vector<Rank> together;
        for (const Rank rank : circle.members) {
            const Wait& wait = waits_.at(rank).front();
            if (&wait == &first || (first.collective && wait.collective == first.collective))
                together.push_back(rank);
        }
        return together;
    };
    std::string text;
    std::set<Rank> told;
    Rank one = circle.members.front();
    for (std::size_t links = 0; links < links_max; ++links) {
        const Wait& wait = waits_.at(one).front();
        const std::vector<Rank> here = with(wait);
        text +=
            fmt::format("{}{}{} {} in {}", links == 0 ? "" : " for ", ranks_text(here),
                        links == 0 ? "" : ", which", here.size() == 1 ? "waits" : "wait", call_text(wait));
        told.insert(here.begin(), here.end());
        const auto next = std::find_if(wait.for_whom.begin(), wait.for_whom.end(),
                                       [&](Rank rank) { return waits_.contains(rank); });
        if (next == wait.for_whom.end()) return text;
        if (told.contains(*next)) return links < 2 ? text : text + fmt::format(" for rank {}", *next);
        one = *next;
    }
    return text + ", and so on";
}

}  // namespace deadrank::results::analysis

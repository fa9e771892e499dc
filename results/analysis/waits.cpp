// results/analysis/waits.cpp — A collective waits for the members that have not entered it; a receive for its
// sender; a send for its receiver, unless the process already waits elsewhere.
#include "results/analysis/waits.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <set>

#include "results/analysis/call_order.h"
#include "results/analysis/circles.h"
#include "results/analysis/error_quote.h"
#include "results/analysis/findings.h"
#include "results/analysis/numbered_call.h"
#include "results/record/event_names.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::analysis {

using scenarios::Cause;

namespace {

constexpr std::size_t programs_max = 64;  // a look at each process's habits is not cheap
constexpr std::size_t further_circles_max = 2;  // circles beside the first one; the ranks of all are named

}  // namespace

std::vector<std::string> Standstill::causes() const {
    return else_cause.empty() ? std::vector{cause} : std::vector{cause, else_cause};
}

std::vector<Rank> Standstill::victims() const {
    std::vector<Rank> others;
    if (call_skipped && kind != Root::disagreement)
        std::set_difference(stuck.begin(), stuck.end(), culprits.begin(), culprits.end(),
                            std::back_inserter(others));
    return others.empty() ? stuck : others;
}

Waits::Waits(const Evidence& evidence, int attempt, Time when)
    : evidence_(evidence),
      lives_(evidence.facts<Lives>()),
      calls_(evidence.facts<Calls>()),
      attempt_(attempt),
      when_(when) {
    for (const Communicator& comm : calls_.communicators()) {
        if (comm.attempt != attempt) continue;
        take_collectives(comm);
        take_p2p(comm);
    }
    take_teardowns();
}

void Waits::take_collectives(const Communicator& comm) {
    std::set<Rank> already;  // only the oldest open collective of a communicator holds a process
    for (const auto& [seq, collective] : comm.collectives) {
        std::vector<Rank> absent;
        bool open = false;
        for (std::size_t place = 0; place < collective.calls.size(); ++place) {
            const Call& call = collective.calls[place];
            open |= call.what && call.pending_at(when_);
            if (call.entered > when_) {
                const Rank rank = comm.processes[place] != no_rank || place >= comm.ranks.size()
                                      ? comm.processes[place]
                                      : calls_.process_of(attempt_, comm.ranks[place]);
                if (rank != no_rank) absent.push_back(rank);
            }
        }
        if (!open) continue;
        for (std::size_t place = 0; place < collective.calls.size(); ++place) {
            const Call& call = collective.calls[place];
            const Rank process = comm.processes[place];
            const Life* life = lives_.find(attempt_, process);
            if (!call.what || !call.pending_at(when_) || !life || !life->alive_at(when_)) continue;
            if (!already.insert(process).second) continue;
            waits_[process].push_back({&comm, call.what->op, seq, call.entered, sorted(absent), &collective});
        }
    }
}

void Waits::take_p2p(const Communicator& comm) {
    const auto take = [&](const P2pCall& call) {
        const Life* life = lives_.find(attempt_, call.process);
        if (call.entered > when_ || !life || !life->alive_at(when_)) return;
        waits_[call.process].push_back(
            {&comm, call.what->op, call.what->seq, call.entered, sorted({call.peer})});
    };
    for (const P2pCall& call : comm.open_p2p) {
        if (call.what->op == Op::recv) take(call);
    }
    for (const P2pCall& call : comm.open_p2p) {
        if (call.what->op == Op::send && waits_.count(call.process) == 0) take(call);
    }
}

std::vector<Rank> Waits::next_of(Rank process) const {
    std::vector<Rank> next;
    if (const auto found = waits_.find(process); found != waits_.end()) {
        for (const Wait& wait : found->second)
            next.insert(next.end(), wait.for_whom.begin(), wait.for_whom.end());
    }
    return sorted(std::move(next));
}

// The ranks that are waited for and do not wait themselves.
bool Waits::find_culprits_at_end(Standstill& found) const {
    for (const auto& [process, waits] : waits_) {
        for (const Wait& wait : waits) {
            for (const Rank absent : wait.for_whom) {
                if (waits_.count(absent) > 0) continue;
                if (found.culprits.empty()) found.last = wait;
                found.culprits.push_back(absent);
            }
        }
    }
    found.culprits = sorted(std::move(found.culprits));
    found.kind = Root::absent;
    if (used_world_instead(found) || passed_call(found)) describe_passed_call(found);
    return !found.culprits.empty();
}

// The missing ranks had finished their work and left; the waiting ones went on alone, beyond the planned
// steps or, where the plan is unknown, as a few of many.
bool Waits::passed_call(const Standstill& found) const {
    if (found.culprits.empty()) return false;
    const auto leaving = find_leavings(evidence_, attempt_);
    std::int64_t last_done = -1;
    for (const Rank culprit : found.culprits) {
        const Life* life = lives_.find(attempt_, culprit);
        const bool at_the_exit = std::any_of(leaving.begin(), leaving.end(), [&](const Leaving& one) {
            return one.process == culprit && one.entered <= when_;
        });
        const bool left = life && life->ended <= when_ && life->code == 0 && life->signal == 0;
        if (!life || life->finished < 0 || (!left && !at_the_exit)) return false;
        if (last_done >= 0 && life->finished != last_done) return false;  // they did not end together
        last_done = life->finished;
    }
    const auto goes_on = [&](Rank rank) { return lives_.find(attempt_, rank)->step > last_done; };
    if (!std::all_of(found.stuck.begin(), found.stuck.end(), goes_on)) return false;
    for (const Event* event : evidence_.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        if (evidence_.text(config->name) == ConfigName::steps)
            return evidence_.text(config->value) == std::to_string(last_done + 1);
    }
    return found.stuck.size() < found.culprits.size();
}

// All members came and none leaves: their calls do not match, or something below holds them.
bool Waits::find_culprits_in_meeting(Standstill& found) const {
    std::set<const Collective*> looked_at;
    for (const auto& [process, waits] : waits_) {
        for (const Wait& wait : waits) {
            if (!wait.collective || !wait.for_whom.empty() || !looked_at.insert(wait.collective).second)
                continue;
            const Disagreement odd = find_disagreement(evidence_, *wait.comm, *wait.collective);
            const bool another = found.kind == Root::disagreement;  // one fault may stop several groups
            if (another && odd) found.why += fmt::format("; so did {} in another group", ranks_text(odd.odd));
            if (another || odd) found.culprits.insert(found.culprits.end(), odd.odd.begin(), odd.odd.end());
            if (another) continue;
            found.last = wait;
            found.kind = odd ? Root::disagreement : Root::all_came;
            if (!odd) continue;
            found.why = fmt::format("{} entered {} with {}", ranks_text(odd.odd),
                                    numbered_call(odd.usual->op, wait.seq, wait.comm->name), odd.aspect);
            found.cause = odd.skipped ? id_of(Cause::rank_divergent_control_flow)
                                      : id_of(Cause::communication_order_divergence);
            // Who makes another call, or one of another size, has made them in another order, or has left
            // this one out.
            if (!odd.skipped && (odd.usual->op != odd.unusual->op || odd.usual->count != odd.unusual->count))
                found.else_cause = id_of(Cause::rank_divergent_control_flow);
        }
    }
    found.culprits = sorted(std::move(found.culprits));
    if (found.kind == Root::all_came) name_ranks_inside(found);
    return found.last.comm != nullptr;
}

// Ranks still in a call that most of the others have left. None, if all are still in it.
std::vector<Rank> Waits::find_ranks_left_behind(const Wait& wait) const {
    std::vector<Rank> inside;
    if (!wait.collective) return inside;
    for (std::size_t place = 0; place < wait.collective->calls.size(); ++place) {
        if (wait.collective->calls[place].pending_at(when_)) inside.push_back(wait.comm->processes[place]);
    }
    return inside.size() * 2 < wait.collective->calls.size() ? sorted(std::move(inside))
                                                             : std::vector<Rank>{};
}

// The ranks that entered the call a whole step after most of the others.
std::vector<Rank> Waits::find_latecomers(const Wait& wait) const {
    if (!wait.collective || lives_.median_step() <= Time{0}) return {};
    std::vector<std::pair<Time, Rank>> came;
    for (std::size_t place = 0; place < wait.collective->calls.size(); ++place)
        came.emplace_back(wait.collective->calls[place].entered, wait.comm->processes[place]);
    std::sort(came.begin(), came.end());
    for (std::size_t i = came.size() / 2 + 1; i < came.size(); ++i) {
        const Time late = came[i].first - came[i - 1].first, apart = came[i - 1].first - came.front().first;
        if (late < lives_.median_step() || late < 10 * apart) continue;
        std::vector<Rank> late_ones;
        for (; i < came.size(); ++i) late_ones.push_back(came[i].second);
        return sorted(std::move(late_ones));
    }
    return {};
}

// The members of all groups that are stuck with every member in the call; none if that is every process.
std::vector<Rank> Waits::find_stuck_groups() const {
    std::vector<Rank> members;
    for (const auto& [process, waits] : waits_) {
        if (std::any_of(waits.begin(), waits.end(),
                        [](const Wait& wait) { return wait.collective && wait.for_whom.empty(); }))
            members.push_back(process);
    }
    return static_cast<Rank>(members.size()) < lives_.count() ? sorted(std::move(members))
                                                              : std::vector<Rank>{};
}

// All members came and the call did not end: names the ranks that the evidence sets apart from the others.
void Waits::name_ranks_inside(Standstill& found) const {
    const std::string where = numbered_call(found.last.op, found.last.seq, found.last.comm->name);
    if (found.culprits = find_ranks_left_behind(found.last); !found.culprits.empty()) {
        found.why =
            fmt::format("all members entered {}, and all left it but {}", where, ranks_text(found.culprits));
    } else if (found.culprits = find_latecomers(found.last); !found.culprits.empty()) {
        found.why = fmt::format("all members entered {}, {} long after the others, and none left it", where,
                                ranks_text(found.culprits));
    } else if (found.culprits = find_stuck_groups(); !found.culprits.empty()) {
        found.why = fmt::format("all members entered {}, and none left it: {} are stuck among themselves",
                                where, ranks_text(found.culprits));
    } else {
        found.why = fmt::format("all members entered {}, and none left it", where);
    }
}

// A wait for one of these ranks: in a collective, or else in a message.
const Wait* Waits::wait_for(const std::vector<Rank>& culprits) const {
    const Wait* message = nullptr;
    const auto missed = [&](Rank rank) {
        return std::find(culprits.begin(), culprits.end(), rank) != culprits.end();
    };
    for (const auto& [process, waits] : waits_) {
        for (const Wait& wait : waits) {
            if (!std::any_of(wait.for_whom.begin(), wait.for_whom.end(), missed)) continue;
            if (wait.collective) return &wait;
            message = &wait;
        }
    }
    return message;
}

// Questions 4 and 5 of culprits_in.
std::vector<Rank> Waits::find_culprits_by_habit(const Circle& circle) const {
    const bool of_messages = std::all_of(circle.members.begin(), circle.members.end(), [&](Rank rank) {
        return waits_.at(rank).front().collective == nullptr;
    });
    if (of_messages) {
        std::vector<Rank> odd = find_ranks_out_of_order(evidence_, attempt_, circle.behind_it, when_);
        if (!odd.empty() && odd.size() < circle.behind_it.size()) return odd;
    }
    std::vector<Rank> unusual;
    std::size_t asked = 0;
    std::map<std::pair<std::string_view, Op>, std::vector<Rank>> sides;
    for (const Rank process : circle.behind_it) {
        const Wait& wait = waits_.at(process).front();
        if (wait.collective) sides[{wait.comm->name, wait.op}].push_back(process);
        if (++asked > programs_max) continue;
        const Program program(evidence_, attempt_, process, when_);
        const std::size_t first = program.first_unusual();
        if (first < program.steps().size() && program.steps()[first].comm == wait.comm->id)
            unusual.push_back(process);
    }
    if (!unusual.empty() && unusual.size() < circle.behind_it.size()) return sorted(std::move(unusual));
    if (sides.size() == 2 && sides.begin()->second.size() != sides.rbegin()->second.size()) {
        const auto& one = sides.begin()->second;
        const auto& other = sides.rbegin()->second;
        return sorted(one.size() < other.size() ? one : other);
    }
    return circle.members;
}

// The ranks wait for each other in a circle, so that no rank is simply absent. One that has raised an error
// in this step is to blame. Else five questions are asked in this order, and the first that has an answer
// names the culprits:
//   1. Does a rank do something else than its siblings, at the same place in groups that do the same work?
//   2. Does a rank wait for a message of one that has gone on to a collective? Then that one.
//   3. Has most of one group come to a collective, and only a few are missing? Then those few.
//   4. Does a rank do something else than it did after the same calls before, or in its step before?
//   5. Is one side of the circle smaller than the other? Then the smaller one.
// Without an answer the whole circle is named. Example: ranks 1-7 wait for rank 0 in an all-reduce of the
// world, and rank 0 waits for rank 1 in a broadcast of their pair. No siblings differ; most of the world has
// come, so rank 0 is named.
Standstill Waits::find_culprits_in(const Circle& circle) const {
    Standstill found;
    if (find_culprits_by_error(circle, found)) return found;
    found.last = waits_.at(circle.members.front()).front();
    const Wait* wait = nullptr;
    std::set<const Communicator*> asked;
    for (const Rank rank : circle.members) {
        const Communicator* comm = waits_.at(rank).front().comm;
        if (wait || !asked.insert(comm).second) continue;
        found.culprits = find_odd_siblings(evidence_, *comm, when_);
        wait = wait_for(found.culprits);
    }
    if (!wait && find_culprits_by_message(circle, found)) return found;
    if (!wait) {
        wait = find_nearly_complete_wait(circle);
        found.culprits = wait ? wait->for_whom : std::vector<Rank>{};
    }
    if (wait) {
        found.last = *wait;
        found.call_skipped = true;
        const Wait& theirs = waits_.at(found.culprits.front()).front();
        found.why = fmt::format("{} never entered {}, and ", ranks_text(found.culprits), call_text(*wait));
        const bool one = found.culprits.size() == 1;
        found.why += one || theirs.collective
                         ? fmt::format("{} in {}", one ? "waits" : "wait", call_text(theirs))
                         : format_circle(circle);
        if (const auto others = find_missing_elsewhere(circle, *wait); !others.empty()) {
            found.why += fmt::format("; {} of another group likewise", ranks_text(others));
            found.culprits.insert(found.culprits.end(), others.begin(), others.end());
            found.culprits = sorted(std::move(found.culprits));
        }
        return found;
    }
    found.culprits = find_culprits_by_habit(circle);
    found.why = format_circle(circle);
    for (const Rank rank : found.culprits)
        if (const auto at = waits_.find(rank); at != waits_.end()) found.last = at->second.front();
    if (found.culprits.size() < circle.members.size() && !found.last.collective)
        found.why += fmt::format("; {} made other calls than in the step before", ranks_text(found.culprits));
    return found;
}

// One fault may close several circles. All culprits are named, and the first circle's call.
void Waits::find_culprits_in_circles(Standstill& found) const {
    if (waits_.empty()) return;
    WaitGraph graph;
    for (const auto& [process, waits] : waits_) graph[process] = next_of(process);
    const std::vector<Circle> circles = closed_circles(graph);
    found.kind = circles.empty() ? Root::all_came : Root::circle;
    if (circles.empty()) found.last = waits_.begin()->second.front();  // they wait for an unknown process
    if (!circles.empty()) found.cause = id_of(Cause::communication_order_divergence);
    std::size_t told = 0;
    for (const Circle& circle : circles) {
        const Standstill own = find_culprits_in(circle);
        const bool first = found.culprits.empty();
        if (first) {
            found.last = own.last;
            found.call_skipped = own.call_skipped;
            if (!own.cause.empty()) {
                found.cause = own.cause;
            } else if (own.call_skipped) {
                found.else_cause = found.cause;
                found.cause = id_of(Cause::rank_divergent_control_flow);
            }
        } else if (std::includes(found.culprits.begin(), found.culprits.end(), own.culprits.begin(),
                                 own.culprits.end())) {
            continue;
        }
        if (first || told++ < further_circles_max) found.why += (first ? "" : "; ") + own.why;
        found.culprits.insert(found.culprits.end(), own.culprits.begin(), own.culprits.end());
        found.culprits = sorted(std::move(found.culprits));
    }
}

void Waits::explain(Standstill& found) const {
    if (found.kind == Root::all_came) {
        if (found.why.empty())
            found.why = fmt::format("all members entered {}, and none left it",
                                    numbered_call(found.last.op, found.last.seq, found.last.comm->name));
        found.cause = id_of(Cause::hardware_or_link_fault);
    }
    if (found.kind != Root::absent) return;
    const Life* life = lives_.find(attempt_, found.culprits.front());
    const bool gone = life && !life->alive_at(when_);
    const bool done = gone && life->code == 0 && life->signal == 0;
    const bool one = found.culprits.size() == 1;
    const std::string_view error = gone ? std::string_view() : raised_by(found.culprits.front());
    const std::string state = !error.empty() ? fmt::format(", and had raised an error: {}", quoted(error))
                              : !gone        ? ""
                              : done ? one ? ": it had ended by itself" : ": they had ended by themselves"
                              : one  ? ": it was gone"
                                     : ": they were gone";
    found.why =
        fmt::format("{} never entered {}{}", ranks_text(found.culprits), call_text(found.last), state);
    found.why += describe_ranks_left_behind(found);
    const bool failed = (gone && !done) || !error.empty();
    found.cause =
        failed ? id_of(Cause::unpropagated_rank_failure) : id_of(Cause::rank_divergent_control_flow);
    if (!gone) describe_teardown(found);
}

Standstill Waits::standstill() const {
    Standstill found;
    if (waits_.empty()) return found;
    found.any = true;
    for (const auto& [process, waits] : waits_) {
        found.stuck.push_back(process);
        for (const Wait& wait : waits) found.since = std::max(found.since, wait.since);
    }
    if (!find_culprits_at_end(found) && !find_culprits_in_meeting(found)) find_culprits_in_circles(found);
    if (!found.last.comm) return {};
    found.call_skipped |= found.kind == Root::absent || found.kind == Root::disagreement;
    explain(found);
    return found;
}

}  // namespace deadrank::results::analysis

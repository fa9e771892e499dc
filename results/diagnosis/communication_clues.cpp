// results/diagnosis/communication_clues.cpp — Which ranks a call needed and which came, and which calls were
// left out.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/analysis/call_disagreement.h"
#include "results/analysis/call_order.h"
#include "results/analysis/calls.h"
#include "results/analysis/findings.h"
#include "results/analysis/waits.h"
#include "results/diagnosis/clue.h"
#include "results/record/event_names.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::diagnosis {

using scenarios::Symptom;

using namespace analysis;

namespace {

bool is_wait(const Finding& finding) {
    return finding.symptom == Symptom::collective_deadlock_hang ||
           finding.symptom == Symptom::collective_timeout_abort ||
           finding.symptom == Symptom::restart_or_recovery_failure ||
           finding.symptom == Symptom::remote_peer_connection_error;
}

Time last_event_time(const Evidence& evidence, Rank rank, Time before) {
    Time last{0};
    for (const Event& event : evidence.events()) {
        if (event.at > before) break;
        if (event.rank == rank) last = event.at;
    }
    return last;
}

// The ranks that were waited for: in another call of their own, between calls, or gone.
void add_absent_ranks(const Evidence& evidence, int attempt, const Standstill& found, Time when,
                      Clues& clues) {
    const Lives& lives = evidence.facts<Lives>();
    for (const Rank rank : found.culprits) {
        const Life* life = lives.find(attempt, rank);
        if (!life || !life->alive_at(when)) return;
        const Program program(evidence, attempt, rank, when);
        const std::size_t unusual = program.first_unusual();
        if (unusual < program.steps().size()) {
            clues.push_back(
                {"went_another_way", fmt::format("rank {} called {} where it used to call something else",
                                                 rank, name_of(program.steps()[unusual].act.op))});
            return;
        }
        if (last_event_time(evidence, rank, when) + lives.hang_after() > when + Time{1}) return;
        clues.push_back({"silent_between_calls",
                         fmt::format("rank {} is there, in no call, and was last heard of in step {}", rank,
                                     life->step)});
        return;
    }
}

void standstill(const Evidence& evidence, const Finding& finding, Clues& clues) {
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempt_at(finding.at);
    const Standstill found = Waits(evidence, attempt, finding.at - Time{1}).standstill();
    if (!found.any) return;
    if (found.kind == Root::circle) clues.push_back({"circle", found.why});
    if (found.kind == Root::all_came) clues.push_back({"everybody_came", found.why});
    if (found.kind == Root::absent) add_absent_ranks(evidence, attempt, found, finding.at - Time{1}, clues);
    for (const Rank rank : found.culprits) {
        if (std::find(found.stuck.begin(), found.stuck.end(), rank) == found.stuck.end()) continue;
        clues.push_back({"culprit_waits_too", fmt::format("rank {} waits in a call itself", rank)});
        break;
    }
    if (found.last.comm && found.last.comm->name != GroupName::world)
        clues.push_back(
            {"subgroup", fmt::format("the call was made in the group {}", found.last.comm->name)});
}

// Does any rank but the odd ones ever make this call in that communicator?
bool made_by_others(const Communicator& comm, const Disagreement& odd, Time until) {
    for (const auto& [seq, collective] : comm.collectives) {
        for (std::size_t place = 0; place < collective.calls.size(); ++place) {
            const Call& call = collective.calls[place];
            if (!call.what || call.entered > until || call.what->op != odd.unusual->op) continue;
            const Rank process = comm.processes[place];
            if (std::find(odd.odd.begin(), odd.odd.end(), process) == odd.odd.end()) return true;
        }
    }
    return false;
}

// Calls of one communicator that do not fit together.
void disagreements(const Evidence& evidence, const Finding& finding, Clues& clues) {
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        for (const auto& [seq, collective] : comm.collectives) {
            const Disagreement odd = find_disagreement(evidence, comm, collective);
            if (!odd) continue;
            const Time came = odd.odd.empty() ? Time{0} : collective.calls[0].entered;
            if (came != never && came > finding.at) continue;
            clues.push_back(
                {odd.skipped ? "call_left_out" : "call_differs",
                 fmt::format("{} in call {} of {}: {}", ranks_text(odd.odd), seq, comm.name, odd.aspect)});
            if (!made_by_others(comm, odd, finding.at))
                clues.push_back({"call_nobody_else_makes", fmt::format("no other rank calls {} in {}",
                                                                       name_of(odd.unusual->op), comm.name)});
            return;
        }
    }
}

void membership(const Evidence& evidence, Clues& clues) {
    const Calls& calls = evidence.facts<Calls>();
    bool disagree = false, outside = false, all_came = false;
    for (const Communicator& comm : calls.communicators()) {
        std::set<TextId> lists;
        std::set<Rank> came;
        bool stuck = !comm.joinings.empty();
        for (const Joining& joining : comm.joinings) {
            lists.insert(joining.what->members);
            came.insert(joining.process);
            stuck = stuck && joining.left == never;
        }
        if (!all_came && stuck && comm.ranks.size() > 1 && came.size() == comm.ranks.size()) {
            all_came = true;
            clues.push_back({"everybody_came_to_set_up",
                             fmt::format("all {} members came to set up {}, and none got through",
                                         came.size(), comm.name)});
        }
        if (!disagree && lists.size() > 1) {
            disagree = true;
            clues.push_back({"members_disagree",
                             fmt::format("members of {} name {} different lists", comm.name, lists.size())});
        }
        if (!outside && comm.name != GroupName::world && came.size() < comm.ranks.size()) {
            outside = true;
            clues.push_back({"members_outside", fmt::format("{} of {} members came to set up {}", came.size(),
                                                            comm.ranks.size(), comm.name)});
        }
    }
}

void rendezvous(const Evidence& evidence, Clues& clues) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::pair<int, Rank>, std::set<Rank>> claims;
    bool more = false, twice = false;
    Rank elsewhere = no_rank;
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        const auto* enter = event->as<RendezvousEnter>();
        auto& who = claims[{lives.attempt_at(event->at), enter->claimed_rank}];
        who.insert(event->rank);
        if (enter->claimed_rank != event->rank) elsewhere = event->rank;
        if (!more && enter->expected > evidence.world_size()) {
            more = true;
            clues.push_back(
                {"ranks_never_started", fmt::format("rank {} waits for {} where {} were started", event->rank,
                                                    enter->expected, evidence.world_size())});
        }
        if (!twice && who.size() > 1) {
            twice = true;
            clues.push_back({"claimed_twice", fmt::format("{} processes claim to be rank {}", who.size(),
                                                          enter->claimed_rank)});
        }
    }
    if (elsewhere != no_rank && !twice)
        clues.push_back(
            {"ranks_permuted", fmt::format("no rank is claimed twice, and process {} claims another "
                                           "than its own",
                                           elsewhere)});
}

// A bug in the server's code affects all ranks of a replica alike; a rank that differs from the other ranks
// of its replica decided by itself.
void serving(const Evidence& evidence, const Finding& finding, Clues& clues) {
    if (evidence.each<ServeOutput>().empty()) return;
    const std::set<Rank> blamed(finding.blame.ranks.begin(), finding.blame.ranks.end());
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        if (comm.name == GroupName::world || comm.processes.size() < 2) continue;
        const auto apart = std::count_if(comm.processes.begin(), comm.processes.end(),
                                         [&](Rank rank) { return blamed.contains(rank); });
        if (apart == 0 || apart == std::ssize(comm.processes)) continue;
        clues.push_back({"served_apart", fmt::format("{} of {} ranks that answer together went another way",
                                                     apart, comm.processes.size())});
        return;
    }
    clues.push_back({"serving", "the job serves a model"});
}

}  // namespace

void communication_clues(const Evidence& evidence, const Finding& finding, Clues& clues) {
    if (is_wait(finding)) standstill(evidence, finding, clues);
    disagreements(evidence, finding, clues);
    membership(evidence, clues);
    rendezvous(evidence, clues);
    if (finding.blame.collective == "send" || finding.blame.collective == "recv")
        clues.push_back({"point_to_point", fmt::format("it was a {}", finding.blame.collective)});
    serving(evidence, finding, clues);
}

}  // namespace deadrank::results::diagnosis

// results/detectors/setup_hang.cpp — Rendezvous or communicator creation never returned. A rank that entered
// and did not leave is waiting; the member list, or the world size that it believes in, says for which ranks.
// Blame the ranks that never came.
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

#include "results/analysis/call_order.h"
#include "results/analysis/calls.h"
#include "results/analysis/findings.h"
#include "results/analysis/phrases.h"
#include "results/detectors/setup_waits.h"
#include "results/detectors/shared.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

struct Hold {
    std::string where;
    std::map<Rank, Time> waiting = {};
    std::set<Rank> awaited = {};  // processes that never came there
};

Time looked_until(const Evidence& evidence, const Lives& lives, int attempt, Rank process) {
    const Life* life = lives.find(attempt, process);
    const Time until = std::min(evidence.observed_until(), lives.ends(attempt));
    return life ? std::min(life->ended, until) : until;
}

// Its client logged, as torch's does at each try, that it cannot reach the store.
bool logged_unreachable_store(const Evidence& evidence, int attempt, Rank process) {
    const Lives& lives = evidence.facts<Lives>();
    const auto logs = evidence.each<RankLog>();
    return std::any_of(logs.begin(), logs.end(), [&](const Event* event) {
        const std::string_view line = evidence.text(event->as<RankLog>()->line);
        return event->rank == process && lives.attempt_at(event->at) == attempt &&
               shows(line, Sign::store_unreached);
    });
}

// Ranks that entered the store and have not left it, and the ranks that they wait for.
Hold at_store(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    Hold hold{.where = "rendezvous"};
    std::set<Rank> came, odd;
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        if (lives.attempt_at(event->at) != attempt) continue;
        if (had_begun_step(evidence, attempt, event->rank, event->at)) continue;
        hold.waiting[event->rank] = event->at;
        came.insert(event->rank);
        if (event->as<RendezvousEnter>()->expected != evidence.world_size()) odd.insert(event->rank);
    }
    for (const Event* event : evidence.each<RendezvousLeave>()) {
        if (lives.attempt_at(event->at) == attempt) hold.waiting.erase(event->rank);
    }
    for (Rank rank = 0; rank < lives.count(); ++rank) {
        if (came.count(rank) == 0) hold.awaited.insert(rank);
    }
    // No rank is missing, but some expect another world size than was started.
    if (hold.awaited.empty()) hold.awaited = odd;
    // Other ranks have left the store again: a rank that still tries has never reached it.
    if (hold.awaited.empty() && hold.waiting.size() < came.size()) {
        for (const auto& [rank, since] : hold.waiting) hold.awaited.insert(rank);
    }
    if (!hold.awaited.empty()) return hold;
    for (const auto& [rank, since] : hold.waiting) {
        if (logged_unreachable_store(evidence, attempt, rank)) hold.awaited.insert(rank);
    }
    return hold;
}

Hold at_communicator(const Evidence& evidence, const Communicator& comm) {
    const Lives& lives = evidence.facts<Lives>();
    Hold hold{.where = fmt::format("creating {}", comm.name)};
    for (const Joining& joining : comm.joinings) {
        // A rank that gave up after a long wait has waited all the same.
        const bool had_timed_out = joining.result == Code::timeout && joining.left != never &&
                                   joining.left - joining.entered >= lives.hang_after();
        if (had_timed_out) hold.waiting[joining.process] = joining.entered;
        const bool stays = joining.left == never;
        const Life* life = lives.find(comm.attempt, joining.process);
        if (stays && life && !life->failed()) hold.waiting[joining.process] = joining.entered;
        // A rank that was killed from outside while it waited has waited all the same.
        if (stays && life && life->failed() && (life->signal == 9 || life->signal == 15)) {
            hold.waiting[joining.process] = joining.entered;
        }
    }
    hold.awaited = find_members_that_never_joined(evidence, comm);
    return hold;
}

// Ranks that are waited for and wait nowhere themselves; if all wait, the ranks of the smallest waits.
std::vector<Rank> culprits_of(const std::vector<Hold>& holds) {
    std::set<Rank> waiting;
    std::vector<Rank> culprits;
    for (const Hold& hold : holds) {
        for (const auto& [rank, since] : hold.waiting) waiting.insert(rank);
    }
    for (const Hold& hold : holds) {
        if (hold.waiting.empty()) continue;
        for (const Rank rank : hold.awaited) {
            if (waiting.count(rank) == 0) culprits.push_back(rank);
        }
    }
    if (!culprits.empty()) return sorted(std::move(culprits));
    const Hold* smallest = nullptr;
    std::size_t largest = 0;
    for (const Hold& hold : holds) {
        if (hold.waiting.empty()) continue;
        largest = std::max(largest, hold.waiting.size());
        if (!smallest || hold.waiting.size() < smallest->waiting.size()) smallest = &hold;
    }
    if (!smallest) return {};
    if (smallest->waiting.size() == largest)
        return sorted({smallest->awaited.begin(), smallest->awaited.end()});
    for (const Hold& hold : holds) {
        if (hold.waiting.size() != smallest->waiting.size()) continue;
        for (const auto& [rank, since] : hold.waiting) culprits.push_back(rank);
    }
    return sorted(std::move(culprits));
}

// Who waits at the store seeks an address; who waits for a communicator has found the others there.
std::vector<std::string> causes_of_hold(bool at_the_store) {
    if (at_the_store)
        return {id_of(Cause::rendezvous_store_or_endpoint_error),
                id_of(Cause::misconfigured_environment_variable),
                id_of(Cause::network_path_or_topology_misselection),
                id_of(Cause::rank_divergent_control_flow)};
    return {id_of(Cause::group_construction_error), id_of(Cause::network_path_or_topology_misselection),
            id_of(Cause::misconfigured_environment_variable)};
}

}  // namespace

Findings setup_hang(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempts() - 1;
    std::vector<Hold> holds = {at_store(evidence, attempt)};
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        if (comm.attempt == attempt) holds.push_back(at_communicator(evidence, comm));
    }
    Time since{0};
    std::vector<Rank> stuck;
    std::string where;
    bool at_the_store = false;
    for (const Hold& hold : holds) {
        for (const auto& [rank, entered] : hold.waiting) {
            if (looked_until(evidence, lives, attempt, rank) - entered < lives.hang_after()) continue;
            since = std::max(since, entered);
            stuck.push_back(rank);
            where = hold.where;
            at_the_store = &hold == &holds.front();
        }
    }
    if (stuck.empty() || since + lives.hang_after() > evidence.observed_until()) return {};
    stuck = sorted(std::move(stuck));
    std::vector<Rank> culprits = culprits_of(holds);
    const Waits waits(evidence, attempt, since + lives.hang_after());
    const std::set<Rank> at_setup(stuck.begin(), stuck.end());
    const auto held = std::erase_if(culprits, [&](Rank culprit) {
        return is_held_by_call(waits, culprit, at_setup, since + lives.hang_after() / 2);
    });
    if (held > 0 && culprits.empty()) return {};  // the call's own finding covers it
    // Who is waited for may wait as well, somewhere else; nobody is said to wait for himself.
    std::vector<Rank> others;
    std::set_difference(stuck.begin(), stuck.end(), culprits.begin(), culprits.end(),
                        std::back_inserter(others));
    const std::string why = culprits.empty() ? "though all had come"
                            : others.empty() ? "and never got through"
                                             : "for " + ranks_text(culprits);
    if (!others.empty()) stuck = std::move(others);
    return {{.symptom = id_of(Symptom::communication_setup_hang),
             .blame = blame_ranks(lives, culprits),
             .at = since + lives.hang_after(),
             .says = fmt::format("{} waited {} and longer in {} {}", ranks_text(stuck),
                                 duration_text(lives.hang_after()), where, why),
             .causes = causes_of_hold(at_the_store)}};
}

extern const DetectorRow setup_hang_row{
    .name = "setup_hang", .reports = {id_of(Symptom::communication_setup_hang)}, .examine = setup_hang};

}  // namespace deadrank::results::detectors

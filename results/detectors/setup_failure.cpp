// results/detectors/setup_failure.cpp — Rendezvous or communicator creation ended with an error. Blame the
// ranks that caused it, not those that waited for them. Complaints from before a rank finished set-up are
// weighed: its own error counts most, then not reaching a peer, then having waited.
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

#include "results/analysis/calls.h"
#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"
#include "results/analysis/findings.h"
#include "results/analysis/phrases.h"
#include "results/analysis/setup_words.h"
#include "results/analysis/store_sought.h"
#include "results/analysis/unset_key.h"
#include "results/analysis/waits.h"
#include "results/detectors/setup_waits.h"
#include "results/detectors/shared.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

enum Weight { own_error, cannot_reach, waited };

Weight weight_of(const Complaint& complaint) {
    const auto has = [&](std::string_view words) {
        return complaint.text.find(words) != std::string_view::npos;
    };
    const auto has_sign = [&](Sign sign) { return shows(complaint.text, sign); };
    if (has("store based barrier") || has_sign(Sign::clients_joined) || has_sign(Sign::key_awaited) ||
        has_sign(Sign::store_lost) || has_sign(Sign::read_timed_out))
        return waited;
    if (complaint.trouble == Trouble::connection || complaint.trouble == Trouble::timeout) return waited;
    if (has_sign(Sign::store_unreached)) return cannot_reach;
    return own_error;
}

// Ranks that finished set-up, and when: their first communicator was ready.
std::map<Rank, Time> through(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<Rank, Time> ready;
    for (const Event* event : evidence.each<CommInitLeave>()) {
        if (event->as<CommInitLeave>()->result == Code::ok && lives.attempt_at(event->at) == attempt) {
            ready.try_emplace(event->rank, event->at);
        }
    }
    return ready;
}

std::vector<Complaint> setup_complaints(const Evidence& evidence, int attempt) {
    const auto ready = through(evidence, attempt);
    const std::vector<Time> met = list_rendezvous_times(evidence, attempt);
    std::vector<Complaint> found;
    for (const Complaint& complaint : evidence.facts<Complaints>().first_of_each(attempt)) {
        const auto done = ready.find(complaint.process);
        const bool early = done == ready.end() || complaint.at < done->second;
        const bool about_others =
            complaint.trouble == Trouble::connection || complaint.trouble == Trouble::timeout;
        const bool of_nccl = complaint.trouble == Trouble::exception &&
                             complaint.text.find("NCCL error in") != std::string_view::npos;
        if (complaint.trouble == Trouble::setup || (early && (about_others || of_nccl)) ||
            (early && is_rendezvous_failure(complaint, met)))
            found.push_back(complaint);
    }
    // Library errors while creating a communicator, whatever their text.
    std::set<Rank> known;
    for (const Complaint& complaint : found) known.insert(complaint.process);
    const Lives& lives = evidence.facts<Lives>();
    for (const Event* event : evidence.each<CommInitLeave>()) {
        const auto* leave = event->as<CommInitLeave>();
        if (leave->result == Code::ok || lives.attempt_at(event->at) != attempt) continue;
        for (const Complaint& complaint : evidence.facts<Complaints>().all()) {
            const bool fits = complaint.process == event->rank && complaint.at <= event->at + Time{1} &&
                              complaint.attempt == attempt && complaint.trouble != Trouble::host &&
                              complaint.trouble != Trouble::device && complaint.trouble != Trouble::memory;
            if (fits && known.insert(event->rank).second) found.push_back(complaint);
        }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Complaint& a, const Complaint& b) { return a.at < b.at; });
    return found;
}

// "connect to node1<41743> returned No route to host": all that is reached of that host is the store.
std::vector<Rank> find_blocked_store_ranks(const Evidence& evidence, std::string_view text) {
    if (!shows(text, Sign::unroutable)) return {};
    for (const Event* start : evidence.each<RankStart>()) {
        const std::string_view host = evidence.text(start->as<RankStart>()->host);
        const bool named = text.find(fmt::format("onnect to {}<", host)) != std::string_view::npos ||
                           text.find(fmt::format("remote=[{}]", host)) != std::string_view::npos;
        if (named) return evidence.facts<Lives>().on_node(start->as<RankStart>()->node);
    }
    return {};
}

// "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 50000" names the culprits, or one who is
// where it belongs and one who is not; the library stops at the first pair. So does the host that a library's
// own ports cannot be reached at.
std::vector<Rank> named(const Evidence& evidence, const Complaint& complaint) {
    const std::vector<Rank> pair = find_ranks_on_one_device(complaint.text);
    if (pair.empty() && refused_by_loopback(complaint.text))
        return find_ranks_never_refused(evidence, complaint.attempt);
    if (pair.empty()) return find_blocked_store_ranks(evidence, complaint.text);
    std::vector<Rank> processes;
    for (const Rank rank : pair) {
        processes.push_back(evidence.facts<Calls>().process_of(complaint.attempt, rank));
    }
    processes =
        find_ranks_on_device_of(evidence, complaint.attempt, sorted(std::move(processes)), complaint.at);
    const auto off = find_ranks_off_local_device(evidence, complaint.attempt, processes, complaint.at);
    return off.empty() ? processes : off;
}

// Ranks that never entered the store-based barrier, which counts all ranks when a group is created.
std::vector<Rank> missed_barrier(const Evidence& evidence, int attempt, std::string_view barrier) {
    const Lives& lives = evidence.facts<Lives>();
    std::set<Rank> came;
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        const std::string_view endpoint = evidence.text(event->as<RendezvousEnter>()->endpoint);
        if (lives.attempt_at(event->at) == attempt && endpoint == barrier) came.insert(event->rank);
    }
    std::vector<Rank> absent;
    for (Rank rank = 0; rank < lives.count(); ++rank) {
        if (!came.contains(rank)) absent.push_back(rank);
    }
    return absent;
}

constexpr std::string_view barrier_prefix = "store_based_barrier_key:";

// "8/12 clients joined": if there are only logs, the eight are the ranks that complain, if eight do.
std::set<Rank> find_complaining_ranks(const Evidence& evidence, int attempt, const Complaint& complaint) {
    std::set<Rank> came;
    for (const Complaint& one : evidence.facts<Complaints>().first_of_each(attempt)) {
        if (weight_of(one) == waited) came.insert(one.process);
    }
    return count_joined_clients(complaint.text) == std::ssize(came) ? came : std::set<Rank>{};
}

// A rank tries again to resolve the store's name until the time-out, and only warns of it.
std::vector<Rank> resolve_no_name(const Evidence& evidence, int attempt, Time told) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Rank> ranks;
    for (const Event* event : evidence.each<RankLog>()) {
        if (event->at > told || event->rank < 0 || lives.attempt_at(event->at) != attempt) continue;
        if (shows(evidence.text(event->as<RankLog>()->line), Sign::name_unresolved))
            ranks.push_back(event->rank);
    }
    return sorted(std::move(ranks));
}

// They ended of something else before anybody missed them.
bool failed_by_themselves(const Evidence& evidence, int attempt, const std::vector<Rank>& ranks, Time told) {
    const auto& all = evidence.facts<Complaints>().all();
    return std::all_of(ranks.begin(), ranks.end(), [&](Rank rank) {
        return std::any_of(all.begin(), all.end(), [&](const Complaint& complaint) {
            return complaint.process == rank && complaint.attempt == attempt && complaint.at <= told &&
                   complaint.final && complaint.trouble != Trouble::setup &&
                   complaint.trouble != Trouble::connection && complaint.trouble != Trouble::timeout;
        });
    });
}

// Rank 0 keeps the store. If rank 0 itself looks for one on its own machine, nobody serves it; if it looks on
// a machine without ranks, the address is wrong for every rank.
bool rank_0_connects_to(Sought where, const Evidence& evidence, int attempt,
                        const std::vector<Complaint>& complaints) {
    const Rank first = evidence.facts<Calls>().process_of(attempt, 0);
    return std::any_of(complaints.begin(), complaints.end(), [&](const Complaint& complaint) {
        return complaint.process == first && weight_of(complaint) == cannot_reach &&
               classify_store_address(evidence, attempt, complaint.text) == where;
    });
}

// A rank that made more steps than the one that complains, and ended well, had passed the place at which that
// one waits: it is finished, and no one waits for it there. A rank that left early has made no more steps.
bool finished_more_steps(const Life& life, const Life* waiting) {
    return life.code == 0 && life.signal == 0 && waiting && life.finished > waiting->finished;
}

// Which world each rank went to meet: of how many, and where.
using Beliefs = std::map<std::pair<std::int32_t, TextId>, std::vector<Rank>>;

Beliefs beliefs_of(const Evidence& evidence, int attempt) {
    Beliefs beliefs;
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        if (evidence.facts<Lives>().attempt_at(event->at) != attempt) continue;
        const auto* enter = event->as<RendezvousEnter>();
        if (evidence.text(enter->endpoint).starts_with(barrier_prefix)) continue;
        beliefs[{enter->expected, enter->endpoint}].push_back(event->rank);
    }
    return beliefs;
}

// As many ranks as the meeting expects have come to it, and no other rank goes there: that world is complete.
bool drop_complete_worlds(Beliefs& beliefs) {
    const auto shared = [&](const auto& belief) {
        return std::count_if(beliefs.begin(), beliefs.end(), [&](const auto& other) {
                   return other.first.second == belief.first.second;
               }) > 1;
    };
    std::vector<std::pair<std::int32_t, TextId>> whole;
    for (const auto& belief : beliefs)
        if (std::ssize(belief.second) == belief.first.first && !shared(belief)) whole.push_back(belief.first);
    for (const auto& key : whole) beliefs.erase(key);
    return !whole.empty();
}

// All complaints are about waiting: for ranks that believe in another world or endpoint, that never came, or
// that had exited on their way.
std::vector<Rank> waited_for(const Evidence& evidence, int attempt, const Complaint& complaint) {
    const Lives& lives = evidence.facts<Lives>();
    const Time told = complaint.at;
    if (const auto at = complaint.text.find(barrier_prefix); at != std::string_view::npos) {
        const std::string_view rest = complaint.text.substr(at);
        return missed_barrier(evidence, attempt, rest.substr(0, rest.find(' ')));
    }
    if (const Rank host = find_host_of_lost_store(evidence, attempt, complaint.text, told); host != no_rank)
        return {host};
    Beliefs beliefs = beliefs_of(evidence, attempt);
    std::set<Rank> came;
    for (const auto& [belief, ranks] : beliefs) came.insert(ranks.begin(), ranks.end());
    drop_complete_worlds(beliefs);
    if (beliefs.size() > 1) {
        const auto most = std::max_element(beliefs.begin(), beliefs.end(), [&](const auto& a, const auto& b) {
            const bool a_fits = a.first.first == evidence.world_size(),
                       b_fits = b.first.first == evidence.world_size();
            return std::pair(a_fits, a.second.size()) < std::pair(b_fits, b.second.size());
        });
        std::vector<Rank> odd;
        for (const auto& [belief, ranks] : beliefs) {
            if (belief != most->first) odd.insert(odd.end(), ranks.begin(), ranks.end());
        }
        return sorted(std::move(odd));
    }
    if (came.empty()) came = find_complaining_ranks(evidence, attempt, complaint);
    std::vector<Rank> absent;
    const Life* waiting = lives.find(attempt, complaint.process);
    for (Rank rank = 0; rank < lives.count(); ++rank) {
        const Life* life = lives.find(attempt, rank);
        const bool gone =
            life && life->ended < told && !finished_more_steps(*life, waiting);  // on its way there
        if (came.count(rank) == 0 || gone) absent.push_back(rank);
    }
    return absent;
}

// Every rank waited for a world of another size than the launcher started.
bool other_world(const Evidence& evidence, int attempt) {
    Beliefs beliefs = beliefs_of(evidence, attempt);
    if (beliefs.empty() || drop_complete_worlds(beliefs)) return false;
    return std::none_of(beliefs.begin(), beliefs.end(),
                        [&](const auto& belief) { return belief.first.first == evidence.world_size(); });
}

Rank find_expected_world_size(const Evidence& evidence, int attempt) {
    Rank most = 0;
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        if (evidence.facts<Lives>().attempt_at(event->at) == attempt)
            most = std::max(most, event->as<RendezvousEnter>()->expected);
    }
    return most;
}

// The variable that the words are about. A port or a name that the process was not started with came from the
// program, as with init_method="tcp://…".
std::string variable_in(const Evidence& evidence, const Complaint& complaint) {
    const std::string variable = find_setup_variable(complaint.text);
    if (variable.empty() || names_its_variable(complaint.text)) return variable;
    const bool another =
        has_variable(evidence, complaint, variable) && !has_value_in_text(evidence, complaint, variable);
    return another ? std::string() : variable;
}

// Nobody can have a rank outside the world: whoever claims one is to blame, whoever says so.
void blame_refused_claims(const Evidence& evidence, int attempt, Finding& finding) {
    const std::vector<Claim> refused = refused_claims(evidence, attempt, list_claims(evidence, attempt));
    if (refused.empty()) return;
    std::vector<Rank> processes;
    for (const Claim& claim : refused) processes.push_back(claim.process);
    finding.blame = blame_ranks(evidence.facts<Lives>(), sorted(std::move(processes)));
    if (started_as(evidence, refused.front())) finding.blame.variable = "RANK";
    finding.says += fmt::format("; the launcher's process {} says that it is rank {} of {}",
                                refused.front().process, refused.front().rank, evidence.world_size());
    finding.causes = {id_of(Cause::rank_or_device_derivation_error),
                      id_of(Cause::misconfigured_environment_variable)};
}

// A job that had worked, was started again and did not find together: what failed is its recovery, which
// tells what it said.
bool is_a_rejoin(const Lives& lives, int attempt) {
    const auto worked = [&](int one) {
        const auto all = lives.of(one);
        return std::any_of(all.begin(), all.end(), [](const Life& life) { return life.finished >= 0; });
    };
    bool before = false;
    for (int earlier = 0; earlier < attempt; ++earlier) before = before || worked(earlier);
    return before && attempt == lives.attempts() - 1 && !worked(attempt);
}

// Who is to be named for the first complaint of the least weight, and how that is known.
struct Spoilers {
    std::vector<Rank> ranks;
    std::vector<Rank> nameless = {};  // those that cannot resolve the store's name
    bool never_set = false;           // they never came to the wait for a key
    bool of_something_else = false;   // they failed by themselves before they were missed
};

Spoilers spoilers_of(const Evidence& evidence, int attempt, const std::vector<Complaint>& complaints,
                     const Complaint& first) {
    const Weight least = weight_of(first);
    Spoilers found{.ranks = named(evidence, first)};
    if (least == waited) found.nameless = resolve_no_name(evidence, attempt, first.at);
    if (found.ranks.empty() && least == waited) {
        found.ranks = found.nameless.empty() ? waited_for(evidence, attempt, first) : found.nameless;
        found.of_something_else =
            !found.ranks.empty() && failed_by_themselves(evidence, attempt, found.ranks, first.at);
    }
    if (found.ranks.empty() && least == waited) {
        found.ranks = find_ranks_due_to_set_key(evidence, first);
        found.never_set = !found.ranks.empty();
    }
    if (found.ranks.empty() && least == cannot_reach &&
        rank_0_connects_to(Sought::at_rank_0, evidence, attempt, complaints))
        found.ranks = {evidence.facts<Calls>().process_of(attempt, 0)};
    if (!found.ranks.empty()) return found;
    for (const Complaint& complaint : complaints) {
        if (weight_of(complaint) == least) found.ranks.push_back(complaint.process);
    }
    return found;
}

// What the evidence says beside the words that are quoted.
void add_further_evidence(const Evidence& evidence, int attempt, const std::vector<Complaint>& complaints,
                          const Complaint& first, const Spoilers& spoilers, Finding& finding) {
    const Sought where = classify_store_address(evidence, attempt, first.text);
    if (where == Sought::at_another) finding.blame.variable = "MASTER_ADDR";
    if (where == Sought::at_none && has_value_in_text(evidence, first, "MASTER_ADDR") &&
        rank_0_connects_to(where, evidence, attempt, complaints)) {
        finding.blame.variable = "MASTER_ADDR";
        finding.says += fmt::format("; no rank runs on {}", find_store_host(first.text));
        finding.causes = {id_of(Cause::misconfigured_environment_variable),
                          id_of(Cause::rendezvous_store_or_endpoint_error)};
    }
    if (find_host_of_lost_store(evidence, attempt, first.text, first.at) != no_rank &&
        weight_of(first) == waited) {
        finding.blame.component = "store";
        finding.says +=
            fmt::format("; {}, which keeps the store, had ended before", ranks_text(finding.blame.ranks));
    }
    if (finding.blame.ranks.size() > 1 && shows(first.text, Sign::device_twice))
        finding.says +=
            fmt::format("; {} are on the device of another rank", ranks_text(finding.blame.ranks));
    blame_refused_claims(evidence, attempt, finding);
    if (!spoilers.nameless.empty()) {
        finding.blame.variable = "MASTER_ADDR";
        finding.says += fmt::format("; {} cannot resolve the store's name", ranks_text(spoilers.nameless));
    }
    if (spoilers.never_set) {
        finding.says += fmt::format("; {} never came to that wait", ranks_text(finding.blame.ranks));
        finding.causes = {id_of(Cause::rank_divergent_control_flow),
                          id_of(Cause::misconfigured_resource_or_distributed_settings),
                          id_of(Cause::rendezvous_store_or_endpoint_error)};
    }
    if (weight_of(first) != waited || !other_world(evidence, attempt)) return;
    finding.blame.variable = "WORLD_SIZE";
    finding.says += fmt::format("; the launcher started {}", evidence.world_size());
    if (const Rank wanted = find_expected_world_size(evidence, attempt); wanted > evidence.world_size())
        finding.says += fmt::format(", and not ranks {}-{}", evidence.world_size(), wanted - 1);
}

// Creations of communicators timed out by that moment, and each rank that they miss had long been in a call.
bool waited_for_ranks_in_a_call(const Evidence& evidence, int attempt, Time told) {
    const Waits waits(evidence, attempt, told - Time{1});
    const Time by = told - evidence.facts<Lives>().hang_after();
    std::set<Rank> missing, at_setup;
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        const auto gave_up = [&](const Joining& joining) {
            return joining.result == Code::timeout && joining.left <= told;
        };
        if (comm.attempt != attempt || std::none_of(comm.joinings.begin(), comm.joinings.end(), gave_up))
            continue;
        for (const Joining& joining : comm.joinings) at_setup.insert(joining.process);
        missing.merge(find_members_that_never_joined(evidence, comm));
    }
    return !missing.empty() && std::all_of(missing.begin(), missing.end(), [&](Rank rank) {
        return is_held_by_call(waits, rank, at_setup, by);
    });
}

}  // namespace

Findings setup_failure(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Finding> findings;
    for (int attempt = 0; attempt < lives.attempts(); ++attempt) {
        const auto complaints = setup_complaints(evidence, attempt);
        if (complaints.empty()) continue;
        const auto first = std::min_element(
            complaints.begin(), complaints.end(),
            [](const Complaint& a, const Complaint& b) { return weight_of(a) < weight_of(b); });
        const Spoilers spoilers = spoilers_of(evidence, attempt, complaints, *first);
        if (spoilers.of_something_else) continue;
        if (weight_of(*first) == waited && waited_for_ranks_in_a_call(evidence, attempt, first->at)) continue;
        Finding finding{.symptom = id_of(Symptom::communication_setup_failure),
                        .blame = blame_ranks(lives, spoilers.ranks),
                        .at = first->at,
                        .says = fmt::format("{} said: {}", ranks_text({first->process}), quoted(first->text)),
                        .causes = list_setup_causes(first->text, weight_of(*first) == own_error)};
        finding.blame.variable = variable_in(evidence, *first);
        finding.blame.component = find_setup_component(first->text);
        add_further_evidence(evidence, attempt, complaints, *first, spoilers, finding);
        // Unless it says why: a variable that is wrong is wrong for any start.
        if (finding.blame.variable.empty() && is_a_rejoin(lives, attempt)) continue;
        findings.push_back(std::move(finding));
    }
    return findings;
}

extern const DetectorRow setup_failure_row{.name = "setup_failure",
                                           .reports = {id_of(Symptom::communication_setup_failure)},
                                           .examine = setup_failure};

}  // namespace deadrank::results::detectors

// results/detectors/peer_connection.cpp — A connection broke during work. Blame the rank or host that others
// accuse, not the first that complained: the process that died first, else the node whose port is down or
// erring, else the host that most others complain of; both ends, if one alone complains of one other.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/analysis/calls.h"
#include "results/analysis/complaints.h"
#include "results/analysis/error_quote.h"
#include "results/analysis/step_reached.h"
#include "results/analysis/store_sought.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

struct Culprit {
    std::vector<Rank> ranks;
    std::string component;
    std::string why;
};

constexpr Time at_one_time = std::chrono::milliseconds(50), whole_attempt = std::chrono::hours(1);

// A process that ended before any complaint, and not by the launcher's SIGTERM. The kernel closes a dying
// process's connections before its parent hears of the end, so its exit may be seen a little later.
Culprit dead_before(const Lives& lives, const Outbreak& outbreak) {
    const auto fell = [&](const Life& life) { return life.signal != 15 && !outbreak.includes(life.process); };
    const Life* first = nullptr;
    for (const Life& life : lives.of(outbreak.attempt)) {
        const bool before = life.ended <= outbreak.at + std::chrono::milliseconds(500);
        if (before && fell(life) && (!first || life.ended < first->ended)) first = &life;
    }
    if (!first) return {};
    // What kills a node or a group of processes kills all of them at about one time. Processes that exited
    // cleanly were not killed: each left by itself while others waited.
    const bool well = first->signal == 0 && first->code == 0;
    std::vector<Rank> ranks;
    for (const Life& life : lives.of(outbreak.attempt)) {
        const bool likewise = life.signal == first->signal && life.code == first->code &&
                              life.ended - first->ended <= (well ? whole_attempt : at_one_time);
        if (likewise && fell(life)) ranks.push_back(life.process);
    }
    return {ranks, {}, fmt::format("{} had ended before", ranks_text(ranks))};
}

Culprit host_of_the_store(const Evidence& evidence, const Outbreak& outbreak) {
    const Rank host = find_host_of_lost_store(evidence, outbreak.attempt, outbreak.text, outbreak.at);
    if (host == no_rank) return {};
    return {{host}, "store", fmt::format("rank {}, which keeps the store, had ended before", host)};
}

std::int32_t node_named(const Evidence& evidence, std::string_view text) {
    for (const Event* start : evidence.each<RankStart>()) {
        const std::string_view host = evidence.text(start->as<RankStart>()->host);
        const auto at = host.empty() ? std::string_view::npos : text.find(host);
        if (at == std::string_view::npos) continue;
        const auto end = at + host.size();  // node1 is not node12
        if (end < text.size() && text[end] >= '0' && text[end] <= '9') continue;
        return start->as<RankStart>()->node;
    }
    return -1;
}

// A port that is down, or counts more than twice the errors and retransmits of any other.
Culprit bad_port(const Evidence& evidence, const Lives& lives, const Outbreak& outbreak) {
    std::map<std::int32_t, std::int64_t> trouble;
    for (const Event* event : evidence.each<LinkSample>()) {
        const auto* sample = event->as<LinkSample>();
        const std::int32_t node = node_named(evidence, evidence.text(sample->link));
        if (node < 0 || event->at > outbreak.at) continue;
        constexpr std::int64_t down = 1'000'000'000;
        trouble[node] =
            std::max(trouble[node], sample->errors + sample->retransmits + (sample->up == 0 ? down : 0));
    }
    std::int64_t most = 0, second = 0;
    std::int32_t worst = -1;
    for (const auto& [node, count] : trouble) {
        if (count > most) {
            second = std::exchange(most, count);
            worst = node;
        } else {
            second = std::max(second, count);
        }
    }
    if (worst < 0 || most < 2 * second + 1) return {};
    return {lives.on_node(worst), fmt::format("link {}", worst),
            fmt::format("the port of node {} is the worst", worst)};
}

// The ranks of the accused host that ended before any other host complained.
std::vector<Rank> ended_before(const Lives& lives, std::int32_t node, Time accused, int attempt) {
    std::vector<Rank> ranks;
    for (const Life& life : lives.of(attempt)) {
        if (lives.node_of(life.process) == node && life.ended < accused && life.signal != 15)
            ranks.push_back(life.process);
    }
    return ranks;
}

struct Accusations {
    std::map<std::int32_t, std::set<std::int32_t>> by;  // accused node: the other nodes that complain of it
    std::map<std::int32_t, std::set<std::int32_t>> links;  // node: the other ends of its broken links
    std::map<std::int32_t, Time> since;                    // accused node: the first complaint
};

// A rank may complain of a host twice, as an error and in its traceback, and all ranks of a host see the same
// link: a host's complaints count once.
Accusations accusations(const Evidence& evidence, const Lives& lives, const Outbreak& outbreak) {
    Accusations all;
    for (const Complaint& complaint : evidence.facts<Complaints>().all()) {
        const bool counts = complaint.attempt == outbreak.attempt &&
                            complaint.trouble == Trouble::connection &&
                            complaint.at - outbreak.at <= std::chrono::seconds(5);
        if (!counts) continue;
        const std::int32_t node = node_named(evidence, complaint.text);
        const std::int32_t own = lives.node_of(complaint.process);
        if (node < 0 || node == own) continue;
        all.by[node].insert(own);
        all.links[node].insert(own);
        all.links[own].insert(node);
        all.since.try_emplace(node, complaint.at);
    }
    return all;
}

// The nodes that have the most others in their set.
std::vector<std::int32_t> with_most(const std::map<std::int32_t, std::set<std::int32_t>>& others) {
    std::size_t most = 0;
    std::vector<std::int32_t> top;
    for (const auto& [node, ends] : others) most = std::max(most, ends.size());
    for (const auto& [node, ends] : others) {
        if (ends.size() == most) top.push_back(node);
    }
    return top;
}

Culprit one_node(const Lives& lives, const Outbreak& outbreak, const Accusations& all, std::int32_t node,
                 std::string why) {
    const auto since = all.since.find(node);
    std::vector<Rank> ranks;
    if (since != all.since.end()) ranks = ended_before(lives, node, since->second, outbreak.attempt);
    if (ranks.empty()) ranks = lives.on_node(node);
    return {std::move(ranks), fmt::format("link {}", node), std::move(why)};
}

// The host that most other hosts complain of, even if it accuses all of them itself; else the one end that
// several broken links have in common. A single link has two ends: the one whose ranks had ended is to blame,
// and without such ranks either may be.
Culprit most_accused(const Evidence& evidence, const Lives& lives, const Outbreak& outbreak) {
    const Accusations all = accusations(evidence, lives, outbreak);
    if (all.by.empty()) return {};
    std::vector<std::int32_t> top = with_most(all.by);
    const std::size_t accusers = all.by.at(top.front()).size();
    if (accusers == 1) top = with_most(all.links);
    if (top.size() > 2) return {{}, "link", "hosts accuse each other"};
    if (top.size() == 1) {
        const std::int32_t node = top.front();
        return one_node(lives, outbreak, all, node,
                        accusers > 1 ? fmt::format("{} nodes complain of node {}", accusers, node)
                                     : fmt::format("node {} is an end of all {} broken links", node,
                                                   all.links.at(node).size()));
    }
    if (all.by.size() == 1) {
        const auto& [node, since] = *all.since.begin();
        if (!ended_before(lives, node, since, outbreak.attempt).empty())
            return one_node(lives, outbreak, all, node, fmt::format("node {} is complained of", node));
    }
    std::vector<Rank> both = lives.on_node(top[0]);
    const std::vector<Rank> other = lives.on_node(top[1]);
    both.insert(both.end(), other.begin(), other.end());
    return {both, fmt::format("link {}-{}", top[0], top[1]),
            all.by.size() > 1
                ? "two hosts accuse each other"
                : fmt::format("one side of the link from node {} to node {} complains, and either "
                              "may have broken it",
                              top[0], top[1])};
}

// Cards that were turned away from the memory of devices: of their own node, or of the one that they wrote
// to.
Culprit find_refused_cards(const Evidence& evidence, const Lives& lives, const Outbreak& outbreak) {
    std::set<std::int32_t> nodes;
    for (const Complaint& complaint : evidence.facts<Complaints>().all()) {
        if (complaint.attempt != outbreak.attempt || complaint.trouble != Trouble::connection) continue;
        const auto has = [&](std::string_view words) {
            return complaint.text.find(words) != std::string_view::npos;
        };
        if (has("IBV_WC_LOC_PROT_ERR") || has("with error 4, opcode"))  // as releases before 2.19 say it
            nodes.insert(lives.node_of(complaint.process));
        if (has("IBV_WC_REM_ACCESS_ERR")) nodes.insert(node_named(evidence, complaint.text));
    }
    nodes.erase(-1);
    if (nodes.empty()) return {};
    std::vector<Rank> ranks;
    for (const std::int32_t node : nodes) {
        const std::vector<Rank> there = lives.on_node(node);
        ranks.insert(ranks.end(), there.begin(), there.end());
    }
    return {std::move(ranks), "gpudirect",
            fmt::format("the network cards of {} {} are kept from their devices' memory",
                        nodes.size() == 1 ? "node" : "nodes", ranges_text({nodes.begin(), nodes.end()}))};
}

// The first process to end was asked to (SIGTERM), had complained of nothing, and the job was restarted: its
// peers only saw it go.
bool peers_saw_exit(const Lives& lives, const Outbreak& outbreak) {
    if (outbreak.attempt + 1 >= lives.attempts()) return false;
    const auto all = lives.of(outbreak.attempt);
    const auto first = std::min_element(all.begin(), all.end(),
                                        [](const Life& a, const Life& b) { return a.ended < b.ended; });
    return first != all.end() && first->signal == 15 &&
           first->ended <= outbreak.at + std::chrono::milliseconds(500) && !outbreak.includes(first->process);
}

// A rank that times out closes its connections; peers that time out at the same moment may see that first.
bool others_time_out(const Evidence& evidence, const Outbreak& outbreak) {
    const auto& all = evidence.facts<Complaints>().all();
    return std::any_of(all.begin(), all.end(), [&](const Complaint& complaint) {
        return complaint.attempt == outbreak.attempt && complaint.trouble == Trouble::timeout &&
               !outbreak.includes(complaint.process) &&
               std::chrono::abs(complaint.at - outbreak.at) <= std::chrono::milliseconds(500);
    });
}

// The dead ranks had given up a wait: ranks 0 and 1 wait for each other in two calls and time out, and rank 2,
// which waits for rank 0, sees its connection closed. The time-out is the failure.
bool had_timed_out(const Evidence& evidence, const Outbreak& outbreak, const std::vector<Rank>& dead) {
    const auto& all = evidence.facts<Complaints>().all();
    const auto timed_out = [&](Rank rank) {
        return std::any_of(all.begin(), all.end(), [&](const Complaint& complaint) {
            return complaint.process == rank && complaint.attempt == outbreak.attempt &&
                   complaint.trouble == Trouble::timeout &&
                   complaint.at <= outbreak.at + std::chrono::milliseconds(500);
        });
    };
    return !dead.empty() && std::all_of(dead.begin(), dead.end(), timed_out);
}

}  // namespace

Findings peer_connection(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::connection)) {
        if (peers_saw_exit(lives, outbreak)) continue;
        Culprit culprit = host_of_the_store(evidence, outbreak);
        if (culprit.why.empty()) culprit = dead_before(lives, outbreak);
        if (had_timed_out(evidence, outbreak, culprit.ranks)) continue;
        if (culprit.why.empty()) culprit = find_refused_cards(evidence, lives, outbreak);
        if (culprit.why.empty()) culprit = bad_port(evidence, lives, outbreak);
        if (culprit.why.empty()) culprit = most_accused(evidence, lives, outbreak);
        if (culprit.why.empty() && others_time_out(evidence, outbreak)) continue;
        // With no other suspect, the ranks that complained are blamed themselves.
        if (culprit.why.empty()) culprit = {outbreak.ranks, {}, "no other rank complained"};
        Finding finding{
            .symptom = id_of(Symptom::remote_peer_connection_error),
            .blame = blame_ranks(lives, culprit.ranks),
            .at = outbreak.at,
            .says = fmt::format("{} lost a connection ({}): {}", ranks_text(outbreak.ranks), culprit.why,
                                quoted(outbreak.text)),
            .causes = {id_of(Cause::hardware_or_link_fault), id_of(Cause::unpropagated_rank_failure)}};
        finding.blame.component = culprit.component;
        finding.blame.step =
            culprit.ranks.empty() ? outbreak.step : step_reached(evidence, culprit.ranks.front(), outbreak.at);
        findings.push_back(std::move(finding));
    }
    return findings;
}

extern const DetectorRow peer_connection_row{.name = "peer_connection",
                                             .reports = {id_of(Symptom::remote_peer_connection_error)},
                                             .examine = peer_connection};

extern const Thresholds peer_connection_thresholds{
    {"between two deaths that count as one", at_one_time.count() / 1'000'000, "ms"}};

}  // namespace deadrank::results::detectors

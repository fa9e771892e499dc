// results/detectors/transport_degraded.cpp — Collectives are correct but slow, or use another transport than
// their peers. The choice of transport shows at communicator creation; lost messages in port counters; lost
// bandwidth in calls that take twice as long as before, as before a restart, or as in an equal group.
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

#include "results/analysis/findings.h"
#include "results/analysis/messages.h"
#include "results/analysis/pairs.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "results/record/event_names.h"
#include "results/record/words.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

constexpr std::size_t transport_history_min = 3;
constexpr std::ptrdiff_t transport_streak_min = 4;
constexpr std::int64_t retransmits_min = 8;
constexpr std::int64_t promise_slow_permille = 1300;
constexpr std::int64_t downs_min = 2;  // a single drop is left to other detectors

Finding transport_finding(const Lives& lives, const std::vector<Rank>& ranks, Time at, std::string says,
                          std::string cause) {
    return {.symptom = id_of(Symptom::collective_transport_degraded),
            .blame = blame_ranks(lives, ranks),
            .at = at,
            .says = std::move(says),
            .causes = {std::move(cause), id_of(Cause::network_path_or_topology_misselection)}};
}

// A library whose transfers run on threads of the job's processes, and so compete for its processors.
bool by_processor(const Evidence& evidence) {
    const auto left = evidence.each<CommInitLeave>();
    return std::any_of(left.begin(), left.end(), [&](const Event* event) {
        const std::string_view transport = evidence.text(event->as<CommInitLeave>()->transport);
        return transport == "gloo" || transport == "mpi" || transport.starts_with("cpu:");
    });
}

// The link that these ranks use: named only between two nodes, else just its kind.
std::string link_of(const Evidence& evidence, const Blame& blame) {
    if (blame.nodes.size() == 2) return fmt::format("link {}-{}", blame.nodes[0], blame.nodes[1]);
    if (by_processor(evidence)) return "network";
    if (blame.nodes.size() == 1) return fmt::format("nvlink {}", blame.nodes[0]);
    return evidence.facts<Lives>().nodes() > 1 ? "link" : "nvlink";
}

// TCP although the machine has an RDMA port, or another group of the job uses one.
std::vector<Finding> find_wrong_transport(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    bool rdma = false;
    for (const Event* event : evidence.each<LinkSample>()) {
        rdma |= evidence.text(event->as<LinkSample>()->link).find("mlx5") != std::string_view::npos;
    }
    std::vector<Rank> socket;
    const Event* first = nullptr;
    for (const Event* event : evidence.each<CommInitLeave>()) {
        const std::string_view transport = evidence.text(event->as<CommInitLeave>()->transport);
        rdma |= transport.starts_with("NET/IB");
        if (!transport.starts_with("NET/Socket")) continue;
        if (!first) first = event;
        socket.push_back(event->rank);
    }
    if (!first || !rdma) return {};
    const PairTables tables(evidence, lives.attempt_at(first->at), PairTables::Of::environment);
    std::string variable;
    std::vector<Rank> asked;
    for (const std::string_view name : {"NCCL_IB_DISABLE", "NCCL_NET", "NCCL_IB_HCA"}) {
        for (std::size_t i = 0; i < tables.by_process().size(); ++i) {
            const Pairs* pairs = tables.by_process()[i];
            if (!pairs || pairs->count(name) == 0) continue;
            asked.push_back(static_cast<Rank>(i));
            variable = name;
        }
        if (!asked.empty()) break;
    }
    const auto transport = evidence.text(first->as<CommInitLeave>()->transport);
    Finding found = transport_finding(
        lives, asked.empty() ? sorted(socket) : asked, first->at,
        fmt::format("{} use {} though the nodes have RDMA ports{}{}", ranks_text(sorted(socket)), transport,
                    variable.empty() ? "" : "; set: ", variable),
        variable.empty() ? id_of(Cause::network_path_or_topology_misselection)
                         : id_of(Cause::misconfigured_environment_variable));
    found.blame.variable = variable;
    return {found};
}

// Some ranks' data is copied through host memory on its way to the network, and others' is not. Where all
// copy nothing says that they need not.
std::vector<Finding> copied_badly(const Evidence& evidence) {
    constexpr std::string_view rdma = "NET/IB", copies = "NET/IB copied through host memory", why = " for ";
    std::vector<Rank> copying;
    bool direct = false;
    Time at = never;
    std::string variable;
    for (const Event* event : evidence.each<CommInitLeave>()) {
        const std::string_view transport = evidence.text(event->as<CommInitLeave>()->transport);
        direct |= transport == rdma;
        if (!transport.starts_with(copies)) continue;
        at = std::min(at, event->at);
        copying.push_back(event->rank);
        if (transport.size() > copies.size()) variable = transport.substr(copies.size() + why.size());
    }
    if (copying.empty() || !direct) return {};
    copying = sorted(std::move(copying));
    Finding found =
        transport_finding(evidence.facts<Lives>(), copying, at,
                          fmt::format("data of {} is copied through host memory, that of others is not{}{}",
                                      ranks_text(copying), variable.empty() ? "" : "; set: ", variable),
                          variable.empty() ? id_of(Cause::network_path_or_topology_misselection)
                                           : id_of(Cause::misconfigured_environment_variable));
    found.blame.variable = std::move(variable);
    found.blame.component = "gpudirect";
    return {std::move(found)};
}

std::int32_t node_of_port(const Evidence& evidence, std::string_view port) {
    for (const Event* start : evidence.each<RankStart>()) {
        const std::string_view host = evidence.text(start->as<RankStart>()->host);
        if (!host.empty() && port.substr(0, port.find(' ')) == host) return start->as<RankStart>()->node;
    }
    return -1;
}

// Ports that retransmitted more than chance explains, or went down more than once.
std::vector<Finding> lossy(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::string_view, const LinkSample*> first_seen;
    std::set<std::int32_t> nodes;
    Time at = never;
    std::int64_t again = 0, downs = 0;
    for (const Event* event : evidence.each<LinkSample>()) {
        const auto* sample = event->as<LinkSample>();
        const LinkSample& known = *first_seen.try_emplace(evidence.text(sample->link), sample).first->second;
        const std::int64_t resent = sample->retransmits - known.retransmits;
        const std::int64_t down = sample->errors - known.errors;
        if (resent + down < retransmits_min && down < downs_min) continue;
        if (const auto node = node_of_port(evidence, evidence.text(sample->link)); node >= 0)
            nodes.insert(node);
        at = std::min(at, event->at);
        again = std::max(again, resent);
        downs = std::max(downs, down);
    }
    if (nodes.empty()) return {};
    const std::string where =
        fmt::format("{} {}", nodes.size() == 1 ? "the port of node" : "the ports of nodes",
                    ranges_text({nodes.begin(), nodes.end()}));
    Finding found = transport_finding(lives, {}, at,
                                      again > 0 ? fmt::format("{} sent {} messages again", where, again)
                                                : fmt::format("{} went down {} times", where, downs),
                                      id_of(Cause::hardware_or_link_fault));
    found.blame.nodes = {nodes.begin(), nodes.end()};
    found.blame.component =
        nodes.size() == 1 ? fmt::format("link {}", *nodes.begin()) : link_of(evidence, found.blame);
    return {found};
}

// A pair of ranks measured before training, as its log line gives it.
struct TriedPair {
    Rank from = no_rank, to = no_rank;
    double reached = 0, expected = 0;

    bool slow() const { return reached * static_cast<double>(promise_slow_permille) < expected * 1000; }
};

std::optional<TriedPair> tried_in(std::string_view line) {
    TriedPair pair;
    const std::string text(line.substr(0, 200));
    const bool whole = std::sscanf(text.c_str(), "bandwidth rank %d -> rank %d: %lf MB/s, %lf MB/s expected",
                                   &pair.from, &pair.to, &pair.reached, &pair.expected) == 4;
    return whole ? std::optional(pair) : std::nullopt;
}

// Pairs measured before training that reach less than promised; there is nothing else to compare with yet.
// Blame a place (a node; on one node a rank) whose pairs are all slow while other pairs are not; for a single
// slow pair both ends; if all pairs are slow, nobody.
std::vector<Finding> slower_than_promised(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<std::pair<std::int32_t, std::int32_t>> slow;
    std::map<std::int32_t, int> fast_pairs, slow_pairs;
    const bool nodes = lives.nodes() > 1;
    Time at{0};
    TriedPair worst{.reached = 1, .expected = 1};
    for (const Event* event : evidence.each<RankLog>()) {
        const auto pair = tried_in(evidence.text(event->as<RankLog>()->line));
        if (!pair) continue;
        at = event->at;
        const auto from = nodes ? lives.node_of(pair->from) : pair->from;
        const auto to = nodes ? lives.node_of(pair->to) : pair->to;
        auto& count = pair->slow() ? slow_pairs : fast_pairs;
        ++count[from];
        ++count[to];
        if (!pair->slow()) continue;
        slow.emplace_back(from, to);
        if (pair->reached / pair->expected < worst.reached / worst.expected) worst = *pair;
    }
    if (slow.empty()) return {};
    std::vector<std::int32_t> places;
    for (const auto& [place, count] : slow_pairs) {
        if (!fast_pairs.contains(place)) places.push_back(place);
    }
    if (fast_pairs.empty()) places.clear();
    if (places.empty() && slow.size() == 1) places = {slow[0].first, slow[0].second};
    std::vector<Rank> ranks;
    for (const std::int32_t place : places) {
        const std::vector<Rank> there = nodes ? lives.on_node(place) : std::vector<Rank>{place};
        ranks.insert(ranks.end(), there.begin(), there.end());
    }
    Finding found = transport_finding(
        lives, sorted(std::move(ranks)), at,
        fmt::format("{} of the tried pairs are slow; rank {} -> rank {} reached {} MB/s of {}", slow.size(),
                    worst.from, worst.to, worst.reached, worst.expected),
        id_of(Cause::hardware_or_link_fault));
    if (places.size() == 1)
        found.blame.component = fmt::format("{} {}", nodes ? "link" : "nvlink", places[0]);
    if (places.size() == 2) found.blame.component = fmt::format("link {}-{}", places[0], places[1]);
    return {found};
}

// How much a call must delay a step before it is worth an alarm.
Time alarm_delay_min(const Evidence& evidence) {
    const Time least =
        by_processor(evidence) ? Time(std::chrono::milliseconds(5)) : Time(std::chrono::microseconds(20));
    return std::max(least, evidence.facts<Lives>().median_step() / 20);
}

// How long the transfer threads had no processor, as the ranks' hooks report now and then.
class Starvation {
public:
    explicit Starvation(const Evidence& evidence) {
        for (const Event* event : evidence.each<ValueSample>()) {
            const auto* sample = event->as<ValueSample>();
            if (evidence.text(sample->name) == SampleName::transfer_wait)
                told_[event->rank].emplace_back(event->at,
                                                Time(static_cast<std::int64_t>(sample->value * 1e9)));
        }
    }

    // The longest that any of these ranks waited around this moment.
    Time around(const std::vector<Rank>& ranks, Time at) const {
        Time most{0};
        for (const Rank rank : ranks) {
            const auto told = told_.find(rank);
            if (told == told_.end()) continue;
            const auto next =
                std::lower_bound(told->second.begin(), told->second.end(), std::pair(at, Time{0}));
            if (next != told->second.end()) most = std::max(most, next->second);
        }
        return most;
    }

private:
    std::map<Rank, std::vector<std::pair<Time, Time>>> told_;
};

// The call that completes a streak of slow ones after which most stay slow: a bad link stays slow, a busy
// machine does not.
const Transfer* onset(const std::vector<Transfer>& calls, Time alarm_delay_min,
                      const std::vector<Rank>& ranks, const Starvation& starvation, Time& usual) {
    std::vector<std::int64_t> before;
    std::vector<bool> slow;
    for (const Transfer& call : calls) {
        usual = Time{median(before)};
        slow.push_back(before.size() >= transport_history_min && call.lasted > 2 * usual &&
                       call.lasted - usual > alarm_delay_min + starvation.around(ranks, call.at));
        if (!slow.back()) before.push_back(call.lasted.count());
    }
    for (std::size_t first = 0; first + std::size_t{transport_streak_min} <= slow.size(); ++first) {
        const auto from = slow.begin() + static_cast<std::ptrdiff_t>(first);
        if (!std::all_of(from, from + transport_streak_min, [](bool is) { return is; })) continue;
        if (std::count(from, slow.end(), true) * 4 < (slow.end() - from) * 3) continue;
        return &calls[first + std::size_t{transport_streak_min} - 1];
    }
    return nullptr;
}

std::vector<Finding> slower_than_before(const Evidence& evidence, const std::vector<CommTransfers>& all) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Finding> found;
    const Starvation starvation(evidence);
    for (const CommTransfers& transfers : all) {
        for (const auto& [kind, calls] : transfers.kinds) {
            Time usual{0};
            const Transfer* call =
                onset(calls, alarm_delay_min(evidence), transfers.comm->processes, starvation, usual);
            if (!call) continue;
            found.push_back(transport_finding(
                lives, transfers.comm->processes, call->at,
                fmt::format("{} of {} bytes over {} takes {}, {} before", name_of(kind.op), kind.bytes,
                            transfers.comm->name, duration_text(call->lasted), duration_text(usual)),
                id_of(Cause::hardware_or_link_fault)));
            found.back().blame.component = link_of(evidence, found.back().blame);
            found.back().blame.collective = name_of(kind.op);
        }
    }
    return found;
}

// Before the restart the same group took less than half as long.
std::vector<Finding> slower_than_last_attempt(const Evidence& evidence,
                                              const std::vector<CommTransfers>& all) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::tuple<int, std::string_view, std::vector<Rank>, TransferKind>, Time> usual;
    for (const CommTransfers& transfers : all) {
        const Communicator& comm = *transfers.comm;
        for (const auto& [kind, calls] : transfers.kinds) {
            if (calls.size() < transport_history_min) continue;
            std::vector<std::int64_t> lasted;
            for (const Transfer& call : calls) lasted.push_back(call.lasted.count());
            const Time now{median(std::move(lasted))};
            usual.try_emplace({comm.attempt, comm.name, comm.processes, kind}, now);
            const auto before = usual.find({comm.attempt - 1, comm.name, comm.processes, kind});
            if (before == usual.end() || now <= 2 * before->second ||
                now - before->second <= alarm_delay_min(evidence))
                continue;
            const auto change = change_between({evidence, comm.attempt - 1, PairTables::Of::versions},
                                               {evidence, comm.attempt, PairTables::Of::versions});
            Finding found = transport_finding(
                lives, comm.processes, calls[transport_history_min - 1].at,
                fmt::format(
                    "{} of {} bytes over {} takes {} since the restart, {} before it{}", name_of(kind.op),
                    kind.bytes, comm.name, duration_text(now), duration_text(before->second),
                    change ? fmt::format("; {} was {} and is {}", change->name, change->before, change->after)
                           : ""),
                change ? id_of(Cause::dependency_or_hardware_mismatch)
                       : id_of(Cause::hardware_or_link_fault));
            found.blame.component = change ? std::string(change->name) : link_of(evidence, found.blame);
            found.blame.collective = name_of(kind.op);
            return {found};
        }
    }
    return {};
}

// Groups of one name and size do the same work over links of the same kind.
std::vector<Finding> slower_than_equals(const Evidence& evidence, const std::vector<CommTransfers>& all) {
    const Lives& lives = evidence.facts<Lives>();
    const auto span = [&](const Communicator& comm) {
        return blame_ranks(lives, comm.processes).nodes.size();
    };
    std::map<std::tuple<int, std::string_view, std::size_t, std::size_t, TransferKind>,
             std::vector<std::tuple<Time, const Communicator*, Time>>>
        equals;
    for (const CommTransfers& transfers : all) {
        const Communicator& comm = *transfers.comm;
        if (comm.processes.size() > 1024) continue;
        for (const auto& [kind, calls] : transfers.kinds) {
            if (calls.size() < transport_history_min) continue;
            std::vector<std::int64_t> lasted;
            for (const Transfer& call : calls) lasted.push_back(call.lasted.count());
            equals[{comm.attempt, comm.name, comm.processes.size(), span(comm), kind}].emplace_back(
                Time{median(std::move(lasted))}, &comm, calls[transport_history_min - 1].at);
        }
    }
    for (auto& [key, groups] : equals) {
        if (groups.size() < 2) continue;
        std::sort(groups.begin(), groups.end());
        const auto& [slowest, comm, at] = groups.back();
        const Time usual = std::get<0>(groups[(groups.size() - 1) / 2]);
        if (slowest <= 2 * usual || slowest - usual <= alarm_delay_min(evidence)) continue;
        Finding found = transport_finding(
            lives, comm->processes, at,
            fmt::format("{} over {} takes {}, {} in groups like it", name_of(std::get<4>(key).op), comm->name,
                        duration_text(slowest), duration_text(usual)),
            id_of(Cause::network_path_or_topology_misselection));
        found.blame.component = link_of(evidence, found.blame);
        return {found};
    }
    return {};
}

}  // namespace

Findings transport_degraded(const Evidence& evidence) {
    for (const auto look : {find_wrong_transport, copied_badly, lossy, slower_than_promised})
        if (auto found = look(evidence); !found.empty()) return found;
    const auto all = transfers_of(evidence);
    auto slow = slower_than_before(evidence, all);
    if (slow.empty()) slow = slower_than_last_attempt(evidence, all);
    if (slow.empty()) slow = slower_than_equals(evidence, all);
    if (slow.empty()) return {};
    // The smallest affected group is nearest to the bad link.
    return {*std::min_element(slow.begin(), slow.end(), [](const Finding& a, const Finding& b) {
        return std::pair(a.blame.ranks.size(), a.at) < std::pair(b.blame.ranks.size(), b.at);
    })};
}

extern const DetectorRow transport_degraded_row{.name = "transport_degraded",
                                                .reports = {id_of(Symptom::collective_transport_degraded)},
                                                .examine = transport_degraded};

extern const Thresholds transport_degraded_thresholds{
    {"calls known before", transport_history_min},
    {"slow calls in a row, each twice the usual time", transport_streak_min},
    {"retransmits and downs of a port", retransmits_min},
    {"downs of a port alone", downs_min},
    {"promised bandwidth, of what a tried pair reached", promise_slow_permille, "‰"}};

}  // namespace deadrank::results::detectors

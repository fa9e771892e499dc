// results/analysis/meetings.cpp — Calls as a graph of processes, whose connected parts are found; steps
// divided by these parts, replicas by their own word that are in several, and parts told apart by what they
// call.
#include "results/analysis/meetings.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "results/analysis/calls.h"
#include "results/analysis/lives.h"
#include "results/record/event_names.h"

namespace deadrank::results::analysis {

namespace {

class Graph {
public:
    explicit Graph(std::size_t count) : above_(count) { std::iota(above_.begin(), above_.end(), 0u); }

    std::uint32_t of(std::size_t one) {
        while (above_[one] != one) one = above_[one] = above_[above_[one]];
        return static_cast<std::uint32_t>(one);
    }
    void join(Rank a, Rank b) { above_[of(static_cast<std::size_t>(a))] = of(static_cast<std::size_t>(b)); }

private:
    std::vector<std::uint32_t> above_;
};

// Calls `visit` with each process that made this call, and what it made.
template <class Collective, class Visit>
void each_caller(const Communicator& comm, const Collective& collective, const Visit& visit) {
    const std::size_t places = std::min(collective.calls.size(), comm.processes.size());
    for (std::size_t place = 0; place < places; ++place)
        if (comm.processes[place] != no_rank && collective.calls[place].what)
            visit(comm.processes[place], collective.calls[place]);
}

Time first_step(const Evidence& evidence) {
    const auto steps = evidence.each<StepBegin>();
    return steps.empty() ? Time{0} : steps.front()->at;
}

// By process; of those that have ended none, the end of time.
std::vector<Time> last_steps(const Evidence& evidence) {
    std::vector<Time> ended(static_cast<std::size_t>(evidence.facts<Lives>().count()), Time::max());
    for (const Event* event : evidence.each<StepEnd>()) {
        const auto process = static_cast<std::size_t>(event->rank);
        if (event->rank >= 0 && process < ended.size()) ended[process] = event->at;
    }
    return ended;
}

}  // namespace

Meetings::Meetings(const Evidence& evidence, Time until)
    : Meetings(evidence, first_step(evidence), {}, until) {}

Meetings::Meetings(const Evidence& evidence)
    : Meetings(evidence, first_step(evidence), last_steps(evidence), evidence.observed_until()) {}

Meetings::Meetings(const Evidence& evidence, Time from, const std::vector<Time>& until, Time until_at_most) {
    const Calls& calls = evidence.facts<Calls>();
    const auto processes = static_cast<std::size_t>(evidence.facts<Lives>().count());
    Graph graph(processes);
    const auto counts = [&](Rank process, Time entered) {
        if (!until.empty() && entered >= until[static_cast<std::size_t>(process)]) return false;
        return entered >= from && entered <= until_at_most;
    };
    for (const Communicator& comm : calls.communicators()) {
        for (const auto& [seq, collective] : comm.collectives) {
            Rank first = no_rank;
            each_caller(comm, collective, [&](Rank process, const Call& call) {
                if (!counts(process, call.entered)) return;
                if (first == no_rank) first = process;
                graph.join(first, process);
            });
        }
    }
    for (const Event* event : evidence.each<P2pEnter>()) {
        const auto* call = event->as<P2pEnter>();
        const Communicator* comm = calls.find(evidence.facts<Lives>().attempt_at(event->at), call->comm);
        const auto place = static_cast<std::size_t>(call->peer);
        if (event->rank < 0 || !counts(event->rank, event->at) || !comm || call->peer < 0 ||
            place >= comm->processes.size() || comm->processes[place] == no_rank)
            continue;
        graph.join(event->rank, comm->processes[place]);
    }
    part_of_.reserve(processes);
    members_.resize(processes);
    for (std::size_t process = 0; process < processes; ++process) {
        part_of_.push_back(graph.of(process));
        parts_ += members_[part_of_.back()]++ == 0;
    }
}

std::size_t Meetings::of(Rank process) const { return part_of_[static_cast<std::size_t>(process)]; }

bool Meetings::meets(Rank process) const { return members_[of(process)] > 1; }

std::vector<std::vector<StepPace>> group_comparable_ranks(const Evidence& evidence) {
    const std::vector<StepPace>& steps = evidence.facts<Paces>().steps();
    const Meetings meetings(evidence);
    const Roles& roles = evidence.facts<Roles>();
    if (meetings.count() < 2 && !roles.several()) return {};
    using PartAndRole = std::pair<std::size_t, std::size_t>;  // the part that meets, and the role in it
    std::map<PartAndRole, std::vector<StepPace>> apart;
    for (const StepPace& step : steps) {
        std::map<PartAndRole, StepPace> divided;
        for (const Pace& pace : step.ranks) {
            if (!meetings.meets(pace.process)) continue;
            StepPace& own = divided[{meetings.of(pace.process), roles.of(pace.process)}];
            if (own.ranks.empty()) {
                own.attempt = step.attempt;
                own.step = step.step;
                own.first = step.first;
                own.epoch_begins = step.epoch_begins;
            }
            own.ranks.push_back(pace);
            if (pace.process != step.worker) continue;
            own.worker = step.worker;
            own.for_all = step.for_all;
        }
        for (auto& [part, own] : divided) {
            summarize(own);
            apart[part].push_back(std::move(own));
        }
    }
    std::vector<std::vector<StepPace>> all;
    for (auto& [part, own] : apart) all.push_back(std::move(own));
    return all;
}

namespace {

// The replicas of one group, as they call themselves, and when each said so first in training. Until then
// they need not have met: ranks that average their weights every few steps say it after that.
struct Replicas {
    std::set<Rank> ranks;
    std::map<Rank, Time> said;
    std::optional<std::int64_t> step = {};  // the first of which they said so

    struct DigestCount {
        std::uint64_t digest = 0;
        std::size_t ranks = 0;
        bool differ = false;
    };
    std::map<std::pair<TextId, std::int64_t>, DigestCount> told = {};  // by name and step

    void add_digest(Rank rank, const ParametersDigest& digest) {
        ranks.insert(rank);
        DigestCount& here = told[{digest.name, digest.step}];
        if (here.ranks++ == 0) here.digest = digest.digest;
        here.differ |= here.digest != digest.digest;
    }
    bool part() const {
        return std::any_of(told.begin(), told.end(), [](const auto& one) { return one.second.differ; });
    }
    bool once_alike() const {
        return std::any_of(told.begin(), told.end(), [&](const auto& one) {
            return !one.second.differ && one.second.ranks == ranks.size();
        });
    }

    // When all had said so and ended their first step.
    Time last_statement_time(const std::map<Rank, Time>& stepped) const {
        Time last{0};
        for (const Rank rank : ranks) {
            const auto ended = stepped.find(rank), word = said.find(rank);
            if (ended == stepped.end() || word == said.end()) return never;
            last = std::max({last, ended->second, word->second});
        }
        return last;
    }
};

bool has_world_size_one(const Evidence& evidence, Rank rank) {
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        if (event->rank == rank && evidence.text(config->name) == ConfigName::world_size)
            return evidence.text(config->value) == "1";
    }
    return false;
}

// Whether a group beyond the world joins several of these ranks, and none of them ever calls in it: then they
// know of each other, and the call was left out. That the world joins them says nothing of how they train.
bool share_idle_group(const Evidence& evidence, const std::set<Rank>& ranks) {
    std::map<int, bool> world_seen;
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        if (!std::exchange(world_seen[comm.attempt], true) || !comm.collectives.empty()) continue;
        const auto joined = std::count_if(comm.processes.begin(), comm.processes.end(), [&](Rank process) {
            return process != no_rank && ranks.contains(process);
        });
        if (joined > 1) return true;
    }
    return false;
}

}  // namespace

namespace {

bool all_in(const Communicator& comm, const std::set<Rank>& ranks) {
    return std::all_of(ranks.begin(), ranks.end(),
                       [&](Rank rank) { return comm.place_of(rank) < comm.processes.size(); });
}

// Whether a broadcast brought all these ranks to the same start.
bool given_one_start(const Evidence& evidence, const std::set<Rank>& ranks) {
    const Time from = first_step(evidence);
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        if (!all_in(comm, ranks)) continue;
        for (const auto& [seq, collective] : comm.collectives) {
            const bool given =
                std::all_of(collective.calls.begin(), collective.calls.end(), [&](const Call& call) {
                    return call.what && call.what->op == Op::broadcast && call.entered < from &&
                           call.left != never;
                });
            if (given) return true;
        }
    }
    return false;
}

// Whether one of these ranks trains with a group that leaves another one out: the groups are wrong then.
bool call_in_smaller_groups(const Evidence& evidence, const std::set<Rank>& ranks, Time until) {
    const Time from = first_step(evidence);
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        if (all_in(comm, ranks)) continue;
        for (const auto& [seq, collective] : comm.collectives) {
            for (std::size_t place = 0; place < collective.calls.size(); ++place) {
                const Time entered = collective.calls[place].entered;
                if (ranks.contains(comm.processes[place]) && entered >= from && entered <= until) return true;
            }
        }
    }
    return false;
}

// One job whose replicas began alike and part for want of a call, which is not the same as several jobs.
bool replicas_lack_call(const Evidence& evidence, const Replicas& replicas, Time until) {
    const bool one_start = replicas.once_alike() || given_one_start(evidence, replicas.ranks);
    return replicas.part() && one_start && !call_in_smaller_groups(evidence, replicas.ranks, until);
}

}  // namespace

std::optional<IsolatedReplicas> find_isolated_replicas(const Evidence& evidence) {
    std::map<std::string_view, Replicas> groups;
    std::map<Rank, Time> began, stepped;
    for (const Event* event : evidence.each<StepBegin>()) began.try_emplace(event->rank, event->at);
    for (const Event* event : evidence.each<StepEnd>()) stepped.try_emplace(event->rank, event->at);
    for (const Event* event : evidence.each<ParametersDigest>()) {
        Replicas& replicas = groups[evidence.text(event->as<ParametersDigest>()->group)];
        const auto* digest = event->as<ParametersDigest>();
        replicas.add_digest(event->rank, *digest);
        const auto training = began.find(event->rank);
        if (training == began.end() || event->at < training->second) continue;
        replicas.said.try_emplace(event->rank, event->at);
        if (!replicas.step) replicas.step = digest->step;
    }
    for (const auto& [group, replicas] : groups) {
        const Time until = replicas.last_statement_time(stepped);
        if (replicas.ranks.size() < 2 || until == never) continue;
        const Meetings meetings(evidence, until);
        std::set<std::size_t> met;
        for (const Rank rank : replicas.ranks) met.insert(meetings.of(rank));
        if (met.size() < 2 || share_idle_group(evidence, replicas.ranks)) continue;
        const bool worlds = has_world_size_one(evidence, *replicas.ranks.begin());
        if (!worlds && replicas_lack_call(evidence, replicas, until)) continue;
        return IsolatedReplicas{
            group, {replicas.ranks.begin(), replicas.ranks.end()}, met.size(), until, worlds, replicas.step};
    }
    return std::nullopt;
}

namespace {

// Each member gives and takes alike.
bool is_symmetric(Op op) {
    return op == Op::all_reduce || op == Op::all_gather || op == Op::reduce_scatter || op == Op::all_to_all;
}

// Kinds of calls, a bit each.
using Ops = std::uint32_t;

class Workers {
public:
    explicit Workers(std::size_t count) : graph_(count), ops_(count) {}
    void calls(Rank process, Op op) {
        ops_[static_cast<std::size_t>(process)] |= Ops{1} << static_cast<unsigned>(op);
    }
    void join(Rank a, Rank b) { graph_.join(a, b); }
    // What is called in the part to which each process belongs.
    std::vector<Ops> ops_of_parts() {
        for (std::size_t process = 0; process < ops_.size(); ++process)
            ops_[graph_.of(process)] |= ops_[process];
        for (std::size_t process = 0; process < ops_.size(); ++process)
            ops_[process] = ops_[graph_.of(process)];
        return std::move(ops_);
    }

private:
    Graph graph_;
    std::vector<Ops> ops_;
};

void look_at_groups(const Evidence& evidence, Workers& workers) {
    const Time from = first_step(evidence);
    const Lives& lives = evidence.facts<Lives>();
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        if (std::ssize(comm.processes) >= lives.started(comm.attempt)) continue;
        for (const auto& [seq, collective] : comm.collectives) {
            Rank first = no_rank;
            each_caller(comm, collective, [&](Rank process, const Call& call) {
                if (call.entered < from || call.what->op == Op::barrier) return;
                workers.calls(process, call.what->op);
                if (!is_symmetric(call.what->op)) return;
                if (first == no_rank) first = process;
                workers.join(first, process);
            });
        }
    }
    for (const Event* event : evidence.each<P2pEnter>())
        if (event->rank >= 0 && event->at >= from) workers.calls(event->rank, Op::send);
}

}  // namespace

Roles::Roles(const Evidence& evidence) {
    Workers workers(static_cast<std::size_t>(evidence.facts<Lives>().count()));
    look_at_groups(evidence, workers);
    const std::vector<Ops> ops = workers.ops_of_parts();
    if (std::find(ops.begin(), ops.end(), Ops{0}) != ops.end()) return;  // who calls nothing, tells nothing
    std::map<Ops, std::uint32_t> roles;
    role_of_.resize(ops.size());
    for (std::size_t process = 0; process < ops.size(); ++process)
        role_of_[process] =
            roles.try_emplace(ops[process], static_cast<std::uint32_t>(roles.size())).first->second;
    count_ = std::max<std::size_t>(roles.size(), 1);
}

}  // namespace deadrank::results::analysis

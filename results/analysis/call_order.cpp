// results/analysis/call_order.cpp — The calls of one process in their order: whether one of them was usual
// there, and whether they are those of its siblings.
#include "results/analysis/call_order.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "results/analysis/findings.h"

namespace deadrank::results::analysis {

// ── Only built for processes under suspicion, so clarity beats speed.

namespace {

constexpr std::size_t memory = 12;  // how many earlier calls are compared

}  // namespace

Program::Program(const Evidence& evidence, int attempt, Rank process, Time until) {
    const Lives& lives = evidence.facts<Lives>();
    const Calls& calls = evidence.facts<Calls>();
    for (const Event* event : evidence.each<CollectiveEnter>()) {
        if (event->rank != process || event->at > until || lives.attempt_at(event->at) != attempt) continue;
        const auto* enter = event->as<CollectiveEnter>();
        const Communicator* comm = calls.find(attempt, enter->comm);
        steps_.push_back(
            {{comm ? comm->name : "", enter->op, enter->count, enter->dtype, enter->reduce, enter->root},
             enter->comm,
             enter->seq,
             event->at});
    }
}

std::optional<std::size_t> Program::index_of(CommId comm, std::int64_t seq) const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        if (steps_[i].comm == comm && steps_[i].seq == seq) return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> Program::like(std::size_t index) const {
    std::size_t best_length = 0;
    std::optional<std::size_t> best;
    for (std::size_t earlier = index; earlier-- > 1;) {
        std::size_t length = 0;
        while (length < memory && length < earlier &&
               steps_[earlier - 1 - length].act == steps_[index - 1 - length].act) {
            ++length;
        }
        if (length <= best_length) continue;
        best_length = length;
        best = earlier;
        if (length == memory) break;
    }
    // One matching call says little; two in a row, or a whole short lap, predict the next call.
    return best_length >= 2 ? best : std::nullopt;
}

std::optional<Act> Program::usual_at(std::size_t index) const {
    const auto earlier = like(index);
    return earlier ? std::optional(steps_[*earlier].act) : std::nullopt;
}

std::optional<Act> Program::usual_after(std::size_t index) const {
    const auto earlier = like(index);
    return earlier && *earlier + 1 < index ? std::optional(steps_[*earlier + 1].act) : std::nullopt;
}

bool Program::skipped_at(std::size_t index) const {
    const auto usual = usual_at(index);
    const auto after = usual_after(index);
    if (!usual || !after || index >= steps_.size() || steps_[index].act == *usual) return false;
    const bool came_later = index + 1 < steps_.size() && steps_[index + 1].act == *usual;
    return steps_[index].act == *after && !came_later;
}

std::size_t Program::first_unusual() const {
    for (std::size_t i = 2; i < steps_.size(); ++i) {
        const auto usual = usual_at(i);
        if (usual && !(*usual == steps_[i].act)) return i;
    }
    return steps_.size();
}

bool sizes_vary(const Communicator& comm, const Collective& collective, const CollectiveEnter& what) {
    std::optional<std::int64_t> size;
    for (const auto& [seq, earlier] : comm.collectives) {
        if (seq >= collective.seq) break;
        for (const Call& call : earlier.calls) {
            if (!call.what || call.what->op != what.op || call.what->dtype != what.dtype) continue;
            if (size && *size != call.what->count) return true;
            size = call.what->count;
        }
    }
    return false;
}

// A rendezvous looks the same at both ends of a job; a step in between tells them apart.
bool had_begun_step(const Evidence& evidence, int attempt, Rank process, Time before) {
    const Lives& lives = evidence.facts<Lives>();
    const Life* life = lives.find(attempt, process);
    if (!life || life->step < 0) return false;
    // Events are in order of time: nearly every rendezvous comes before the first step, and costs one look.
    const auto steps = evidence.each<StepBegin>();
    const Time begin = lives.begins(attempt);
    auto step =
        std::partition_point(steps.begin(), steps.end(), [&](const Event* each) { return each->at < begin; });
    for (; step != steps.end() && (*step)->at < before; ++step) {
        if ((*step)->rank == process) return true;
    }
    return false;
}

std::vector<Leaving> find_leavings(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Leaving> all;
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        if (lives.attempt_at(event->at) != attempt) continue;
        if (had_begun_step(evidence, attempt, event->rank, event->at))
            all.push_back({event->rank, event->at});
    }
    for (const Event* event : evidence.each<RendezvousLeave>()) {
        for (Leaving& one : all) {
            if (one.process == event->rank && event->at >= one.entered)
                one.left = std::min(one.left, event->at);
        }
    }
    return all;
}

namespace {

// How many calls each process made in each of its steps.
using Counts = std::map<std::int64_t, std::map<Rank, std::size_t>>;

Counts calls_by_step(const Evidence& evidence, const Communicator& comm, Time until) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<Rank, std::multimap<Time, std::int64_t>> begun;  // an empty step begins with the next one
    for (const Event* event : evidence.each<StepBegin>())
        if (lives.attempt_at(event->at) == comm.attempt)
            begun[event->rank].emplace(event->at, event->as<StepBegin>()->step);
    Counts counts;
    for (const auto& [rank, steps] : begun)
        for (const auto& [at, step] : steps) counts[step][rank];  // also where no call follows
    for (const auto& [seq, collective] : comm.collectives) {
        for (std::size_t place = 0; place < collective.calls.size(); ++place) {
            const Rank process = place < comm.processes.size() ? comm.processes[place] : no_rank;
            const Time entered = collective.calls[place].entered;
            const auto steps = begun.find(process);
            if (entered > until || steps == begun.end()) continue;
            const auto next = steps->second.upper_bound(entered);
            if (next != steps->second.begin()) ++counts[std::prev(next)->second][process];
        }
    }
    return counts;
}

}  // namespace

std::optional<std::int64_t> find_step_of_missing_call(const Evidence& evidence, const Communicator& comm,
                                                      const std::vector<Rank>& blamed, Time until) {
    if (blamed.empty()) return std::nullopt;
    for (const auto& [step, counts] : calls_by_step(evidence, comm, until)) {
        const auto own = counts.find(blamed.front());
        if (own == counts.end()) continue;
        std::size_t more = 0, others = 0;
        for (const Rank peer : comm.processes) {
            const auto theirs = counts.find(peer);
            const bool too = std::find(blamed.begin(), blamed.end(), peer) != blamed.end();
            if (too || theirs == counts.end()) continue;
            ++others;
            more += theirs->second > own->second;
        }
        if (2 * more > others) return step;
    }
    return std::nullopt;
}

bool calls_in_its_steps(const Evidence& evidence, const Communicator& comm, Rank process) {
    const auto begins = evidence.each<StepBegin>();
    const auto first = std::find_if(begins.begin(), begins.end(), [&](const Event* event) {
        return event->rank == process && evidence.facts<Lives>().attempt_at(event->at) == comm.attempt;
    });
    if (first == begins.end()) return false;
    const std::size_t place = comm.place_of(process);
    return std::any_of(comm.collectives.begin(), comm.collectives.end(), [&](const auto& entry) {
        const auto& calls = entry.second.calls;
        return place < calls.size() && calls[place].what && calls[place].entered >= (*first)->at;
    });
}

std::vector<std::string_view> find_unused_groups(const Evidence& evidence, int attempt,
                                                 const std::vector<Rank>& processes) {
    const Lives& lives = evidence.facts<Lives>();
    std::set<CommId> used;
    for (const Event* event : evidence.each<P2pEnter>())
        if (lives.attempt_at(event->at) == attempt) used.insert(event->as<P2pEnter>()->comm);
    std::set<Rank> without(processes.begin(), processes.end());
    std::set<std::string_view> names;
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        const std::vector<Rank> members = sorted(comm.processes);
        const bool unused = comm.attempt == attempt && comm.collectives.empty() && !used.contains(comm.id);
        if (!unused || members.size() < 2 || std::ssize(members) >= lives.count() ||
            !std::includes(processes.begin(), processes.end(), members.begin(), members.end()))
            continue;
        names.insert(comm.name);
        for (const Rank member : members) without.erase(member);
    }
    if (!without.empty()) return {};
    return {names.begin(), names.end()};
}

// ── Only asked about one stuck group, so each list is built from scratch.

namespace {

// torch numbers the groups that a program gives no name: "3", and "3/gloo" of one with several libraries.
bool is_numbered(std::string_view name) {
    const std::string_view number = name.substr(0, name.find('/'));
    return !number.empty() && number.find_first_not_of("0123456789") == number.npos;
}

// What a group is for: its name, or how far its members are apart.
std::string work_of(const Communicator& comm) {
    if (!is_numbered(comm.name) || comm.processes.empty()) return std::string(comm.name);
    return fmt::format("{} ranks, {} and {} apart", comm.processes.size(),
                       comm.processes[std::min<std::size_t>(1, comm.processes.size() - 1)] - comm.processes.front(),
                       comm.processes.back() - comm.processes.front());
}

using CallList = std::vector<std::tuple<std::string_view, Op, std::int32_t>>;  // the last is a message's peer
constexpr std::size_t groups_max = 64;  // as many siblings as are worth comparing

bool begins_with(const CallList& whole, const CallList& beginning) {
    return beginning.size() <= whole.size() && std::equal(beginning.begin(), beginning.end(), whole.begin());
}

// Hands `add` the communicator, the operation and the peer of an event that begins a call or a message.
template <class Add>
void add_call(const Event& event, const Add& add) {
    if (const auto* enter = event.as<CollectiveEnter>()) add(enter->comm, enter->op, -1);
    if (const auto* enter = event.as<P2pEnter>()) add(enter->comm, enter->op, enter->peer);
}

class Lists {
public:
    Lists(const Evidence& evidence, int attempt, Time when, const std::vector<Rank>& of_whom) {
        for (const Rank rank : of_whom) lists_[rank];
        const Lives& lives = evidence.facts<Lives>();
        const Calls& calls = evidence.facts<Calls>();
        for (const Event& event : evidence.events()) {
            add_call(event, [&](CommId id, Op op, std::int32_t peer) {
                const auto list = lists_.find(event.rank);
                if (list == lists_.end() || event.at > when || lives.attempt_at(event.at) != attempt) return;
                auto work = works_.find(id);
                if (work == works_.end()) {
                    const Communicator* comm = calls.find(attempt, id);
                    work = works_.emplace(id, comm ? work_of(*comm) : "").first;
                }
                list->second.emplace_back(work->second, op, peer);
            });
        }
    }

    // Is one of the two lists a prefix of the other?
    bool alike(Rank one, Rank other) const {
        const CallList &a = lists_.at(one), &b = lists_.at(other);
        return begins_with(a, b) || begins_with(b, a);
    }

private:
    std::map<CommId, std::string> works_;
    std::map<Rank, CallList> lists_;
};

// The groups of one dimension of a mesh: none has a member of another, and their members are as far apart.
bool are_parallel(const Communicator& one, const Communicator& other) {
    const auto& a = one.processes;
    const auto& b = other.processes;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i] == no_rank || b[i] == no_rank || a[i] - a[0] != b[i] - b[0]) return false;
    return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) == a.end();
}

// Groups that do the same work for other ranks.
std::vector<const Communicator*> siblings_of(const Evidence& evidence, const Communicator& comm) {
    std::vector<const Communicator*> siblings;
    for (const Communicator& other : evidence.facts<Calls>().communicators()) {
        if (other.attempt != comm.attempt || other.id == comm.id || other.processes.size() != comm.processes.size())
            continue;
        const bool same_work =
            other.name == comm.name ||
            (is_numbered(comm.name) && is_numbered(other.name) && are_parallel(comm, other));
        if (same_work && siblings.size() < groups_max) siblings.push_back(&other);
    }
    return siblings;
}

}  // namespace

std::vector<Rank> find_ranks_out_of_order(const Evidence& evidence, int attempt,
                                          const std::vector<Rank>& ranks, Time when) {
    const Lives& lives = evidence.facts<Lives>();
    const Calls& calls = evidence.facts<Calls>();
    // What a rank calls between two steps stands in the first one.
    std::map<Rank, std::vector<CallList>> steps;
    for (const Rank rank : ranks) steps[rank];
    for (const Event& event : evidence.events()) {
        if (event.at > when) break;
        const auto own = steps.find(event.rank);
        if (own == steps.end() || lives.attempt_at(event.at) != attempt) continue;
        if (event.as<StepBegin>()) own->second.emplace_back();
        if (own->second.empty()) continue;
        add_call(event, [&](CommId id, Op op, std::int32_t peer) {
            const Communicator* comm = calls.find(attempt, id);
            own->second.back().emplace_back(comm ? comm->name : "", op, peer);
        });
    }
    std::vector<Rank> found;
    for (const auto& [rank, lists] : steps) {
        const std::size_t count = lists.size();
        const bool now = count >= 2 && !begins_with(lists[count - 2], lists[count - 1]);
        const bool before = count >= 3 && lists[count - 2] != lists[count - 3];
        if (now || before) found.push_back(rank);
    }
    return found;
}

std::vector<Rank> find_odd_siblings(const Evidence& evidence, const Communicator& comm, Time when) {
    const auto siblings = siblings_of(evidence, comm);
    if (siblings.empty()) return {};
    std::vector<Rank> whom;
    const auto add = [&](const Communicator& one) {
        for (const Rank process : one.processes) {
            if (process != no_rank) whom.push_back(process);
        }
    };
    add(comm);
    for (const Communicator* sibling : siblings) add(*sibling);
    const Lists lists(evidence, comm.attempt, when, whom);
    std::vector<Rank> unlike;
    for (std::size_t place = 0; place < comm.processes.size(); ++place) {
        const Rank process = comm.processes[place];
        const bool parts = std::all_of(siblings.begin(), siblings.end(), [&](const Communicator* sibling) {
            const Rank other = sibling->processes[place];
            return other != no_rank && !lists.alike(process, other);
        });
        if (process != no_rank && parts) unlike.push_back(process);
    }
    // Of two groups that differ at several places, either may have departed at each of them.
    if (siblings.size() == 1 && unlike.size() > 1) return {};
    return unlike.size() < comm.processes.size() ? unlike : std::vector<Rank>{};
}

}  // namespace deadrank::results::analysis

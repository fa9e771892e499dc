// results/analysis/call_disagreement.cpp — Which ranks are odd in one collective.
#include "results/analysis/call_disagreement.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "results/analysis/findings.h"
#include "results/analysis/lives.h"
#include "results/record/event_names.h"

namespace deadrank::results::analysis {

namespace {

// Two calls fit when operation, count, type, reduction and root are the same.
bool fits(const CollectiveEnter& a, const CollectiveEnter& b) {
    return a.op == b.op && a.count == b.count && a.dtype == b.dtype && a.reduce == b.reduce &&
           a.root == b.root;
}

std::string difference(const CollectiveEnter& odd, const CollectiveEnter& usual,
                       std::string_view than = "instead of") {
    std::string text;
    const auto add = [&](std::string words) { text += (text.empty() ? "" : ", ") + std::move(words); };
    if (odd.op != usual.op) add(fmt::format("{} {} {}", name_of(odd.op), than, name_of(usual.op)));
    if (odd.count != usual.count) add(fmt::format("{} elements {} {}", odd.count, than, usual.count));
    if (odd.dtype != usual.dtype)
        add(fmt::format("{} {} {}", name_of(odd.dtype), than, name_of(usual.dtype)));
    if (odd.reduce != usual.reduce) {
        add(fmt::format("reduction {} {} {}", name_of(odd.reduce), than, name_of(usual.reduce)));
    }
    if (odd.root != usual.root) add(fmt::format("root {} {} {}", odd.root, than, usual.root));
    return text;
}

struct Party {
    const CollectiveEnter* what;
    std::vector<Rank> processes;
};

std::vector<Party> parties_of(const Communicator& comm, const Collective& collective) {
    std::vector<Party> parties;
    for (std::size_t place = 0; place < collective.calls.size(); ++place) {
        const CollectiveEnter* what = collective.calls[place].what;
        if (!what) continue;
        const auto known = std::find_if(parties.begin(), parties.end(),
                                        [&](const Party& p) { return fits(*p.what, *what); });
        if (known != parties.end())
            known->processes.push_back(comm.processes[place]);
        else
            parties.push_back({what, {comm.processes[place]}});
    }
    return parties;
}

struct Habit {
    bool unusual = false;
    bool skipped = false;
};

Habit habit_of(const Evidence& evidence, const Communicator& comm, const Collective& collective,
               Rank process) {
    const Program program(evidence, comm.attempt, process);
    const auto index = program.index_of(comm.id, collective.seq);
    if (!index) return {};
    const auto usual = program.usual_at(*index);
    return {usual && !(*usual == program.steps()[*index].act), program.skipped_at(*index)};
}

// Without a majority, the odd party is the one that departs from its own habit. False if neither does, or
// both.
bool order_by_habit(const Evidence& evidence, const Communicator& comm, const Collective& collective,
                    std::vector<Party>& parties) {
    if (parties[0].processes.size() != parties[1].processes.size()) return true;
    if (parties.size() != 2) return false;
    const bool first = habit_of(evidence, comm, collective, parties[0].processes.front()).unusual;
    const bool second = habit_of(evidence, comm, collective, parties[1].processes.front()).unusual;
    if (first && !second) std::swap(parties[0], parties[1]);
    return first != second;
}

// Where in its program a process makes a call.
struct Spot {
    std::int64_t step = -1;
    Phase phase = Phase::none;
};

Time entered_by(const Communicator& comm, const Collective& collective, Rank process) {
    for (std::size_t place = 0; place < collective.calls.size(); ++place)
        if (comm.processes[place] == process) return collective.calls[place].entered;
    return never;
}

Spot spot_of(const Evidence& evidence, int attempt, Rank process, Time at) {
    const Lives& lives = evidence.facts<Lives>();
    Spot spot;
    for (const Event& event : evidence.events()) {
        if (event.at > at) break;
        if (event.rank != process || lives.attempt_at(event.at) != attempt) continue;
        if (const auto* begin = event.as<StepBegin>()) spot = {begin->step, Phase::none};
        if (const auto* begin = event.as<PhaseBegin>()) spot.phase = begin->phase;
        if (event.as<PhaseEnd>()) spot.phase = Phase::none;
    }
    return spot;
}

enum class AtFault { minority, majority, unclear };

// Who is to blame if the minority's call belongs to a step that the majority has ended.
AtFault side_of(const Evidence& evidence, const Communicator& comm, const Collective& collective,
                const Party& majority, const Party& minority) {
    const auto spot = [&](const Party& party) {
        const Rank process = party.processes.front();
        return spot_of(evidence, comm.attempt, process, entered_by(comm, collective, process));
    };
    const Spot here = spot(minority);
    if (here.phase == Phase::none || here.step < 0 || spot(majority).step <= here.step)
        return AtFault::minority;
    const Lives& lives = evidence.facts<Lives>();
    bool before = false, inside = false, passed = false;
    for (const Event& event : evidence.events()) {
        if (event.rank != majority.processes.front() || lives.attempt_at(event.at) != comm.attempt) continue;
        if (const auto* begin = event.as<PhaseBegin>()) {
            inside = begin->phase == here.phase && begin->step < here.step;
            before |= inside;
            passed |= begin->phase == here.phase && begin->step == here.step;
            if (begin->step > here.step) break;
        } else if (event.as<PhaseEnd>()) {
            inside = false;
        } else if (const auto* enter = event.as<CollectiveEnter>()) {
            if (inside && enter->comm == comm.id && fits(*enter, *minority.what)) return AtFault::majority;
        }
    }
    return passed && !before ? AtFault::unclear : AtFault::minority;
}

// A group agrees on a size by a call of its own: a few integers of which all learn the largest or the
// smallest, or that one member tells. Who then comes with another size did not heed it.
constexpr std::int64_t few_numbers = 8;

bool only_size_differs(const CollectiveEnter& a, const CollectiveEnter& b) {
    CollectiveEnter resized = a;
    resized.count = b.count;
    return a.count != b.count && fits(resized, b);
}

bool may_exchange_sizes(const CollectiveEnter& call) {
    const bool whole = call.dtype == Dtype::i32 || call.dtype == Dtype::i64;
    return whole && call.count > 0 && call.count <= few_numbers;
}

// The party with the agreed size; null if the call before was no agreement, or belongs to another step.
const Party* agreed_party(const Evidence& evidence, const Communicator& comm, const Collective& collective,
                          const std::vector<Party>& parties) {
    const auto earlier = comm.collectives.find(collective.seq - 1);
    if (earlier == comm.collectives.end()) return nullptr;
    const Collective& before = earlier->second;
    const auto ended = [](const Call& call) { return call.what && call.left != never; };
    if (!std::all_of(before.calls.begin(), before.calls.end(), ended)) return nullptr;
    const CollectiveEnter& what = *before.calls.front().what;
    const Rank one = parties.front().processes.front();
    const auto step_of = [&](const Collective& call) {
        return spot_of(evidence, comm.attempt, one, entered_by(comm, call, one)).step;
    };
    if (!may_exchange_sizes(what) || step_of(before) != step_of(collective)) return nullptr;
    const auto smaller = [](const Party& a, const Party& b) { return a.what->count < b.what->count; };
    if (what.op == Op::all_gather || (what.op == Op::all_reduce && what.reduce == ReduceOp::max))
        return &*std::max_element(parties.begin(), parties.end(), smaller);
    if (what.op == Op::all_reduce && what.reduce == ReduceOp::min)
        return &*std::min_element(parties.begin(), parties.end(), smaller);
    const auto root = static_cast<std::size_t>(std::max(what.root, 0));
    if (what.op != Op::broadcast || root >= comm.processes.size()) return nullptr;
    const auto told = std::find_if(parties.begin(), parties.end(), [&](const Party& party) {
        return std::count(party.processes.begin(), party.processes.end(), comm.processes[root]) > 0;
    });
    return told == parties.end() ? nullptr : &*told;
}

// Whether a party's size was another one when its members were last at this place; nothing on the first lap.
std::optional<bool> resized(const Evidence& evidence, const Communicator& comm, const Collective& collective,
                            const Party& party) {
    const Program program(evidence, comm.attempt, party.processes.front());
    const auto index = program.index_of(comm.id, collective.seq);
    const auto usual = index ? program.usual_at(*index) : std::nullopt;
    if (!usual) return std::nullopt;
    return usual->count != party.what->count;
}

// Whose size is wrong: that most have one size says little by itself. Three to one at least say something on
// the first lap, and where sizes vary anyway. If only one side changed its size, it is that side; but if most
// changed it alike, either may be wrong.
AtFault side_of_sizes(const Evidence& evidence, const Communicator& comm, const Collective& collective,
                      const std::vector<Party>& parties) {
    const auto majority = resized(evidence, comm, collective, parties[0]);
    const auto minority = resized(evidence, comm, collective, parties[1]);
    // Members that receive know nothing of each other: what several expect alike, the root departs from.
    const auto& few = parties[1].processes;
    const auto root = static_cast<std::size_t>(std::max(parties[1].what->root, 0));
    const bool root_alone = parties[1].what->op == Op::broadcast && few.size() == 1 &&
                            root < comm.processes.size() && comm.processes[root] == few.front();
    const bool one_of_many = parties[0].processes.size() >= 3 * few.size();
    const bool first_lap = !majority && !minority;
    if (!majority || !minority)
        return root_alone || (first_lap && one_of_many) ? AtFault::minority : AtFault::unclear;
    const bool varies = one_of_many && sizes_vary(comm, collective, *parties[0].what);
    return *minority || varies ? AtFault::minority : AtFault::unclear;
}

// Of two sides of a size, one makes a call that neither has made before, and the other has gone on to its
// next step: an activity that begins, such as the first evaluation. Either may be wrong about its time.
bool begins_new_activity(const Evidence& evidence, const Communicator& comm, const Collective& collective,
                         const Party& goes_on, const Party& begins) {
    const auto step_of = [&](const Party& party) {
        const Rank process = party.processes.front();
        return spot_of(evidence, comm.attempt, process, entered_by(comm, collective, process)).step;
    };
    if (goes_on.what->op == begins.what->op || step_of(goes_on) <= step_of(begins)) return false;
    for (const auto& [seq, earlier] : comm.collectives) {
        if (seq >= collective.seq) break;
        const auto made = [&](const Call& call) { return call.what && call.what->op == begins.what->op; };
        if (std::any_of(earlier.calls.begin(), earlier.calls.end(), made)) return false;
    }
    return true;
}

// Calls made at different places of a program are different calls, though they may differ in size alone.
bool share_call_site(const Evidence& evidence, const Communicator& comm, const Collective& collective,
                     const std::vector<Party>& parties) {
    const auto spot = [&](const Party& party) {
        const Rank process = party.processes.front();
        return spot_of(evidence, comm.attempt, process, entered_by(comm, collective, process));
    };
    const Spot one = spot(parties[0]), other = spot(parties[1]);
    return one.step == other.step && one.phase == other.phase;
}

AtFault at_fault(const Evidence& evidence, const Communicator& comm, const Collective& collective,
                 std::vector<Party>& parties) {
    const bool even = parties[0].processes.size() == parties[1].processes.size();
    const bool sizes = parties.size() == 2 && only_size_differs(*parties[0].what, *parties[1].what) &&
                       share_call_site(evidence, comm, collective, parties);
    const Party* agreed = sizes ? agreed_party(evidence, comm, collective, parties) : nullptr;
    if (agreed) return agreed == &parties[0] ? AtFault::minority : AtFault::majority;
    if (!order_by_habit(evidence, comm, collective, parties)) return AtFault::unclear;
    if (parties.size() != 2) return AtFault::minority;
    if (even && begins_new_activity(evidence, comm, collective, parties[0], parties[1]))
        return AtFault::unclear;
    if (sizes && !even) return side_of_sizes(evidence, comm, collective, parties);
    return side_of(evidence, comm, collective, parties[0], parties[1]);
}

// Where two sides differ and nothing in the group tells which is right: what the other groups of its kind do.
AtFault side_of_siblings(const Evidence& evidence, const Communicator& comm, const Collective& collective,
                         const std::vector<Party>& parties) {
    Time last{0};
    for (const Call& call : collective.calls)
        if (call.what) last = std::max(last, call.entered);
    const std::vector<Rank> odd = find_odd_siblings(evidence, comm, last);
    if (odd == sorted(parties[1].processes)) return AtFault::minority;
    return odd == sorted(parties[0].processes) ? AtFault::majority : AtFault::unclear;
}

}  // namespace

Disagreement find_disagreement(const Evidence& evidence, const Communicator& comm,
                               const Collective& collective) {
    // Nearly all collectives agree: look closer only at those that do not.
    const CollectiveEnter* first = nullptr;
    bool differ = false;
    for (const Call& call : collective.calls) {
        if (!call.what) continue;
        if (!first) first = call.what;
        differ |= !fits(*first, *call.what);
    }
    if (!differ) return {};
    std::vector<Party> parties = parties_of(comm, collective);
    std::stable_sort(parties.begin(), parties.end(),
                     [](const Party& a, const Party& b) { return a.processes.size() > b.processes.size(); });
    AtFault side = at_fault(evidence, comm, collective, parties);
    if (side == AtFault::unclear && parties.size() == 2)
        side = side_of_siblings(evidence, comm, collective, parties);
    if (side == AtFault::majority) std::swap(parties[0], parties[1]);
    Disagreement found{.usual = parties.front().what, .unusual = parties[1].what};
    for (std::size_t i = side == AtFault::unclear ? 0 : 1; i < parties.size(); ++i) {
        found.odd.insert(found.odd.end(), parties[i].processes.begin(), parties[i].processes.end());
    }
    found.odd = sorted(std::move(found.odd));
    const bool unclear = side == AtFault::unclear;
    found.aspect = difference(*found.unusual, *found.usual, unclear ? "against" : "instead of");
    if (unclear && parties.size() == 2)
        found.aspect += fmt::format(" ({} against {})", ranks_text(sorted(parties[1].processes)),
                                    ranks_text(sorted(parties[0].processes)));
    found.skipped = habit_of(evidence, comm, collective, parties[1].processes.front()).skipped;
    return found;
}

}  // namespace deadrank::results::analysis

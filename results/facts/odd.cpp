// results/facts/odd.cpp — Two calls fit when operation, count, type, reduction and root are the
// same.
#include "results/facts/odd.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/facts/findings.h"

namespace deadrank::results::detectors {

namespace {

bool fits(const CollectiveEnter& a, const CollectiveEnter& b) {
    return a.op == b.op && a.count == b.count && a.dtype == b.dtype && a.reduce == b.reduce &&
           a.root == b.root;
}

std::string difference(const CollectiveEnter& odd, const CollectiveEnter& usual) {
    std::string text;
    const auto add = [&](std::string words) { text += (text.empty() ? "" : ", ") + std::move(words); };
    if (odd.op != usual.op) add(fmt::format("{} instead of {}", name_of(odd.op), name_of(usual.op)));
    if (odd.count != usual.count) add(fmt::format("{} elements instead of {}", odd.count, usual.count));
    if (odd.dtype != usual.dtype)
        add(fmt::format("{} instead of {}", name_of(odd.dtype), name_of(usual.dtype)));
    if (odd.reduce != usual.reduce) {
        add(fmt::format("reduction {} instead of {}", name_of(odd.reduce), name_of(usual.reduce)));
    }
    if (odd.root != usual.root) add(fmt::format("root {} instead of {}", odd.root, usual.root));
    return text;
}

struct Party {
    const CollectiveEnter* what;
    std::vector<Rank> processes;
};

std::vector<Party> parties_of(const Communicator& comm, const Meeting& meeting) {
    std::vector<Party> parties;
    for (std::size_t place = 0; place < meeting.calls.size(); ++place) {
        const CollectiveEnter* what = meeting.calls[place].what;
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

Habit habit_of(const Evidence& evidence, const Communicator& comm, const Meeting& meeting, Rank process) {
    const Program program(evidence, comm.attempt, process);
    const auto index = program.index_of(comm.id, meeting.seq);
    if (!index) return {};
    const auto usual = program.usual_at(*index);
    return {usual && !(*usual == program.steps()[*index].act), program.skipped_at(*index)};
}

// Without a majority: the party that does not do what it used to do.
void order_by_habit(const Evidence& evidence, const Communicator& comm, const Meeting& meeting,
                    std::vector<Party>& parties) {
    if (parties.size() != 2 || parties[0].processes.size() != parties[1].processes.size()) return;
    const bool first = habit_of(evidence, comm, meeting, parties[0].processes.front()).unusual;
    const bool second = habit_of(evidence, comm, meeting, parties[1].processes.front()).unusual;
    if (first && !second) std::swap(parties[0], parties[1]);
}

}  // namespace

Disagreement disagreement_in(const Evidence& evidence, const Communicator& comm, const Meeting& meeting) {
    // Nearly all meetings agree: look twice only where they do not.
    const CollectiveEnter* first = nullptr;
    bool differ = false;
    for (const Call& call : meeting.calls) {
        if (!call.what) continue;
        if (!first) first = call.what;
        differ |= !fits(*first, *call.what);
    }
    if (!differ) return {};
    std::vector<Party> parties = parties_of(comm, meeting);
    std::stable_sort(parties.begin(), parties.end(),
                     [](const Party& a, const Party& b) { return a.processes.size() > b.processes.size(); });
    order_by_habit(evidence, comm, meeting, parties);
    Disagreement found{.usual = parties.front().what, .unusual = parties[1].what};
    for (std::size_t i = 1; i < parties.size(); ++i) {
        found.odd.insert(found.odd.end(), parties[i].processes.begin(), parties[i].processes.end());
    }
    found.odd = sorted(std::move(found.odd));
    found.aspect = difference(*found.unusual, *found.usual);
    found.skipped = habit_of(evidence, comm, meeting, parties[1].processes.front()).skipped;
    return found;
}

}  // namespace deadrank::results::detectors

// results/analysis/unset_key.cpp — Compares who complained of a key with who had neither come to that wait
// nor gone beyond it.
#include "results/analysis/unset_key.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "results/analysis/setup_words.h"
#include "results/analysis/waits.h"

namespace deadrank::results::analysis {

std::vector<Rank> find_ranks_due_to_set_key(const Evidence& evidence, const Complaint& complaint) {
    const int attempt = complaint.attempt;
    const std::string_view key = find_awaited_key(complaint.text);
    if (key.empty()) return {};
    const Lives& lives = evidence.facts<Lives>();
    std::set<Rank> came;
    for (const Complaint& one : evidence.facts<Complaints>().all())
        if (one.attempt == attempt && find_awaited_key(one.text) == key) came.insert(one.process);
    const Time before = complaint.at - Time{1};
    const std::vector<Rank> beyond = Waits(evidence, attempt, before).standstill().stuck;
    const auto step = step_at(evidence, complaint.process, before);
    std::vector<Rank> absent;
    for (const Life& life : lives.of(attempt)) {
        if (!life.start || came.contains(life.process)) continue;
        const bool waits = std::find(beyond.begin(), beyond.end(), life.process) != beyond.end();
        if (!waits && step_at(evidence, life.process, before) <= step) absent.push_back(life.process);
    }
    const bool all = std::ssize(absent) + std::ssize(came) == lives.started(attempt);
    return absent.size() < came.size() + (all ? 1 : 0) ? absent : std::vector<Rank>{};
}

}  // namespace deadrank::results::analysis

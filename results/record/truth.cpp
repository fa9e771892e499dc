// results/record/truth.cpp — Questions the judge asks of the truth.
#include "results/record/truth.h"

#include <algorithm>

namespace deadrank::results {

namespace {

template <class T>
void unite(std::vector<T>& all, const std::vector<T>& more) {
    for (const T& item : more) {
        const auto place = std::lower_bound(all.begin(), all.end(), item);
        if (place == all.end() || *place != item) all.insert(place, item);
    }
}

void prefer(std::string& kept, const std::string& other) {
    if (kept.empty()) kept = other;
}

}  // namespace

bool Truth::applied() const { return first_fault() != never; }

Time Truth::first_fault() const {
    Time first = never;
    for (const Mark& mark : marks) {
        if (mark.kind == "fault.applied") first = std::min(first, mark.at);
    }
    return first;
}

Blame Truth::culprit() const {
    Blame all;
    for (const Mark& mark : marks) {
        if (mark.kind != "fault.applied") continue;
        unite(all.ranks, mark.blame.ranks);
        unite(all.nodes, mark.blame.nodes);
        if (!all.step) all.step = mark.blame.step;
        prefer(all.variable, mark.blame.variable);
        prefer(all.component, mark.blame.component);
        prefer(all.collective, mark.blame.collective);
        prefer(all.shard, mark.blame.shard);
    }
    return all;
}

bool Truth::completed() const {
    return std::all_of(ends.begin(), ends.end(), [](RankEnd end) { return end == RankEnd::finished; });
}

}  // namespace deadrank::results

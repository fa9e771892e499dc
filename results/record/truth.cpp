// results/record/truth.cpp — Questions the judge asks of the truth.
#include "results/record/truth.h"

#include <algorithm>
#include <array>

namespace deadrank::results {

namespace {

template <class T>
void unite(std::vector<T>& all, const std::vector<T>& more) {
    for (const T& item : more) {
        const auto place = std::lower_bound(all.begin(), all.end(), item);
        if (place == all.end() || *place != item) all.insert(place, item);
    }
}

// In the order of the enumeration.
constexpr std::array<std::string_view, 7> mark_names = {
    "fault.applied", "fault.reverted", "fault.refused", "deadlock", "outcome", "fault.missed", "fault.unread"};

void prefer(std::string& kept, const std::string& other) {
    if (kept.empty()) kept = other;
}

}  // namespace

std::string_view name_of(MarkKind kind) { return mark_names.at(static_cast<std::size_t>(kind)); }

std::optional<MarkKind> mark_kind_named(std::string_view name) {
    const auto found = std::find(mark_names.begin(), mark_names.end(), name);
    if (found == mark_names.end()) return std::nullopt;
    return static_cast<MarkKind>(found - mark_names.begin());
}

bool is_about_a_fault(MarkKind kind) {
    return kind <= MarkKind::refused || kind == MarkKind::missed || kind == MarkKind::unread;
}

bool Truth::applied() const { return first_fault() != never; }

const Mark* Truth::refusal() const {
    const auto found = std::find_if(marks.begin(), marks.end(),
                                    [](const Mark& mark) { return mark.kind == MarkKind::refused; });
    return found == marks.end() ? nullptr : &*found;
}

const Mark* Truth::idle() const {
    const auto found = std::find_if(marks.begin(), marks.end(), [](const Mark& mark) {
        return mark.kind == MarkKind::missed || mark.kind == MarkKind::unread;
    });
    return found == marks.end() ? nullptr : &*found;
}

bool Truth::took_place() const { return applied() && !refusal() && !idle(); }

Time Truth::first_fault() const {
    Time first = never;
    for (const Mark& mark : marks) {
        if (mark.kind == MarkKind::applied) first = std::min(first, mark.at);
    }
    return first;
}

Blame Truth::culprit() const {
    Blame all;
    for (const Mark& mark : marks) {
        if (mark.kind != MarkKind::applied) continue;
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

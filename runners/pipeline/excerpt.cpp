// runners/pipeline/excerpt.cpp — What a reader of a failure wants first: a few lines of evidence, or the
// first event in which two runs differ.
#include "runners/pipeline/excerpt.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "results/reports/terminal.h"

namespace deadrank::runners {

// Compares events in their written form, the form in which a difference is shown.

std::string first_difference(const results::Evidence& then, const results::Evidence& now) {
    const auto line = [](const results::Evidence& evidence, std::size_t index) {
        return index < evidence.events().size() ? results::to_json_line(evidence, evidence.events()[index])
                                                : std::string("nothing more");
    };
    const std::size_t longest = std::max(then.events().size(), now.events().size());
    for (std::size_t index = 0; index < longest; ++index) {
        const std::string before = line(then, index);
        const std::string after = line(now, index);
        if (before != after)
            return fmt::format("event {} differs: {} then, {} now", index + 1, before, after);
    }
    if (then.observed_until() == now.observed_until()) return {};
    return fmt::format("all events agree, but it was watched until {} ns then, {} ns now",
                       then.observed_until().count(), now.observed_until().count());
}

// Picks events by count, not by time: a hang is hours without events.

namespace {

using results::Event;

bool concerns(const Event& event, const results::Blame& blame) {
    if (blame.ranks.empty() || event.rank == results::no_rank) return true;
    return std::count(blame.ranks.begin(), blame.ranks.end(), event.rank) > 0;
}

// The last `before` and the first `after` events about these ranks, counted from `at`.
void pick_around(std::span<const Event> events, results::Time at, const results::Blame& blame, int before,
                 int after, std::set<std::size_t>& picked) {
    const auto middle =
        std::lower_bound(events.begin(), events.end(), at,
                         [](const Event& event, results::Time time) { return event.at < time; });
    const auto split = static_cast<std::size_t>(middle - events.begin());
    for (std::size_t i = split; i > 0 && before > 0; --i) {
        if (concerns(events[i - 1], blame)) picked.insert(i - 1), --before;
    }
    for (std::size_t i = split; i < events.size() && after > 0; ++i) {
        if (concerns(events[i], blame)) picked.insert(i), --after;
    }
}

}  // namespace

std::vector<std::string> excerpt(const results::Evidence& evidence, const results::Judgement& judgement) {
    const auto events = evidence.events();
    std::set<std::size_t> picked;
    if (judgement.fault_at != results::never)
        pick_around(events, judgement.fault_at, judgement.culprit, 3, 3, picked);
    if (const results::Finding* answer = judgement.answering())
        pick_around(events, answer->at, answer->blame, 3, 1, picked);
    pick_around(events, results::never, {}, 2, 0, picked);
    std::vector<std::string> lines;
    for (const std::size_t index : picked) {
        lines.push_back(results::reports::event_text(evidence, events[index]));
    }
    return lines;
}

}  // namespace deadrank::runners

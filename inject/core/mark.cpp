// inject/core/mark.cpp — Blame is completed here from what only the moment knows: step, collective, and the
// nodes of the ranks.
#include "inject/core/mark.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace deadrank::inject {

namespace {

template <class T>
void keep_each_once(std::vector<T>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

results::Blame complete(results::Blame blame, Rank rank, const Moment& moment, const Levers& levers) {
    if (rank >= 0 && std::count(blame.ranks.begin(), blame.ranks.end(), rank) > 0) blame.ranks = {rank};
    if (blame.nodes.empty()) {
        for (const Rank blamed : blame.ranks) blame.nodes.push_back(levers.node_of(blamed));
    }
    keep_each_once(blame.ranks);
    keep_each_once(blame.nodes);
    if (moment.step >= 0) blame.step = moment.step;
    if (blame.collective.empty() && results::op_named(moment.call) != results::Op::none) {
        blame.collective = moment.call;
    }
    return blame;
}

std::string whose(Rank rank, const std::vector<Rank>& blamed = {}) {
    if (rank >= 0) return fmt::format(" on rank {}", rank);
    if (blamed.empty()) return {};
    return fmt::format(" on {} {}", blamed.size() == 1 ? "rank" : "ranks", fmt::join(blamed, ", "));
}

std::string where(const Moment& moment) {
    std::string text = moment.step < 0 ? std::string() : fmt::format(" in step {}", moment.step);
    if (!moment.call.empty()) text += fmt::format(" before {}", moment.call);
    return text;
}

}  // namespace

results::Mark applied_mark(std::size_t fault, const PlannedFault& planned, Rank rank, const Moment& moment,
                           const Levers& levers) {
    const results::Blame blame = complete(planned.fault->blame(levers), rank, moment, levers);
    const bool few = blame.ranks.size() <= 8;
    return {.at = moment.now,
            .kind = results::MarkKind::applied,
            .fault = static_cast<std::int32_t>(fault),
            .blame = blame,
            .says = planned.spec.kind + whose(rank, few ? blame.ranks : std::vector<Rank>()) + where(moment)};
}

results::Mark reverted_mark(std::size_t fault, const PlannedFault& planned, Rank rank, Time now) {
    return {.at = now,
            .kind = results::MarkKind::reverted,
            .fault = static_cast<std::int32_t>(fault),
            .blame = {},
            .says = planned.spec.kind + whose(rank)};
}

results::Mark refused_mark(std::size_t fault, const PlannedFault& planned, Rank rank, const Moment& moment,
                           const scenarios::Error& error) {
    return {.at = moment.now,
            .kind = results::MarkKind::refused,
            .fault = static_cast<std::int32_t>(fault),
            .blame = {},
            .says = fmt::format("{}{}{}: {}", planned.spec.kind, whose(rank), where(moment), error.text())};
}

}  // namespace deadrank::inject

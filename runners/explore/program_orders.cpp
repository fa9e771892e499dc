// runners/explore/program_orders.cpp — Each order is a run of its own, compared with the usual one as a run with a fault
// is.
#include "runners/explore/program_orders.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace deadrank::runners::explore {

using scenarios::Result;

bool ProgramOrders::depends() const {
    return std::any_of(runs.begin(), runs.end(), [](const OrderRun& run) {
        return run.outcome != Outcome::unaffected && run.outcome != Outcome::unknown;
    });
}

Result<ProgramOrders> play_orders(ProgramTrials& trials, std::size_t count, const Workers& workers) {
    const auto first = workers.make_runner();
    if (const auto control = trials.control(*first); !control) return tl::unexpected(control.error());
    std::vector<std::optional<OrderRun>> played(count);
    for_each_index(count, workers, [&](std::size_t i, Runner& runner) {
        OrderRun one{.seed = i + 1, .says = {}};
        const auto run = trials.play_order(one.seed, runner);
        if (workers.stop && workers.stop->load()) return;
        if (run) {
            one.outcome = run->outcome;
            one.says = run->says;
            one.trace_hash = run->fault.record.trace_hash;
        } else {
            one.says = run.error().text();
        }
        played[i] = std::move(one);
    });
    ProgramOrders orders{.runs = {}, .planned = count};
    std::map<std::string, std::size_t> alike;
    std::set<std::uint64_t> traces;
    for (auto& one : played) {
        if (!one) continue;
        const std::string ending = fmt::format("{}{}", name_of(one->outcome), words_without_numbers(one->says));
        one->like = alike.emplace(ending, orders.runs.size()).first->second;
        traces.insert(one->trace_hash);
        orders.runs.push_back(std::move(*one));
    }
    orders.distinct = traces.size();
    return orders;
}

Result<std::map<std::uint64_t, RunDifference>> find_order_differences(const ProgramTrials& trials,
                                                                      const std::vector<std::uint64_t>& seeds,
                                                                      Runner& telling) {
    std::map<std::uint64_t, RunDifference> found;
    if (seeds.empty()) return found;
    const auto usual = trials.play_healthy({}, telling);
    if (!usual) return tl::unexpected(usual.error());
    for (const std::uint64_t seed : seeds) {
        const auto drawn = trials.play_healthy(seed, telling);
        if (!drawn) return tl::unexpected(drawn.error());
        if (auto first = first_difference(usual->record.evidence, drawn->record.evidence))
            found.emplace(seed, std::move(*first));
    }
    return found;
}

}  // namespace deadrank::runners::explore

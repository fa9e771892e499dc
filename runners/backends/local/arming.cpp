// runners/backends/local/arming.cpp — Each fault pulls its levers once in a dry run; the recorded pulls are
// what the hook will do.
#include "runners/backends/local/arming.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "inject/core/fault.h"
#include "inject/core/injector.h"
#include "inject/core/trigger.h"
#include "inject/faults/fault_catalog.h"

namespace deadrank::runners {

using nlohmann::json;

namespace {

json when_of(const inject::PlannedFault& planned) {
    const scenarios::Trigger& when = planned.spec.when;
    std::int64_t lasts = when.lasts;
    if (lasts < 0 && planned.rhythm.on != results::never) lasts = planned.rhythm.on.count();
    return {{"at_start", inject::from_start(when)},
            {"at", when.at},
            {"step", when.step},
            {"phase", when.phase},
            {"before", when.before},
            {"comm", when.comm},
            {"nth", when.nth},
            {"always", when.always},
            {"until_step", when.until_step},
            {"lasts", lasts},
            {"off", planned.rhythm.off.count()},
            {"times", planned.rhythm.times}};
}

// Ranks whose hook waits for the moment. A fault without a rank is armed on all ranks if a file's name
// selects among them or if they share the storage, else on the first.
std::vector<int> waiting_ranks(inject::Rank rank, const std::vector<HookPull>& pulls, inject::Rank ranks) {
    if (rank >= 0) return {rank};
    const json first = pulls.empty() ? json::object() : json::parse(pulls.front().json);
    const std::string what = first.value("what", "");
    const bool by_name = !first.value("path", "").empty();
    const bool of_all = by_name || what == "slow" || what == "full" || what == "read_only";
    std::vector<int> all{0};
    for (inject::Rank other = 1; of_all && other < ranks; ++other) all.push_back(other);
    return all;
}

std::vector<HookPull> of_rank(std::vector<HookPull> pulls, inject::Rank rank) {
    std::erase_if(pulls, [rank](const HookPull& pull) { return pull.rank != rank; });
    return pulls;
}

json parsed(const std::vector<HookPull>& pulls) {
    json list = json::array();
    for (const HookPull& pull : pulls) list.push_back(json::parse(pull.json));
    return list;
}

// A rank's hook cannot apply a fault to another rank than the one whose moment it waits for.
scenarios::Result<inject::Done> check_aim(inject::Rank rank, const std::vector<HookPull>& pulls,
                                          const std::string& kind) {
    for (const HookPull& pull : pulls) {
        if (pull.rank < 0 || rank < 0 || pull.rank == rank) continue;
        return scenarios::refuse(
            scenarios::ErrorCode::unsupported,
            fmt::format("{} of rank {} would act on rank {}, which a real process cannot", kind, rank,
                        pull.rank),
            "aim it at the rank that it acts on");
    }
    return inject::Done{};
}

scenarios::Result<inject::Done> arm_one(std::size_t index, inject::PlannedFault& planned,
                                        const Subject& subject, LocalLevers& levers, json& entries,
                                        std::vector<results::Mark>& marks) {
    if (auto comes = check_moment(planned.spec.when, subject); !comes) return tl::unexpected(comes.error());
    const bool starting = inject::from_start(planned.spec.when);
    levers.starting(starting);
    bool by_hook = false;
    for (const inject::Rank rank : planned.ranks) {
        if (auto done = planned.fault->apply(levers, rank); !done) return done;
        const std::vector<HookPull> pulls = levers.take();
        if (auto aimed = check_aim(rank, pulls, planned.spec.kind); !aimed) return aimed;
        if (auto shown = check_shown(pulls, subject); !shown) return tl::unexpected(shown.error());
        if (pulls.empty()) continue;
        by_hook = true;
        planned.fault->revert(levers, rank);
        const std::vector<HookPull> back = levers.take();
        std::vector<int> ranks = waiting_ranks(rank, pulls, levers.ranks());
        if (rank < 0 && pulls.front().rank >= 0) {  // aimed at a node: one entry for each of its ranks
            for (const HookPull& pull : pulls) {
                entries.push_back({{"fault", index},
                                   {"ranks", {pull.rank}},
                                   {"when", when_of(planned)},
                                   {"pulls", {json::parse(pull.json)}},
                                   {"undo", parsed(of_rank(back, pull.rank))},
                                   {"says", planned.spec.kind}});
            }
            continue;
        }
        entries.push_back({{"fault", index},
                           {"ranks", ranks},
                           {"when", when_of(planned)},
                           {"pulls", parsed(pulls)},
                           {"undo", parsed(back)},
                           {"says", planned.spec.kind}});
    }
    if (starting && !by_hook)
        marks.push_back(inject::applied_mark(index, planned, results::no_rank, {}, levers));
    return inject::Done{};
}

}  // namespace

scenarios::Result<Arming> arm(const scenarios::Plan& plan, const Subject& subject,
                              const std::filesystem::path& checkpoints, LocalLevers& levers) {
    Arming arming;
    json entries = json::array();
    for (const scenarios::FaultSpec& spec : plan.faults) {
        auto planned = inject::make_fault(inject::fault_catalog(), spec);
        if (!planned) return tl::unexpected(planned.error());
        arming.faults.push_back(std::move(*planned));
        const std::size_t index = arming.faults.size() - 1;
        if (auto done = arm_one(index, arming.faults.back(), subject, levers, entries, arming.marks); !done) {
            return tl::unexpected(done.error());
        }
    }
    json environment = json::object();
    for (const auto& [rank, setting] : levers.settings()) {
        environment[std::to_string(rank)] = {{"set", setting.set},
                                             {"unset", setting.unset},
                                             {"path", setting.path},
                                             {"python", setting.python}};
    }
    json groups = json::object();
    for (std::size_t rank = 0; rank < subject.groups.size(); ++rank)
        groups[std::to_string(rank)] = subject.groups[rank];
    arming.hook_plan =
        json{{"faults", entries}, {"environment", environment}, {"seams", subject.seams},
             {"groups", groups},  {"samples", subject.samples}, {"checkpoints", checkpoints.string()}}
            .dump(1);
    return arming;
}

}  // namespace deadrank::runners

// runners/find/swarm.cpp — Random plans checked against properties; draws favour what was seldom tried.
#include "runners/find/swarm.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

#include "results/record/words.h"
#include "runners/find/finds.h"
#include "runners/find/shrink.h"
#include "scenarios/format/closing.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::find {

// ── A batch is drawn from one state of the coverage, played on all threads, and merged in the order of its
// seeds.

namespace {

using scenarios::Plan;

constexpr std::size_t batch_size = 32;

struct Broken {
    Signature signature;
    Plan witness;
    std::vector<std::string> detail;
};

// The outcome of one seed.
struct Seen {
    Drawn drawn;
    bool played = false, job = false, effect = false;
    std::string trouble;
    std::vector<bool> acted;  // by fault
    std::vector<Broken> broken;
    std::map<std::string, std::vector<std::string>> sometimes;
};

std::vector<std::string> detail_of(const TrialedPlan& tried) {
    std::vector<std::string> lines;
    const auto add = [&](const std::string& where, const std::vector<results::Finding>& findings) {
        for (const auto& finding : findings)
            lines.push_back(fmt::format("{}{} about {}: {}", where, finding.symptom,
                                        results::blame_text(finding.blame), finding.says));
    };
    add("", tried.fault.findings);
    add("without the fault: ", tried.control->findings);
    return lines;
}

// The plan with only the faults that the failure needs.
Plan needed_faults(const Plan& plan, PlanTrials& trials, const Signature& signature) {
    if (plan.faults.empty()) return plan;
    const Fails fails = fails_alike(trials, signature);
    const auto with = [&](const Subset& some) {
        Plan less = plan;
        less.faults.clear();
        for (const std::size_t index : some) less.faults.push_back(plan.faults[index]);
        return less;
    };
    if (const Plan none = with({}); fails(none)) return none;
    if (plan.faults.size() == 1) return plan;
    return with(smallest_subset(plan.faults.size(), [&](const Subset& some) { return fails(with(some)); }));
}

std::vector<bool> faults_that_acted(const TrialedPlan& tried) {
    std::vector<bool> acted(tried.fault.plan.faults.size(), false);
    for (const auto& mark : tried.fault.record.truth.marks) {
        if (mark.kind == results::MarkKind::applied && mark.fault >= 0)
            acted[static_cast<std::size_t>(mark.fault)] = true;
    }
    return acted;
}

void check_properties(const SwarmOptions& options, const TrialedPlan& tried, PlanTrials& trials, Seen& seen) {
    for (const Property& property : all_properties()) {
        if (property.modality == Modality::sometimes) seen.sometimes[property.name] = property.look(tried);
    }
    for (const Signature& signature : broken(tried, options.properties)) {
        Broken one{signature, needed_faults(seen.drawn.plan, trials, signature), detail_of(tried)};
        if (one.witness.faults.size() < seen.drawn.plan.faults.size()) {
            if (const auto again = trials.try_plan(one.witness)) one.detail = detail_of(*again);
        }
        seen.broken.push_back(std::move(one));
    }
}

Seen look_at(std::uint64_t seed, const SwarmOptions& options, const Coverage& coverage, Runner& runner) {
    Seen seen{.drawn = draw_plan(seed, options.words, coverage)};
    Plan& plan = seen.drawn.plan;
    seen.acted.assign(plan.faults.size(), false);
    if (const auto wrong = scenarios::contradiction(plan)) {
        seen.trouble = wrong->what;
        return seen;
    }
    PlanTrials trials(runner, options.detectors, options.workers.stop);
    const auto tried = trials.try_plan(plan);
    if (!tried) {
        seen.trouble = tried.error().text();
        return seen;
    }
    seen.played = true;
    seen.job = tried->is_job();
    if (!seen.job) return seen;
    seen.acted = faults_that_acted(*tried);
    seen.effect = plan.faults.empty() || tried->fault.record.truth.applied();
    check_properties(options, *tried, trials, seen);
    return seen;
}

class Taking {
public:
    explicit Taking(const SwarmOptions& options) : options_(options) {}

    void take(std::uint64_t seed, Seen&& seen) {
        if (!seen.played) {
            ++result.not_played;
            if (result.trouble.empty()) result.trouble = seen.trouble;
            return;
        }
        ++result.played;
        if (!seen.job) {
            ++result.no_job;
            return;
        }
        if (!seen.effect) ++result.without_effect;
        for (std::size_t i = 0; i < seen.drawn.cells.size(); ++i)
            result.coverage.note(seen.drawn.cells[i], seen.acted[i]);
        for (auto& [name, ways] : seen.sometimes) result.sometimes[name].insert(ways.begin(), ways.end());
        for (Broken& one : seen.broken) add(seed, std::move(one));
    }

    Swarm finish() {
        for (auto& [key, group] : groups_) result.groups.push_back(std::move(group));
        std::stable_sort(result.groups.begin(), result.groups.end(),
                         [](const Group& a, const Group& b) { return a.seen > b.seen; });
        return std::move(result);
    }

    Swarm result;

private:
    void add(std::uint64_t seed, Broken&& one) {
        std::set<std::string> kinds;
        for (const auto& fault : one.witness.faults) kinds.insert(fault.kind);
        const std::vector<std::string> names(kinds.begin(), kinds.end());
        const PlanSize size = size_of(one.witness, *options_.words.words);
        auto [place, fresh] = groups_.try_emplace({one.signature, names});
        Group& group = place->second;
        ++group.seen;
        if (!fresh && !(size < group.size)) return;
        if (fresh) group.first_seed = seed;
        group.signature = std::move(one.signature);
        group.kinds = names;
        group.witness = std::move(one.witness);
        group.size = size;
        group.detail = std::move(one.detail);
    }

    const SwarmOptions& options_;
    std::map<std::pair<Signature, std::vector<std::string>>, Group> groups_;
};

}  // namespace

std::string Group::name() const {
    return fmt::format("{} ({})", signature.text(),
                       kinds.empty() ? "without a fault" : fmt::format("{}", fmt::join(kinds, " + ")));
}

Swarm swarm(const SwarmOptions& options) {
    Taking taking(options);
    taking.result.planned = options.seeds;
    const auto stopped = [&] { return options.workers.stop && options.workers.stop->load(); };
    for (std::size_t begin = 0; begin < options.seeds && !stopped(); begin += batch_size) {
        const std::size_t count = std::min(batch_size, options.seeds - begin);
        std::vector<std::optional<Seen>> batch(count);
        Workers workers = options.workers;
        if (options.workers.progress) {
            workers.progress = [&](std::size_t done, std::size_t) {
                options.workers.progress(begin + done, options.seeds);
            };
        }
        const Coverage before = taking.result.coverage;
        for_each_index(count, workers, [&](std::size_t index, Runner& runner) {
            batch[index] = look_at(options.first_seed + begin + index, options, before, runner);
        });
        if (stopped()) break;
        for (std::size_t i = 0; i < count; ++i)
            taking.take(options.first_seed + begin + i, std::move(*batch[i]));
    }
    return taking.finish();
}

}  // namespace deadrank::runners::find

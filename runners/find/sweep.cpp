// runners/find/sweep.cpp — First lists all points, then plays them: no run decides what is played.
#include "runners/find/sweep.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "results/judging/judge.h"
#include "results/record/words.h"
#include "runners/find/drawing.h"
#include "runners/find/finds.h"

namespace deadrank::runners::find {

namespace {

using scenarios::Plan;

struct Point {
    std::size_t row;
    std::int64_t rank, step;
    std::string phase;
    bool operator==(const Point&) const = default;
};

std::vector<std::int64_t> all_below(std::int64_t end) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(std::max<std::int64_t>(end, 0)));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
}

class Points {
public:
    Points(const SweepOptions& options, const std::vector<Stocked>& stock)
        : options_(options), stock_(stock) {
        const auto steps = options.base.workload.find("steps");
        ranks_ = options.ranks.empty() ? all_below(options.base.world_size()) : options.ranks;
        steps_ = options.steps;
        if (steps_.empty())
            steps_ = all_below(steps == options.base.workload.end() ? 1 : steps->second.number);
        phases_ = options.phases.empty() ? std::vector<std::string>{""} : options.phases;
    }

    std::vector<Point> all() {
        options_.pairwise ? add_pairwise() : add_product();
        return std::move(points_);
    }

private:
    void add_product() {
        for (std::size_t row = 0; row < stock_.size(); ++row) {
            for (const std::int64_t step : steps_) {
                for (const std::string& phase : phases_) {
                    for (const std::int64_t rank : ranks_) add({row, rank, step, phase});
                }
            }
        }
    }

    void add_pairwise() {
        if (stock_.empty()) return;
        for (const auto& choice :
             find::pairwise({stock_.size(), ranks_.size(), steps_.size(), phases_.size()})) {
            add({choice[0], ranks_[choice[1]], steps_[choice[2]], phases_[choice[3]]});
        }
    }

    // Drops coordinates that the fault does not use: points that differ only in those are one.
    void add(Point point) {
        const Stocked& stocked = stock_[point.row];
        const std::int64_t per_node = options_.base.number(options_.base.cluster, "gpus_per_node");
        if (stocked.aim == Aim::job) point.rank = -1;
        if (stocked.aim == Aim::node) point.rank -= point.rank % per_node;
        if (stocked.at_start) {
            point.step = -1;
            point.phase.clear();
        }
        if (seen_.insert({point.row, point.step, point.phase, point.rank}).second)
            points_.push_back(std::move(point));
    }

    const SweepOptions& options_;
    const std::vector<Stocked>& stock_;
    std::vector<std::int64_t> ranks_, steps_;
    std::vector<std::string> phases_;
    std::set<std::tuple<std::size_t, std::int64_t, std::string, std::int64_t>> seen_;
    std::vector<Point> points_;
};

// A scenario's own faults, to be moved to other places.
std::vector<Stocked> own_faults(const Plan& plan) {
    std::vector<Stocked> stock;
    for (const auto& fault : plan.faults) {
        Stocked one{.label = fault.kind, .fault = fault};
        one.at_start = fault.when.at_start;
        for (const auto& [name, value] : fault.parameters) {
            if (value.type == scenarios::ValueType::ranks && one.aim == Aim::job)
                one.aim = value.list.size() == 2 ? Aim::two_ranks : Aim::rank;
            if (value.type == scenarios::ValueType::nodes && one.aim == Aim::job) one.aim = Aim::node;
        }
        stock.push_back(std::move(one));
    }
    return stock;
}

Plan plan_at(const SweepOptions& options, const std::vector<Stocked>& stock, const Point& point) {
    Plan plan = options.base;
    scenarios::Trigger when = options.own ? stock[point.row].fault.when : scenarios::Trigger{};
    if (point.step >= 0) {
        when.step = point.step;
        when.until_step = when.until_step >= 0 ? std::max(when.until_step, point.step) : -1;
    }
    if (!point.phase.empty()) when.phase = point.phase;
    const auto fault = aimed(stock[point.row], std::max<std::int64_t>(point.rank, 0), when, plan);
    if (options.own) {
        plan.faults[point.row] = fault;
        plan.expect.ranks.clear();  // the fault is no longer where they say
        plan.expect.step.reset();
    } else {
        plan.faults = {fault};
        plan.expect = {};
    }
    return plan;
}

// One trials per thread's runner: all points share one control.
class Benches {
public:
    explicit Benches(const SweepOptions& options) : options_(options) {}

    PlanTrials& of(Runner& runner) {
        const std::lock_guard lock(mutex_);
        auto& trials = benches_[&runner];
        if (!trials) trials = std::make_unique<PlanTrials>(runner, options_.detectors, options_.workers.stop);
        return *trials;
    }

private:
    const SweepOptions& options_;
    std::mutex mutex_;
    std::map<Runner*, std::unique_ptr<PlanTrials>> benches_;
};

std::string words_about(const TrialedPlan& tried) {
    if (tried.fault.findings.empty()) return std::string(text_of(tried.harm));
    const results::Finding& first = tried.fault.findings.front();
    return fmt::format("{} about {}", first.symptom, results::blame_text(first.blame));
}

Caught by_naming(const TrialedPlan& tried) {
    const auto& findings = tried.fault.findings;
    if (findings.empty()) return tried.harm == Harm::none ? Caught::harmless : Caught::missed;
    const auto culprits = culprits_of(tried.fault.record.truth);
    bool nobody = false;
    for (const results::Finding& finding : findings) {
        if (finding.detector_failed) return Caught::untold;
        const Naming naming = naming_of(finding, culprits, tried.ranks_per_node);
        if (naming == Naming::culprit) return Caught::named;
        nobody = nobody || naming == Naming::nobody;
    }
    return nobody ? Caught::noticed : Caught::misnamed;
}

Caught by_expectation(const TrialedPlan& tried, std::string& says) {
    const auto judged = results::judge(tried.fault.plan, tried.fault.record, tried.fault.findings,
                                       &tried.control->record.evidence);
    says = judged.reason;
    if (judged.verdict == results::Verdict::pass) return Caught::named;
    if (judged.outcome == results::Outcome::silent) return Caught::missed;
    if (judged.outcome == results::Outcome::late) return Caught::late;
    return judged.verdict == results::Verdict::unknown ? Caught::untold : Caught::misnamed;
}

void look(const TrialedPlan& tried, bool own, SweepCell& cell) {
    const results::Truth& truth = tried.fault.record.truth;
    cell.harm = tried.harm;
    cell.says = words_about(tried);
    if (!tried.is_job()) {
        cell.says = "the job does not end even without a fault";
    } else if (!truth.took_place()) {
        cell.caught = Caught::not_applied;
    } else {
        cell.caught = own ? by_expectation(tried, cell.says) : by_naming(tried);
        if (!tried.fault.findings.empty()) cell.after = tried.fault.findings.front().at - truth.first_fault();
    }
}

}  // namespace

std::string_view name_of(Caught caught) {
    static constexpr std::array<std::string_view, 8> names = {"not_applied", "harmless", "named",  "noticed",
                                                              "late",        "misnamed", "missed", "untold"};
    return names.at(static_cast<std::size_t>(caught));
}

std::string_view sign_of(Caught caught) {
    static constexpr std::array<std::string_view, 8> signs = {" ", "·", "●", "○", "◷", "≠", "✘", "?"};
    return signs.at(static_cast<std::size_t>(caught));
}

std::map<Caught, std::size_t> Sweep::counts() const {
    std::map<Caught, std::size_t> counts;
    for (const SweepCell& cell : cells) ++counts[cell.caught];
    return counts;
}

std::map<Caught, std::size_t> Sweep::counts(std::size_t row) const {
    std::map<Caught, std::size_t> counts;
    for (const SweepCell& cell : cells) {
        if (cell.row == row) ++counts[cell.caught];
    }
    return counts;
}

Sweep sweep(const SweepOptions& options) {
    Sweep result;
    std::vector<Stocked> stock;
    if (options.own) {
        stock = own_faults(options.base);
    } else {
        Stock all = stock_of(*options.words, *options.words->workload(options.base.workload_kind));
        stock = std::move(all.faults);
        result.left_out = std::move(all.left_out);
    }
    std::erase_if(stock, [&](const Stocked& one) {
        return !options.own && !options.kinds.empty() &&
               std::find(options.kinds.begin(), options.kinds.end(), one.fault.kind) == options.kinds.end();
    });
    for (const Stocked& one : stock) result.rows.push_back(one.label);
    const std::vector<Point> points = Points(options, stock).all();
    result.planned = points.size();
    std::vector<std::optional<SweepCell>> cells(points.size());
    Benches benches(options);
    for_each_index(points.size(), options.workers, [&](std::size_t index, Runner& runner) {
        const Point& point = points[index];
        SweepCell cell{point.row, point.rank, point.step, point.phase};
        PlanTrials& trials = benches.of(runner);
        const auto tried = trials.try_plan(plan_at(options, stock, point));
        if (trials.stopped()) return;
        tried ? look(*tried, options.own, cell) : void(cell.says = tried.error().text());
        cells[index] = std::move(cell);
    });
    for (auto& cell : cells) {
        if (cell) result.cells.push_back(std::move(*cell));
    }
    return result;
}

}  // namespace deadrank::runners::find

// results/analysis/chores.cpp — What one rank alone does in each step, and what is usual for it.
#include "results/analysis/chores.h"

#include <algorithm>
#include <utility>

#include "results/analysis/paces.h"

namespace deadrank::results::analysis {

namespace {

constexpr std::int64_t chore_share = 10;  // less than that part of a chore is nothing
constexpr Time nothing_max = std::chrono::milliseconds(1);
constexpr std::int64_t first_steps = 2;        // in which a rank shows its chore
constexpr std::int64_t usual_permille = 1500;  // a chore that takes no longer than that is as usual
constexpr std::size_t usual_of = 32;           // steps

}  // namespace

bool is_negligible(Time others, Time chore) {
    return others < nothing_max && chore >= nothing_max && others * chore_share < chore;
}

void Rests::add(Rank rank, Time rest) {
    if (process == no_rank || rest > longest) {
        next = longest;
        longest = rest;
        process = rank;
    } else {
        next = std::max(next, rest);
    }
}

void Chores::leave_out_of(StepPace& step, std::vector<Chore> before_barriers, const Rests& rests,
                          bool rests_are_work) {
    if (step.attempt != std::exchange(attempt_, step.attempt)) {
        steps_ = 0;
        from_the_start_.clear();
    }
    std::vector<Chore>& chores = before_barriers;
    if (!rests_are_work && step.ranks.size() > 1 && is_negligible(rests.next, rests.longest)) {
        const auto same = std::find_if(chores.begin(), chores.end(),
                                       [&](const Chore& chore) { return chore.process == rests.process; });
        if (same == chores.end())
            chores.push_back({rests.process, rests.longest});
        else
            same->lasted += rests.longest;
    }
    if (steps_ > 0 && steps_ < first_steps) forget_processes_without(chores);
    for (const Chore& chore : chores) {
        if (steps_ == 0) from_the_start_[chore.process];
        const auto pace = std::find_if(step.ranks.begin(), step.ranks.end(),
                                       [&](const Pace& one) { return one.process == chore.process; });
        if (pace != step.ranks.end()) pace->own -= left_out(chore);
    }
    ++steps_;
}

void Chores::forget_processes_without(const std::vector<Chore>& chores) {
    std::erase_if(from_the_start_, [&](const auto& known) {
        return std::none_of(chores.begin(), chores.end(),
                            [&](const Chore& chore) { return chore.process == known.first; });
    });
}

Time Chores::left_out(const Chore& chore) {
    const auto known = from_the_start_.find(chore.process);
    if (known == from_the_start_.end()) return Time{0};
    std::vector<Time>& lasted = known->second;
    const Time usual = lasted.empty() ? chore.lasted : lower_median(lasted);
    lasted.push_back(chore.lasted);
    if (lasted.size() > usual_of) lasted.erase(lasted.begin());
    return chore.lasted * 1000 <= usual * usual_permille ? chore.lasted : usual;
}

}  // namespace deadrank::results::analysis

// runners/find/shrink.cpp — Makes a failing plan smaller, pass by pass, for as long as it fails in the same
// way.
#include "runners/find/shrink.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

#include "runners/find/passes.h"
#include "scenarios/format/closing.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners::find {

// ── Every plan is played once, however often it comes up.

using scenarios::Plan;

namespace {

// 1,734,000 → 1,700,000: two digits are enough for a human reader.
std::int64_t round_number(std::int64_t number) {
    std::int64_t unit = 1;
    while (std::llabs(number) / unit >= 100) unit *= 10;
    return number / unit * unit;
}

}  // namespace

bool Reduction::fails(const Plan& candidate) {
    if (scenarios::contradiction(candidate)) return false;
    std::string name = scenarios::digest(candidate);
    const auto known = answers_.find(name);
    if (known != answers_.end()) return known->second;
    if (exhausted()) return false;
    ++tries_;
    const bool answer = fails_(candidate);
    answers_.emplace(std::move(name), answer);
    return answer;
}

bool Reduction::take(Plan candidate) {
    if (candidate == plan_ || !fails(candidate)) return false;
    plan_ = std::move(candidate);
    return true;
}

bool Reduction::approach(std::int64_t from, std::int64_t goal,
                         const std::function<void(Plan&, std::int64_t)>& set) {
    const auto lower = [&](std::int64_t number) {
        Plan candidate = plan_;
        set(candidate, number);
        return take(std::move(candidate));
    };
    if (from == goal) return false;
    if (lower(goal)) return true;
    std::int64_t good = from, bad = goal;
    while (std::llabs(good - bad) > std::max<std::int64_t>(1, std::llabs(good) / 8)) {
        const std::int64_t exact = bad + (good - bad) / 2;
        std::int64_t middle = round_number(exact);
        if (middle == good || middle == bad || (middle < good) == (middle < bad)) middle = exact;
        (lower(middle) ? good : bad) = middle;
    }
    return good != from;
}

// ── Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002).

namespace {

class Search {
public:
    explicit Search(const SubsetFails& fails) : fails_(fails) {}

    bool fails(const Subset& subset) {
        const auto known = answers_.find(subset);
        if (known != answers_.end()) return known->second;
        const bool answer = fails_(subset);
        answers_.emplace(subset, answer);
        return answer;
    }

    // `whole` fails. The returned subset fails, and no longer does with any member removed.
    Subset minimise(Subset whole) {
        std::size_t parts = 2;
        while (whole.size() >= 2) {
            parts = std::min(parts, whole.size());
            if (take_part(whole, parts)) {
                parts = 2;
            } else if (parts > 2 && leave_part(whole, parts)) {
                parts = std::max<std::size_t>(parts - 1, 2);
            } else if (parts == 2 && leave_part(whole, parts)) {
                parts = 2;
            } else if (parts >= whole.size()) {
                break;
            } else {
                parts *= 2;
            }
        }
        return whole;
    }

private:
    static std::size_t edge(const Subset& whole, std::size_t parts, std::size_t part) {
        return whole.size() * part / parts;
    }

    bool take_part(Subset& whole, std::size_t parts) {
        for (std::size_t part = 0; part < parts; ++part) {
            Subset one(whole.begin() + static_cast<std::ptrdiff_t>(edge(whole, parts, part)),
                       whole.begin() + static_cast<std::ptrdiff_t>(edge(whole, parts, part + 1)));
            if (one.size() == whole.size() || !fails(one)) continue;
            whole = std::move(one);
            return true;
        }
        return false;
    }

    bool leave_part(Subset& whole, std::size_t parts) {
        for (std::size_t part = 0; part < parts; ++part) {
            Subset rest = whole;
            rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(edge(whole, parts, part)),
                       rest.begin() + static_cast<std::ptrdiff_t>(edge(whole, parts, part + 1)));
            if (rest.empty() || !fails(rest)) continue;
            whole = std::move(rest);
            return true;
        }
        return false;
    }

    const SubsetFails& fails_;
    std::map<Subset, bool> answers_;
};

Subset all_of(std::size_t count) {
    Subset all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

}  // namespace

Subset smallest_subset(std::size_t count, const SubsetFails& fails) {
    Search search(fails);
    Subset best = search.minimise(all_of(count));
    for (bool better = true; better && best.size() > 1;) {
        better = false;
        for (const std::size_t member : best) {
            Subset others = all_of(count);
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(member));
            if (!search.fails(others)) continue;
            Subset other = search.minimise(std::move(others));
            if (other.size() >= best.size()) continue;
            best = std::move(other);
            better = true;
            break;
        }
    }
    return best;
}

// ── Repeats all passes until none finds anything more.

const std::vector<Pass>& all_passes() {
    static const std::vector<Pass> passes = {
        {"faults", fewer_faults}, {"targets", fewer_targets},   {"cluster", smaller_cluster},
        {"steps", fewer_steps},   {"moments", simpler_moments}, {"settings", usual_settings},
        {"kinds", simpler_kinds}, {"seed", usual_seed},
    };
    return passes;
}

Shrunk shrink(const scenarios::Plan& plan, const Fails& fails, const scenarios::Vocabulary& words,
              const ShrinkOptions& options) {
    Reduction reduction(plan, fails, words, options.tries_most, options.stop);
    Shrunk shrunk;
    shrunk.before = size_of(plan, words);
    for (bool any = true; any && !reduction.exhausted();) {
        any = false;
        for (const Pass& pass : all_passes()) {
            if (options.progress) options.progress(pass.name, reduction.tries());
            if (!pass.run(reduction)) continue;
            shrunk.taken.push_back(pass.name);
            any = true;
        }
    }
    shrunk.plan = reduction.plan();
    shrunk.after = size_of(shrunk.plan, words);
    shrunk.tries = reduction.tries();
    shrunk.finished = !reduction.exhausted();
    return shrunk;
}

}  // namespace deadrank::runners::find

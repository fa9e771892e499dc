// runners/find/subset.cpp — Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input"
// (2002).
#include "runners/find/subset.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace deadrank::runners::find {

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

    // `whole` fails. What is returned fails, and less of it does not.
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

Subset minimal_subset(std::size_t count, const SubsetFails& fails) {
    return Search(fails).minimise(all_of(count));
}

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

}  // namespace deadrank::runners::find

// results/analysis/pairs.h — The "NAME=value" lines of rank.start (environment, versions) as tables, and
// which ranks differ from the others.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/analysis/lives.h"

namespace deadrank::results::analysis {

using Pairs = std::map<std::string_view, std::string_view>;

// Each distinct text is parsed once, however many ranks have it.
class PairTables {
public:
    enum class Of { environment, versions };
    PairTables(const Evidence& evidence, int attempt, Of what);

    // By process; null for a process that was not seen to start.
    const std::vector<const Pairs*>& by_process() const { return by_process_; }
    // What the process has by that name; nothing if it has none, or was not seen to start.
    std::optional<std::string_view> held(Rank process, std::string_view name) const;
    // All names that any process has, sorted.
    std::vector<std::string_view> names() const;

private:
    std::map<TextId, Pairs> tables_;
    std::vector<const Pairs*> by_process_;
};

struct Difference {
    std::string_view name;
    std::vector<Rank> odd;            // ascending
    std::string_view odd_value = {};  // of the first odd one; "" when it has none
    std::string_view usual_value = {};
    bool odd_has_none = false;
};

// Which ranks differ in this name. In a tie, those that set it where others did not; else those that differ
// from the lowest rank. Nothing if all agree.
std::optional<Difference> difference_in(const PairTables& tables, std::string_view name);

// A name that changed between the two tables for every process that was seen in both.
struct Change {
    std::string_view name;
    std::string_view before;  // "" where it had none
    std::string_view after;
};

// Nothing if no name changed for all of them; of several, the first by name.
std::optional<Change> change_between(const PairTables& earlier, const PairTables& later);

}  // namespace deadrank::results::analysis

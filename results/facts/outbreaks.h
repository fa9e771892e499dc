// results/facts/outbreaks.h — Ranks whose first complaint is about one kind of trouble, at about
// one time. A rank that complains of something else first is a victim or a case of its own.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "results/facts/complaints.h"
#include "results/facts/findings.h"

namespace deadrank::results::detectors {

struct Outbreak {
    int attempt = 0;
    Time at{0};
    std::vector<Rank> ranks = {};           // ascending; those who complained within a second of the first
    std::string_view text = {};             // of the first
    std::optional<std::int64_t> step = {};  // that the first was in; none before training

    bool includes(Rank rank) const { return std::count(ranks.begin(), ranks.end(), rank) > 0; }
};

// The first outbreak of each attempt.
std::vector<Outbreak> outbreaks(const Evidence& evidence, Trouble trouble);

// The step that a rank was in at that time.
std::optional<std::int64_t> step_at(const Evidence& evidence, Rank process, Time time);

// A finding that says who, how many, and the first one's own words.
Finding finding_of(const Evidence& evidence, const Outbreak& outbreak, std::string_view symptom,
                   std::vector<std::string> causes);

}  // namespace deadrank::results::detectors

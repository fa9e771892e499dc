// results/external/c10d.cpp — Its messages are taken literally: a time-out names no rank, and a mismatch
// names the two that were compared, of which the second is taken for the culprit.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "results/external/foreign_detectors.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::external {

using scenarios::Symptom;

namespace {

struct Words {
    std::string_view text, symptom;
    std::string_view names;  // the rank follows these words; empty = no rank is named
};
constexpr std::array<Words, 7> known = {{
    {"Detected mismatch between collectives on ranks", id_of(Symptom::collective_mismatch_error),
     "but Rank "},
    {"Watchdog caught collective operation timeout", id_of(Symptom::collective_timeout_abort), ""},
    {"timeout watchdog detected operation timeout", id_of(Symptom::collective_timeout_abort),
     ""},  // since torch 2.15
    {"failed to pass monitoredBarrier", id_of(Symptom::collective_timeout_abort), "Rank "},
    {"DDP expects same model across all ranks", id_of(Symptom::tensor_shape_or_dtype_error), "but Rank "},
    {"clients joined.", id_of(Symptom::communication_setup_failure), ""},
    {"environment variable RANK expected, but not set", id_of(Symptom::communication_setup_failure), ""},
}};

}  // namespace

std::vector<std::string_view> C10d::symptoms() const {
    return {id_of(Symptom::collective_mismatch_error), id_of(Symptom::collective_timeout_abort),
            id_of(Symptom::tensor_shape_or_dtype_error), id_of(Symptom::communication_setup_failure)};
}

std::vector<Finding> C10d::examine(const Evidence& evidence) const {
    std::map<std::string_view, Finding> first;  // of each symptom: later ones repeat it on other ranks
    for (const Event* event : evidence.each<RankLog>()) {
        const std::string_view line = evidence.text(event->as<RankLog>()->line);
        for (const Words& words : known) {
            const std::size_t at = line.find(words.text);
            if (at == line.npos || first.count(words.symptom) > 0) continue;
            Finding finding{.symptom = std::string(words.symptom),
                            .detector = std::string(name()),
                            .blame = {},
                            .at = event->at,
                            .says = std::string(line.substr(at, 200))};
            const std::size_t named = words.names.empty() ? line.npos : line.find(words.names);
            if (named != line.npos) {
                const std::string rank(line.substr(named + words.names.size(), 10));
                finding.blame.ranks = {static_cast<Rank>(std::atoi(rank.c_str()))};
            }
            first.emplace(words.symptom, std::move(finding));
        }
    }
    std::vector<Finding> findings;
    for (auto& [symptom, finding] : first) findings.push_back(std::move(finding));
    std::sort(findings.begin(), findings.end(),
              [](const Finding& a, const Finding& b) { return a.at < b.at; });
    return findings;
}

}  // namespace deadrank::results::external

// results/diagnosis/diagnosis.cpp — Adds up points: how often a pair was reported, what the detector
// suggests, and which causes each clue supports. Ties keep the order of the taxonomy.
#include "results/diagnosis/diagnosis.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "results/diagnosis/clue.h"
#include "results/record/words.h"

namespace deadrank::results::diagnosis {

namespace {

constexpr std::int64_t words_weigh = 2;

class Ranking {
public:
    Ranking(const Finding& finding, const scenarios::Taxonomy& taxonomy, const scenarios::ClueTable& table)
        : finding_(finding), taxonomy_(taxonomy), table_(table) {}

    // How often a cause was reported elsewhere speaks for none that nothing in a log speaks for: there it
    // orders causes, and adds none.
    void weigh(const Evidence& evidence, const Incident& incident) {
        const bool imported = is_imported(evidence);
        if (!imported) add_pairs([](const std::string&) { return true; });
        if (finding_.detector == log_reading)
            add_spoken(incident.spoken);
        else
            add_suggested();
        for (const Clue& clue : clues_in(evidence, finding_)) add_clue(clue);
        if (!imported) return;
        const auto known = by_cause_;
        add_pairs([&](const std::string& cause) {
            const auto one = known.find(cause);
            return one != known.end() && one->second.points > 0;
        });
    }

    std::vector<LikelyCause> causes() const {
        std::vector<LikelyCause> all;
        for (const auto& entry : taxonomy_.causes) {
            const auto found = by_cause_.find(entry.id);
            if (found != by_cause_.end() && found->second.points > 0) all.push_back(found->second);
        }
        for (LikelyCause& one : all) {
            std::stable_sort(one.reasons.begin(), one.reasons.end(),
                             [](const Reason& a, const Reason& b) { return a.points > b.points; });
        }
        std::stable_sort(all.begin(), all.end(),
                         [](const LikelyCause& a, const LikelyCause& b) { return a.points > b.points; });
        return all;
    }

private:
    void add(const std::string& cause, std::int64_t points, std::string says) {
        LikelyCause& one = by_cause_[cause];
        one.cause = cause;
        one.points += points;
        one.reasons.push_back({points, std::move(says)});
    }

    // What words say is more precise than the class that a detector found.
    void add_spoken(const std::vector<SpokenCause>& spoken) {
        for (std::size_t i = 0; i < spoken.size() && i < table_.detector.size(); ++i)
            add(spoken[i].cause, table_.detector[i] + words_weigh,
                fmt::format("the log: {}", spoken[i].line));
    }

    void add_suggested() {
        for (std::size_t i = 0; i < finding_.causes.size() && i < table_.detector.size(); ++i)
            add(finding_.causes[i], table_.detector[i],
                fmt::format("the detector {} suggests it{}", finding_.detector, i == 0 ? " first" : ""));
    }

    template <class Counts>
    void add_pairs(const Counts& counts) {
        for (const auto& pair : taxonomy_.pairs)
            if (pair.symptom == finding_.symptom && counts(pair.cause)) add_pair(pair);
    }

    void add_pair(const scenarios::SymptomCausePair& pair) {
        const std::int64_t points = std::min(1 + table_.report * pair.reports, table_.prior_most);
        const char* reports = pair.reports == 1 ? "report has" : "reports have";
        add(pair.cause, points,
            pair.reports == 0
                ? fmt::format("studies name it for {}", pair.symptom)
                : fmt::format("{} public {} it behind {}", pair.reports, reports, pair.symptom));
    }

    void add_clue(const Clue& clue) {
        for (const scenarios::ClueRule& rule : table_.rules) {
            if (rule.id != clue.id) continue;
            const auto& only = rule.symptoms;
            if (!only.empty() && std::find(only.begin(), only.end(), finding_.symptom) == only.end())
                continue;
            for (const auto& [cause, points] : rule.points) add(cause, points, clue.says);
        }
    }

    const Finding& finding_;
    const scenarios::Taxonomy& taxonomy_;
    const scenarios::ClueTable& table_;
    std::map<std::string, LikelyCause> by_cause_;
};

// The fixes of this pair, or if the taxonomy has no such pair, of the cause elsewhere, most frequent first.
std::vector<std::string> fixes_of(const scenarios::Taxonomy& taxonomy, const std::string& symptom,
                                  const std::string& cause) {
    std::map<std::string, std::int64_t> elsewhere;
    for (const auto& pair : taxonomy.pairs) {
        if (pair.cause != cause) continue;
        if (pair.symptom == symptom) return pair.fixes;
        for (std::size_t i = 0; i < pair.fixes.size(); ++i)
            elsewhere[pair.fixes[i]] += 1 + pair.reports - static_cast<std::int64_t>(i);
    }
    std::vector<std::string> fixes;
    for (const auto& [fix, weight] : elsewhere) fixes.push_back(fix);
    std::stable_sort(fixes.begin(), fixes.end(),
                     [&](const std::string& a, const std::string& b) { return elsewhere[a] > elsewhere[b]; });
    return fixes;
}

void add_fixes(Diagnosis& diagnosis, const scenarios::Taxonomy& taxonomy) {
    std::map<std::string, std::int64_t> weights;
    std::map<std::string, LikelyFix> by_fix;
    for (const LikelyCause& one : diagnosis.causes) {
        const auto fixes = fixes_of(taxonomy, diagnosis.finding->symptom, one.cause);
        for (std::size_t i = 0; i < fixes.size(); ++i) {
            weights[fixes[i]] += one.points / static_cast<std::int64_t>(i + 1);
            by_fix[fixes[i]].fix = fixes[i];
            by_fix[fixes[i]].of.push_back(one.cause);
        }
    }
    // The fix of the most likely cause comes first, whatever the sum over the others.
    if (!diagnosis.causes.empty()) {
        const auto best = fixes_of(taxonomy, diagnosis.finding->symptom, diagnosis.causes.front().cause);
        if (!best.empty()) weights[best.front()] += 1'000;
    }
    for (auto& [fix, one] : by_fix) diagnosis.fixes.push_back(std::move(one));
    std::stable_sort(diagnosis.fixes.begin(), diagnosis.fixes.end(),
                     [&](const LikelyFix& a, const LikelyFix& b) { return weights[a.fix] > weights[b.fix]; });
}

// Without the findings of a detector that crashed, whose symptom is not in the taxonomy.
std::vector<Finding> keep_taxonomy_findings(std::vector<Finding> findings,
                                            const scenarios::Taxonomy& taxonomy) {
    std::erase_if(findings,
                  [&](const Finding& one) { return !scenarios::find(taxonomy.symptoms, one.symptom); });
    return findings;
}

}  // namespace

Diagnosis diagnose(const Evidence& evidence, const std::vector<Finding>& findings,
                   const scenarios::Taxonomy& taxonomy, const scenarios::ClueTable& table) {
    Diagnosis diagnosis;
    diagnosis.incident.outcome = IncidentOutcome::healthy;
    if (is_imported(evidence)) {
        diagnosis.incident = read_incident(evidence, keep_taxonomy_findings(findings, taxonomy));
        diagnosis.finding = diagnosis.incident.finding;
    }
    for (const Finding& finding : findings) {
        if (!scenarios::find(taxonomy.symptoms, finding.symptom)) continue;  // a detector that crashed
        // Once the words are read, detectors that had only the same words add nothing.
        if (diagnosis.finding == finding || (diagnosis.finding && diagnosis.finding->detector == log_reading))
            continue;
        if (diagnosis.finding)
            diagnosis.others.push_back(finding);
        else if (is_imported(evidence))
            continue;  // the words outweighed it
        else
            diagnosis.finding = finding;
    }
    if (!diagnosis.finding) return diagnosis;
    diagnosis.incident.outcome = IncidentOutcome::found;
    Ranking ranking(*diagnosis.finding, taxonomy, table);
    ranking.weigh(evidence, diagnosis.incident);
    diagnosis.causes = ranking.causes();
    add_fixes(diagnosis, taxonomy);
    return diagnosis;
}

}  // namespace deadrank::results::diagnosis

// results/judging/scorecard.h — Counts over judged cases: what became of the alarms, per bug class, symptom,
// stage or detector. Precision counts findings, recall and localisation count cases; a share of nothing is
// absent, never 100 %.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/judging/case.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::results {

struct ScoreRow {
    std::string name;
    std::size_t cases = 0;
    std::map<Outcome, std::size_t> outcomes;  // of the faulty runs
    std::map<Verdict, std::size_t> verdicts;  // of the whole cases
    std::size_t findings = 0,
                right = 0;    // over all runs; right = the expected one about the right one, or allowed
    std::size_t due = 0;      // cases in which an alarm was due
    std::size_t noticed = 0;  // of these, with a finding of the right symptom
    std::size_t named = 0;    // of these, with the right blame
    std::size_t quiet_due = 0, quiet = 0;  // control and healed runs, and those as they should be
    std::size_t as_control = 0;            // of these, healed runs that are their control again: no proof
    std::vector<Time> delays;              // from fault to the right finding, ascending

    std::optional<double> precision() const;
    std::optional<double> recall() const;
    std::optional<double> localisation() const;
    Time median_delay() const;  // `never` when nothing was noticed
    Time longest_delay() const;
};

struct Scorecard {
    std::vector<ScoreRow> rows;
    ScoreRow total;
};

// One row per name that `names_of` gives; a case may count in several rows, but once in the total.
Scorecard score(const std::vector<Case>& cases,
                const std::function<std::vector<std::string>(const Case&)>& names_of);

// The five classes of the project: by cause and symptom, else by cause alone, else "other".
Scorecard score_by_class(const std::vector<Case>& cases, const scenarios::Taxonomy& taxonomy);
Scorecard score_by_symptom(const std::vector<Case>& cases);
Scorecard score_by_stage(const std::vector<Case>& cases);

// By detector: only its own findings count, and an alarm was due from it if it knows the symptom.
struct DetectorWords {
    std::string name;
    std::vector<std::string> symptoms;
};
Scorecard score_by_detector(const std::vector<Case>& cases, const std::vector<DetectorWords>& detectors);

std::string share_text(std::optional<double> share);  // "97 %", "—"

}  // namespace deadrank::results

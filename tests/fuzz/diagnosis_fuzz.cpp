// tests/fuzz/diagnosis_fuzz.cpp — Promise: any log has a diagnosis, in which no detector failed, and an
// answer in words.
#include "results/detectors/detector.h"
#include "results/diagnosis/diagnosis.h"
#include "results/diagnosis/operator_answer.h"
#include "tests/fuzz/log_text.h"
#include "tests/fuzz/scenario_words.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(diagnosis) {
    static const auto clues =
        scenarios::ClueTable::load(DEADRANK_SOURCE_DIRECTORY "/scenarios/clues.toml", taxonomy()).value();
    static const results::Detectors detectors = results::all_detectors();
    const LogText log = read_log_text(text, {.year = 2026});
    const auto findings = results::detect(log.evidence, detectors);
    for (const results::Finding& finding : findings) CHECK(finding.symptom != "detector_crashed");
    const auto diagnosis = results::diagnosis::diagnose(log.evidence, findings, taxonomy(), clues);
    CHECK(!results::diagnosis::answer_text(diagnosis, "here", taxonomy(), {.more = true}, {}).empty());
    return diagnosis.finding.has_value();
}

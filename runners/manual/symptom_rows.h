// runners/manual/symptom_rows.h — What detectors report: the symptom, who is blamed, and how soon.
// Each row has an example, which the manual plays and a test checks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/finding.h"
#include "results/record/time.h"
#include "runners/pipeline/library.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::runners::manual {

struct SymptomRow {
    std::string_view part;  // heading of the page
    scenarios::Symptom symptom;
    std::string_view shows;  // what is in the evidence
    std::string_view who;    // who is named
    std::string_view soon;
    // Either a scenario of the catalogue, or what each of 2 x 2 ranks does in a step, in Python.
    std::string_view scenario = {}, program = {};
    // Of a scenario: "fault", "all" or "nobody" are named; "" where the fault's ranks are not those that
    // show. Of a program: the blame in full, "rank 2, step 1".
    std::string_view names = {};
    std::string_view cluster = {};  // lines of [cluster] of the program
};

const std::vector<SymptomRow>& symptom_rows();   // all, in the order of the page
std::vector<SymptomRow> failure_symptom_rows();  // start-up, errors, standstills
std::vector<SymptomRow> value_symptom_rows();    // values, samples, speed, memory, saved state, restarts

// What was said first in the example, under seed 1.
struct SymptomExample {
    results::Finding finding;
    results::Blame culprit;  // of the faults that acted
    results::Time after{0};  // the alarm, after the first fault; for a program, after the job's start
    std::vector<results::Rank> everybody;
};
// The whole program whose steps do this.
std::string program_around(std::string_view body);

scenarios::Result<SymptomExample> play_symptom_example(const Library& library, const SymptomRow& row);

}  // namespace deadrank::runners::manual

// results/detectors/causality.h — What kind of event each symptom is, which decides which finding explains
// which.
#pragma once

#include "results/record/finding.h"
#include "results/record/time.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results {

// An earlier layer explains a later one: a job that never started well cannot be slow.
enum class Layer { startup, failure, consequence, value, speed, none };

struct CausalityRule {
    scenarios::Symptom symptom;
    Layer layer;
    int weight;  // within a layer, at about the same time, the smaller one is the cause
    Time lead;   // how long before its alarm the trouble may have begun
};

// A rule of Layer::none for a symptom that the taxonomy does not have.
const CausalityRule& causality_of(const Finding& finding);

}  // namespace deadrank::results

// runners/pipeline/excerpt.h — What a reader of a failure wants first: a few lines of evidence, or the first
// event in which two runs differ.
#pragma once

#include <string>
#include <vector>

#include "results/judging/judge.h"
#include "results/record/evidence.h"

namespace deadrank::runners {

// Where two runs that should be equal diverge: the first event that differs, from both runs.

// Empty when they are equal; else a sentence with the event's number and each run's event.
std::string first_difference(const results::Evidence& then, const results::Evidence& now);

// The few lines of evidence that a reader of a failure needs first.

// A dozen events at most, in order of time: those around the fault on the culprit ranks, those around the
// finding that answered it, and the end of the job.
std::vector<std::string> excerpt(const results::Evidence& evidence, const results::Judgement& judgement);

}  // namespace deadrank::runners

// runners/line/excerpt.h — What a reader of a failure wants first: a few lines of evidence, or the first
// event in which two runs differ.
#pragma once

#include <string>
#include <vector>

#include "results/judging/judge.h"
#include "results/record/evidence.h"

namespace deadrank::runners {

// Where two runs that should be one run part: the first event that differs, in both forms.

// Empty when they are equal; else a sentence with the event's number and what either run has there.
std::string first_difference(const results::Evidence& then, const results::Evidence& now);

// The few lines of evidence that a reader of a failure wants first.

// A dozen events at most, in order of time: around the fault on the ranks that were to blame, around the
// finding that answered, and the end of the job.
std::vector<std::string> excerpt(const results::Evidence& evidence, const results::Judgement& judgement);

}  // namespace deadrank::runners

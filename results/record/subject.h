// results/record/subject.h — The program under test, as its job's first event tells it.
#pragma once

#include <string>

#include "results/record/evidence.h"

namespace deadrank::results {

// In job.start as lines of name=value; nameless in the simulator.
struct Subject {
    std::string name;        // as --subject calls it
    std::string framework;   // "PyTorch DDP"
    std::string version;     // "torch 2.11.0"; empty when nobody said
    Time timeout{0};         // what bounds its waits; 0 = unknown
    std::string debug = {};  // TORCH_DISTRIBUTED_DEBUG of the whole job; empty = as usual
};
std::string subject_lines(const Subject& subject);
Subject subject_of(const Evidence& evidence);

}  // namespace deadrank::results

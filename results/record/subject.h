// results/record/subject.h — The program under test, as its job's first event tells it, and how long its
// processes waited for a processor.
#pragma once

#include <map>
#include <set>
#include <string>

#include "results/record/evidence.h"
#include "results/record/time.h"

namespace deadrank::results {

// The program under test, as its job's first event tells it.

// In job.start as lines of name=value; nameless in the simulator.
struct Subject {
    std::string name;        // as --subject calls it
    std::string framework;   // "PyTorch DDP"
    std::string version;     // "torch 2.11.0"; empty when nobody said
    Time timeout{0};         // what bounds its waits; 0 = unknown
    std::string debug = {};  // TORCH_DISTRIBUTED_DEBUG of the whole job; empty = as usual
    // Settings of which the framework's documentation promises that it compares or equalises them.
    std::set<std::string> compares = {};
};
std::string subject_lines(const Subject& subject);
Subject subject_of(const Evidence& evidence);

// How long a job's processes wanted to run while others had the processor. A job that waits for a message
// wants nothing: its silence is its own on a busy machine as well.

// At some moments: the sum of all waiting until then.
using Waiting = std::map<Time, Time>;

// What of it fell between two moments, at most: looks are some time apart.
Time waited_between(const Waiting& waiting, Time begin, Time end);

}  // namespace deadrank::results

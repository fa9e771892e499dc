// results/record/subject.h — The program under test, as its job's first event names it, and how long its
// processes waited for a processor.
#pragma once

#include <map>
#include <set>
#include <string>

#include "results/record/evidence.h"
#include "results/record/time.h"

namespace deadrank::results {

// Stored in job.start as lines of name=value; nameless in the simulator.
struct Subject {
    std::string name;        // as --subject calls it
    std::string framework;   // "PyTorch DDP"
    std::string version;     // "torch 2.11.0"; empty if unknown
    Time timeout{0};         // what bounds its waits; 0 = unknown
    std::string debug = {};  // TORCH_DISTRIBUTED_DEBUG of the whole job; empty = default
    // Settings that the framework's documentation promises to compare or to make equal.
    std::set<std::string> compares = {};
};
std::string subject_lines(const Subject& subject);
Subject subject_of(const Evidence& evidence);

// ── How long a job's processes were ready to run while others had the processor. A job that waits for a
// message is not ready to run: even on a busy machine its silence is its own.

// At some moments, the sum of all waiting until then.
using Waiting = std::map<Time, Time>;

// At most how much of it fell between two moments: samples are some time apart.
Time waited_between(const Waiting& waiting, Time begin, Time end);

}  // namespace deadrank::results

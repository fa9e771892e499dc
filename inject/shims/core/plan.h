// inject/shims/core/plan.h — The plan file that $DEADRANK_PLAN names: the JSON that
// runners/backends/local/arming.cpp writes and its Python hook reads, too. Members that a shim does not know
// are left alone.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "inject/core/levers.h"
#include "scenarios/model/error.h"
#include "scenarios/model/plan.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::inject::shims {

// One lever and its settings. Each kind of lever reads its own members.
struct Pull {
    std::string lever;
    Alteration alteration;  // alter_call
    std::int64_t bytes_per_second =
        0;                         // alter_call of a message of the network: not faster than this; 0 = free
    int signal = 9;                // kill
    int code = 1;                  // exit
    std::string says;              // exit
    std::string package, version;  // set_version
    std::string what, path;        // change_storage
    std::int64_t amount = 0;       // change_storage
};

struct Entry {
    std::int64_t fault = 0;
    std::set<Rank> ranks;
    scenarios::Trigger when;
    std::vector<Pull> pulls;
    std::string says;
};

struct Surroundings {  // of one rank
    std::map<std::string, std::string> set;
    std::set<std::string> unset;
};

struct ShimPlan {
    std::vector<Entry> faults;
    std::map<Rank, Surroundings> environment;
};

Result<ShimPlan> parse_plan(std::string_view text, const std::string& file);

// An empty path is an empty plan.
Result<ShimPlan> read_plan(const std::string& file);

}  // namespace deadrank::inject::shims

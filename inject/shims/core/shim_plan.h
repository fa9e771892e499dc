// inject/shims/core/shim_plan.h — The plan as a shim reads it, and the faults that are due.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "inject/core/levers.h"
#include "inject/core/trigger.h"
#include "inject/shims/core/call_lines.h"
#include "scenarios/model/error.h"
#include "scenarios/model/plan.h"

namespace deadrank::inject::shims {

// ── The plan file that $DEADRANK_PLAN names: the JSON that runners/backends/local/arming.cpp writes and its
// Python hook reads, too. Members that a shim does not know are left alone.

// The levers that the libraries here carry out. Any other is refused by its name.
enum class ShimLever { other, kill, exit, stop, set_version, alter_call, change_storage };

// One lever and its settings. Each kind of lever reads its own members.
struct Pull {
    ShimLever lever = ShimLever::other;
    std::string name;       // of the lever, as the plan states it
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

// ── The plan's faults of one rank, waiting for their moments inside a real program. Counting is as
// everywhere: "the third all_reduce" is this rank's own third, on the named communicator or on any.

// How the call at hand is to be altered. Levers on the whole process have been pulled by then.
struct Decision {
    bool any = false;
    std::int64_t fault = 0;  // of the last entry that acted
    Alteration alteration;
    std::int64_t bytes_per_second = 0;
};

class Faults {
public:
    // `started`: nanoseconds since 1970 at which the job began.
    Faults(const ShimPlan& plan, Rank rank, LineFile& truth, std::int64_t started);

    bool none() const { return armed_.empty(); }

    // Pulls the start-up faults, and watches the clock for faults with a time and no place.
    void begin();

    Decision at(std::string_view call, std::string_view comm = {});

    // As ncclGetVersion counts, 22809; 0 unless a fault gave this rank another version.
    int version() const { return version_.load(std::memory_order_relaxed); }

    // The call cannot be altered so. Goes to the truth: the run is then unknown, never passed.
    void refuse(std::int64_t fault, std::string_view sentence);

private:
    struct Armed {
        Entry entry;
        std::int64_t seen = 0, fired = 0;
        std::int64_t since = 0;  // when it acted first
    };

    bool matches(Armed& armed, const Moment& moment);
    void pull(Armed& armed, std::string_view call, Decision* decision);
    void set_version(std::int64_t fault, const Pull& pull);
    void refuse_lever(std::int64_t fault, const Pull& pull);

    const Rank rank_;
    const std::int64_t started_;
    LineFile& truth_;
    std::mutex guard_;
    std::vector<Armed> armed_;
    std::atomic<int> version_{0};
};

// "2.18.3" as NCCL counts: 21803; 0 when it is no version.
int version_number(std::string_view text);

}  // namespace deadrank::inject::shims

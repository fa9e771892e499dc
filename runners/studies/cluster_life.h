// runners/studies/cluster_life.h — One life of a cluster: months of a job with its failures, hour for hour,
// in milliseconds. Nothing of the job is played but its clock; what an interruption costs is the model's.
#pragma once

#include <cstdint>
#include <map>

#include "runners/studies/cluster_model.h"

namespace deadrank::runners {

// Where the hours went. All of them together are the hours of the life.
struct Hours {
    double useful = 0;
    double checkpoints = 0;  // written
    double again = 0;        // work that had to be done again
    double noticing = 0;     // from the failure to the alarm
    double restarting = 0;
    double waiting = 0;  // for a node, where no spare was left
    double preempted = 0;

    double all() const { return useful + checkpoints + again + noticing + restarting + waiting + preempted; }
    double goodput() const { return useful / all(); }
};

struct Life {
    Hours hours;
    std::map<std::string, double> lost;  // hours by cause: again, noticing, restarting and waiting
    std::size_t failures = 0, false_drains = 0, preemptions = 0;
    std::vector<double> failed_at;  // hours since the beginning
    std::vector<int> failed_node;   // its number, -1 where none was struck; beside failed_at
};

Life live(const ClusterModel& model, std::uint64_t seed);

}  // namespace deadrank::runners

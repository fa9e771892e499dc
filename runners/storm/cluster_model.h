// runners/storm/cluster_model.h — A cluster under failures, as data: how often each cause strikes, how
// failures cluster, what is repaired and replaced, and what an interruption costs the job.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runners/storm/failure_fit.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners {

// How an interruption is noticed. A crash ends the process; a hang waits for the time-out; a silent failure
// lasts until somebody looks.
enum class Noticed { crash, hang, silent };
std::string_view name_of(Noticed noticed);

struct Cause {
    std::string name;
    double weight = 1;  // relative to the other causes
    Noticed noticed = Noticed::crash;
    bool takes_node = true;  // false: a restart on the same nodes is enough
};

// The share of node failures that strike several neighbours at once: a rack, a switch, a power feed.
struct Together {
    std::string what;
    int nodes = 1;
    double share = 0;
};

// All times in hours.
struct ClusterModel {
    std::string id, source, story;
    double gpus = 0, gpus_per_node = 8, days = 30;
    double rate =
        0;  // interruptions of the job per GPU and hour; grows linearly with the size: an assumption
    std::vector<Cause> causes;

    GapModel::Kind gaps = GapModel::Kind::exponential;
    double shape = 1;
    std::vector<double>
        empirical;  // gaps as they were measured; only their ratios count. Overrides gaps and shape

    double bad_share = 0, bad_factor = 1;         // share of nodes that fail more often, and by which factor
    double burn_in_days = 0, burn_in_factor = 1;  // the same for new nodes, which replacements are
    bool all_new = false;
    std::vector<Together> together;

    double spares = 0;
    double mended =
        1;  // share of repairs that give a new or mended node back; the others come back as they went
    double repair = 24;            // until a failed node is back as a spare, new or mended
    double false_drains = 0;       // healthy nodes drained, per node and day
    double false_drain_check = 2;  // until such a node is back
    double preemptions = 0;        // per day; announced, so that work is saved first
    double preempted_for = 1;

    double checkpoint_every = 0.5, checkpoint_cost = 0, restart = 0.25;
    double crash_noticed = 0.02, hang_noticed = 0.5, silent_noticed = 8;

    double nodes() const { return gpus / gpus_per_node; }
    double between() const { return 1 / (rate * gpus); }  // mean hours between interruptions
    double noticed_after(Noticed how) const;
};

// A file of scenarios/storms/clusters. Errors: io, bad_input with the line.
scenarios::Result<ClusterModel> load_cluster(const std::filesystem::path& file,
                                             const scenarios::Taxonomy& taxonomy);

// Intervals between checkpoints (J. Young, CACM 17, 1974; J. Daly, FGCS 22, 2006, equation 37), in hours.
double young_interval(const ClusterModel& model);
double daly_interval(const ClusterModel& model);

// One life of a cluster: months of a job with its failures, simulated in milliseconds. Only the job's clock
// is played; the model sets what an interruption costs.

// Where the hours went. They add up to the length of the life.
struct Hours {
    double useful = 0;
    double checkpoints = 0;  // writing them
    double again = 0;        // work that had to be repeated
    double noticing = 0;     // from the failure to the alarm
    double restarting = 0;
    double waiting = 0;  // for a node, when no spare was left
    double preempted = 0;

    double all() const { return useful + checkpoints + again + noticing + restarting + waiting + preempted; }
    double goodput() const { return useful / all(); }
};

struct Life {
    Hours hours;
    std::map<std::string, double> lost;  // hours by cause: again, noticing, restarting and waiting
    std::size_t failures = 0, false_drains = 0, preemptions = 0;
    std::vector<double> failed_at;  // hours since the start
    std::vector<int> failed_node;   // the node's number, -1 if none was struck; parallel to failed_at
};

Life live(const ClusterModel& model, std::uint64_t seed);

}  // namespace deadrank::runners

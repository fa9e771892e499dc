// scenarios/parameters.cpp — The keys of [cluster] and of `when`: types, defaults and a sentence each, for
// loader, help and schema.
#include "scenarios/plan.h"

namespace deadrank::scenarios {

const std::vector<Parameter>& cluster_parameters() {
    static const std::vector<Parameter> parameters = {
        {"nodes", ValueType::integer, "2", "machines"},
        {"gpus_per_node", ValueType::integer, "4", "devices of a machine"},
        {"ranks", ValueType::integer, "", "processes, when fewer than there are devices", {}, true},
        {"topology",
         ValueType::choice,
         "single_switch",
         "how nodes are joined",
         {"single_switch", "rails", "leaf_spine"}},
        {"nodes_per_leaf", ValueType::integer, "4", "nodes below one leaf switch"},
        {"link.latency", ValueType::duration, "5us", "between nodes"},
        {"link.bandwidth", ValueType::rate, "100Gbps", "between nodes, per device"},
        {"nvlink.latency", ValueType::duration, "2us", "within a node"},
        {"nvlink.bandwidth", ValueType::rate, "2400Gbps", "within a node"},
        {"device_memory", ValueType::bytes, "80GiB", "of each device"},
        {"host_memory", ValueType::bytes, "512GiB", "of each node"},
        {"shared_memory", ValueType::bytes, "64GiB", "/dev/shm of each node"},
        {"open_files", ValueType::integer, "65536", "file descriptors of a process"},
        {"disk", ValueType::bytes, "1TiB", "checkpoint storage"},
        {"storage.bandwidth", ValueType::rate, "16Gbps", "of the checkpoint storage"},
        {"storage.latency", ValueType::duration, "1ms", "of the checkpoint storage"},
        {"versions", ValueType::table, "", "package = version, beside the defaults", {}, true},
        {"environment", ValueType::table, "", "NAME = value, on every rank", {}, true},
        {"interfaces", ValueType::text, "eth0", "routable network interfaces, separated by commas"},
        {"launcher",
         ValueType::choice,
         "torchrun",
         "who starts the ranks and watches them",
         {"torchrun", "bare", "mpirun"}},
        {"monitor_interval", ValueType::duration, "5s", "how often torchrun looks at its children"},
        {"restarts_max", ValueType::integer, "0", "how often the launcher starts the job again"},
        {"watchdog", ValueType::boolean, "true", "the framework bounds every collective"},
        {"collective_timeout", ValueType::duration, "10m", "the watchdog's bound"},
        {"debug", ValueType::choice, "off", "TORCH_DISTRIBUTED_DEBUG", {"off", "detail"}},
        {"clock_offset", ValueType::duration, "0s", "of every other node's clock"},
        {"clock_drift", ValueType::ratio, "0%", "of every other node's clock"},
        {"time_limit", ValueType::duration, "24h", "virtual time at which a run is cut off"},
        {"observe", ValueType::duration, "2m", "how long somebody keeps looking after the last event"},
    };
    return parameters;
}

const std::vector<Parameter>& trigger_parameters() {
    static const std::vector<Parameter> parameters = {
        {"start", ValueType::boolean, "false", "before the job starts"},
        {"at", ValueType::duration, "", "time after the job's start", {}, true},
        {"step", ValueType::integer, "", "training step, from 0", {}, true},
        {"phase",
         ValueType::choice,
         "",
         "phase of the step",
         {"setup", "data", "forward", "backward", "reduce", "optimizer", "checkpoint", "serve"},
         true},
        {"before",
         ValueType::text,
         "",
         "a call: all_reduce, send, comm_init, checkpoint_save, a seam or a block",
         {},
         true},
        {"comm", ValueType::text, "", "name of the communicator of that call", {}, true},
        {"nth", ValueType::integer, "1", "the n-th matching call"},
        {"always", ValueType::boolean, "false", "at every match from then on, not once"},
        {"until_step", ValueType::integer, "", "with always: the last step", {}, true},
        {"lasts", ValueType::duration, "", "after which the fault is taken back", {}, true},
    };
    return parameters;
}

}  // namespace deadrank::scenarios

// scenarios/model/plan.cpp — A scenario with nothing left to chance, and the keys that every plan has.
#include "scenarios/model/plan.h"

#include <algorithm>

#include "scenarios/model/error.h"

namespace deadrank::scenarios {

// ── Simple queries of plans and faults.

std::vector<std::int64_t> FaultSpec::ranks() const {
    const auto found = parameters.find("rank");
    return found == parameters.end() ? std::vector<std::int64_t>{} : found->second.list;
}

std::int64_t FaultSpec::number(std::string_view name, std::int64_t otherwise) const {
    const auto found = parameters.find(std::string(name));
    return found == parameters.end() ? otherwise : found->second.number;
}

std::string FaultSpec::text(std::string_view name, std::string otherwise) const {
    const auto found = parameters.find(std::string(name));
    return found == parameters.end() ? std::move(otherwise) : found->second.text;
}

std::string_view variant_name(Variant variant) {
    switch (variant) {
        case Variant::fault:
            return "fault";
        case Variant::control:
            return "control";
        case Variant::healed:
            return "healed";
    }
    return "fault";
}

std::int64_t Plan::world_size() const {
    const auto ranks = cluster.find("ranks");
    if (ranks != cluster.end() && ranks->second.number > 0) return ranks->second.number;
    return number(cluster, "nodes") * number(cluster, "gpus_per_node");
}

std::int64_t Plan::number(const Values& values, std::string_view name) const {
    const auto found = values.find(std::string(name));
    CHECK(found != values.end());
    return found->second.number;
}

std::int64_t cluster_number(const Plan& plan, const std::string& name, std::int64_t otherwise) {
    const auto found = plan.cluster.find(name);
    return found == plan.cluster.end() ? otherwise : found->second.number;
}

bool Expectation::is_answered_by(std::string_view reported) const {
    return reported == symptom ||
           std::find(alternatives.begin(), alternatives.end(), reported) != alternatives.end();
}

bool Expectation::asks_for(BlameField field) const {
    return std::find(blames.begin(), blames.end(), field) != blames.end();
}

std::vector<std::string> Expectation::symptoms() const {
    if (silent()) return {};
    std::vector<std::string> all = {symptom};
    all.insert(all.end(), alternatives.begin(), alternatives.end());
    return all;
}

std::string Expectation::symptom_text() const {
    std::string text = symptom;
    for (const std::string& other : alternatives) text += " or " + other;
    return text;
}

bool Heal::keeps_a_fault() const {
    return std::any_of(faults.begin(), faults.end(), [](const HealedFault& fault) { return fault.kept; });
}

LauncherKind launcher_of(const Plan& plan) { return cluster_choice<LauncherKind>(plan, "launcher"); }

// ── The keys of [cluster] and of `when`: loader, help texts, editor schema and backends share them.

namespace {

using Type = ValueType;

// With a lower bound and a default.
Parameter at_least(std::string name, Type type, std::string fallback, std::int64_t least, std::string what) {
    return {.name = std::move(name),
            .type = type,
            .fallback = std::move(fallback),
            .what = std::move(what),
            .least = least};
}

// May be absent, and then has no effect.
Parameter optional(std::string name, Type type, std::string what, std::int64_t least = 0) {
    return {.name = std::move(name), .type = type, .what = std::move(what), .optional = true, .least = least};
}

// One of a list; without a default it may be absent.
Parameter choice(std::string name, std::string fallback, std::vector<std::string> choices, std::string what) {
    const bool absent = fallback.empty();
    return {.name = std::move(name),
            .type = Type::choice,
            .fallback = std::move(fallback),
            .what = std::move(what),
            .choices = std::move(choices),
            .optional = absent};
}

// What nodes have to reach each other with.
std::vector<Parameter> network_parameters() {
    return {
        {"interfaces", Type::text, "eth0",
         "routable network interfaces of a node, separated by commas; each has the loopback lo as well. "
         "\"lo\": "
         "that alone; \"none\": not even that"},
        optional("node_interfaces", Type::table,
                 "NODE = \"interfaces\" of nodes that have others: { node1 = \"enp6s0\" }"),
        optional(
            "rdma", Type::boolean,
            "whether nodes have RDMA cards, mlx5_0 and so on; true unless stated. Without them NCCL takes "
            "sockets, and link.bandwidth is what sockets reach"),
        optional(
            "gpudirect", Type::boolean,
            "whether those cards read and write device memory themselves; true unless stated. If not, all "
            "data is copied through host memory, at half the bandwidth"),
        optional(
            "gid_index", Type::integer,
            "RoCE: index of the GID over which cards reach each other. NCCL finds it by itself; ranks whose "
            "NCCL_IB_GID_INDEX is another cannot connect. Absent = InfiniBand, which asks for none"),
        optional("nics", Type::integer,
                 "network cards of a node, which its devices share in order; 1 unless stated, with topology "
                 "rails one for each device. Transfers over one card at the same time share its bandwidth",
                 1),
    };
}

// Agents that come and go, and the store where ranks meet.
std::vector<Parameter> meeting_parameters() {
    return {
        optional(
            "nodes_min", Type::integer,
            "torchrun --nnodes=MIN:MAX, of which `nodes` is the most: agents go on with as few nodes as "
            "this. "
            "When one is lost, and when it is back, all ranks end and begin anew, numbered over the nodes "
            "that are there, from their last checkpoint; restarts_max does not count these, but it counts "
            "ranks that "
            "fail first, as gloo's do when a peer is gone",
            1),
        optional("node_returns_after", Type::duration,
                 "after which a lost node is back and is taken in; absent = never", 0),
        choice(
            "store", "", list_words<StoreLife>(),
            "who keeps the store where ranks meet: the process of rank 0, with which it ends; torchrun's "
            "agent "
            "on node 0, for all its ranks' lives; a service beside the job, as etcd, which outlives it. A "
            "store "
            "that is kept has keys of earlier rounds in it, and puts run id and TORCHELASTIC_RESTART_COUNT "
            "before each key. Absent = rank; but torchrun's agent keeps the store of a program for one "
            "attempt, in "
            "which it does not end with rank 0"),
        optional("run_id", Type::text,
                 "name of the job in a store that is kept (TORCHELASTIC_RUN_ID); \"none\" unless stated"),
        choice("restart_count", "", list_words<RestartCount>(),
               "what TORCHELASTIC_RESTART_COUNT counts: restarts of the job; those that each node's own "
               "ranks made "
               "necessary, so that nodes may differ. Absent = job"),
    };
}

// These keys behind the one of that name.
void insert_behind(std::vector<Parameter>& all, std::string_view name, const std::vector<Parameter>& more) {
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const Parameter& one) { return one.name == name; });
    all.insert(at + 1, more.begin(), more.end());
}

// All others.
std::vector<Parameter> machine_parameters() {
    return {
        at_least("nodes", Type::integer, "2", 1, "how many machines there are"),
        at_least("gpus_per_node", Type::integer, "4", 1, "devices of a machine, one rank each"),
        optional("ranks", Type::integer, "processes, when fewer than devices; they fill the nodes in order",
                 1),
        choice("topology", "single_switch", list_words<TopologyKind>(), "how the nodes are joined"),
        at_least("nodes_per_leaf", Type::integer, "4", 1, "nodes below one leaf switch"),
        at_least("link.latency", Type::duration, "5us", 0, "delay between nodes"),
        at_least("link.bandwidth", Type::rate, "100Gbps", 1, "between nodes, for each device"),
        at_least("nvlink.latency", Type::duration, "2us", 0, "delay within a node"),
        at_least("nvlink.bandwidth", Type::rate, "2400Gbps", 1, "within a node, for each device"),
        at_least("device_memory", Type::bytes, "80GiB", 0, "memory of each device"),
        at_least("host_memory", Type::bytes, "512GiB", 0, "memory of each node"),
        at_least("shared_memory", Type::bytes, "64GiB", 0, "/dev/shm of each node"),
        at_least("open_files", Type::integer, "65536", 0, "file descriptors a process may have"),
        at_least("disk", Type::bytes, "1TiB", 0, "size of the checkpoint storage"),
        at_least("storage.bandwidth", Type::rate, "16Gbps", 1, "of the checkpoint storage"),
        at_least("storage.latency", Type::duration, "1ms", 0, "of the checkpoint storage"),
        optional("versions", Type::table, "package = \"version\" on every rank, laid over the usual ones"),
        optional("environment", Type::table, "NAME = \"value\" on every rank"),
        choice(
            "library", "nccl", list_words<LibraryKind>(),
            "of collectives and messages: NCCL's silences, or gloo's connections, which tell of a lost peer"),
        choice("launcher", "torchrun", list_words<LauncherKind>(),
               "who starts the ranks and watches them; test: a unit test that joins its processes; replicas: "
               "a launcher for each rank, which starts it again alone, for the workload elastic; spawn: a "
               "main program that calls torch.multiprocessing.spawn"),
        choice("worker_failure", "", list_words<WorkerFailure>(),
               "what a main program that spawned the ranks does when one has failed: it ends with mp.spawn's "
               "exception, or catches it and ends with code 0. Absent = raised"),
        optional("test_timeout", Type::duration,
                 "how long a test waits for its processes; 100s unless stated", 1),
        at_least("monitor_interval", Type::duration, "5s", 1, "how often torchrun looks at its children"),
        at_least("restarts_max", Type::integer, "0", 0,
                 "how often the launcher starts the job again; with replicas, each rank"),
        optional("spare_nodes", Type::integer,
                 "nodes that take name and place of those that are lost, or fail their health_check", 0),
        optional(
            "health_check", Type::duration,
            "how often nodes are checked, by what they show of devices, ports, cards and disks; also before "
            "a restart. One that fails is replaced by a spare, and the job starts again. Absent = never",
            1),
        optional("requeue_after", Type::duration,
                 "after which the scheduler starts a preempted job again; absent = never", 0),
        {"watchdog", Type::boolean, "true", "whether the framework bounds every collective"},
        at_least("collective_timeout", Type::duration, "10m", 1, "the watchdog's bound"),
        choice("debug", "off", list_words<DebugLevel>(), "TORCH_DISTRIBUTED_DEBUG"),
        {"clock_offset", Type::duration, "0s", "each node's clock is off by at most that, either way"},
        {"clock_drift", Type::ratio, "0%", "each node's clock runs too fast or too slow by at most that"},
        optional("individuals", Type::integer,
                 "ranks played one by one, beside those that a fault aims at; the others, all alike, are "
                 "played as one crowd (data_parallel only)",
                 1),
        optional("apart", Type::ranks, "ranks that a crowd leaves out; those that a fault aims at are added"),
        at_least("time_limit", Type::duration, "24h", 1, "virtual time at which a run is cut off"),
        at_least("observe", Type::duration, "2m", 0, "how long observation continues after the last event"),
    };
}

}  // namespace

const std::vector<Parameter>& cluster_parameters() {
    static const std::vector<Parameter> parameters = [] {
        std::vector<Parameter> all = machine_parameters();
        insert_behind(all, "environment", network_parameters());
        insert_behind(all, "spare_nodes", meeting_parameters());
        return all;
    }();
    return parameters;
}

const std::vector<Parameter>& trigger_parameters() {
    static const std::vector<Parameter> parameters = {
        {"start", Type::boolean, "false", "before the job starts"},
        optional("at", Type::duration, "time after the job's start"),
        optional("step", Type::integer,
                 "the training step, counted from 0. A restarted job that comes to it again is not altered "
                 "there again, unless `always` or `until_step` is set. But a value that is bent and a block "
                 "that is skipped are still so after a restart, from its beginning on, until `until_step` or "
                 "`lasts` ends them"),
        choice("phase", "",
               {"setup", "data", "forward", "backward", "reduce", "optimizer", "checkpoint", "serve",
                "evaluate"},
               "the phase of the step, of those that the workload enters"),
        optional("before", Type::text,
                 "a call, a family of calls (collective, message, communication), a seam or a block"),
        optional("comm", Type::text, "the name of that call's communicator: world, tp, dp, …"),
        at_least(
            "nth", Type::integer, "1", 1,
            "the n-th matching call of a rank: of its life, with `step` of that step, with `until_step` of "
            "all steps from the one to the other together; after a restart it is counted anew"),
        {"always", Type::boolean, "false",
         "at every match from then on. Without it a call is altered once; a value that is bent and a block "
         "that is skipped stay so until `until_step` or `lasts` ends them"},
        optional("until_step", Type::integer, "the last step; beyond it the fault is taken back"),
        optional("lasts", Type::duration, "after that time the fault is taken back", 1),
    };
    return parameters;
}

}  // namespace deadrank::scenarios

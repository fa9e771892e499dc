// sim/cluster/cluster.cpp — The interface: a run from launch to outcome, and the levers, each passed to the
// part that it moves.
#include "sim/cluster/cluster.h"

#include "scenarios/model/error.h"
#include "sim/cluster/rank_world.h"
#include "sim/cluster/wait_graph.h"
#include "sim/collectives/fabric.h"

namespace deadrank::sim {

namespace {

EngineOptions engine_options(const ClusterSettings& settings, const ClusterOptions& options) {
    EngineOptions made;
    const auto everybody = static_cast<std::size_t>(settings.process_count());
    const auto apart = static_cast<std::size_t>(settings.individuals) + settings.apart.size() + 1;
    made.actors = (settings.individuals > 0 ? std::min(everybody, apart) : everybody) + 1;
    made.explore_order = options.explore_order;
    made.watch = options.watch;
    made.stack_bytes = options.stack_bytes;
    return made;
}

// Runs in pieces, so that a stop is noticed. Where a piece ends has no effect on the run.
EngineEnd play(Engine& engine, Time until, const ClusterOptions& options) {
    for (std::uint64_t left = options.step_limit;;) {
        const std::uint64_t steps = options.stop ? std::min(left, options.stop_asked_every) : left;
        EngineEnd outcome = engine.run({.until = until, .steps = steps});
        left -= steps;
        if (outcome.ending != Ending::step_limit || left == 0) return outcome;
        if (options.stop()) {
            outcome.ending = Ending::stopped;
            return outcome;
        }
    }
}

}  // namespace

// What runs on the fabric: one workload, in a world of its own for each process.
struct Cluster::Job final : Fabric {
    using Fabric::Fabric;

    void play(Process& process) override {
        RankWorld world(*this, process);
        workload(world);
    }

    std::function<void(World&)> workload;
};

Cluster::Cluster(Engine& engine, const ClusterSettings& settings, Seed seed, results::EventSink& sink,
                 const ClusterOptions& options)
    : options_(options) {
    CHECK(settings.nodes > 0 && settings.gpus_per_node > 0);
    CHECK(settings.process_count() <= static_cast<Rank>(settings.nodes * settings.gpus_per_node));
    engine.reset(engine_options(settings, options));
    machine_ = std::make_unique<Job>(engine, settings, seed, sink);
}

Cluster::~Cluster() {
    machine_->recorder.close();
    machine_->engine.close();
}

RunResult Cluster::run(const std::function<void(World&)>& workload) {
    Job& machine = *machine_;
    machine.workload = workload;
    machine.launcher.start();
    const EngineEnd outcome = play(machine.engine, machine.settings.time_limit, options_);
    if (!outcome.failures.empty()) std::rethrow_exception(outcome.failures.front().error);
    RunResult result;
    result.ending = outcome.ending;
    const bool waiting = outcome.ending != Ending::completed && outcome.ending != Ending::stopped;
    result.end = outcome.ending == Ending::time_limit ? outcome.now : machine.recorder.last();
    result.observed_until = result.end + (waiting ? machine.settings.observe : Time{0});
    for (Rank id = 0; id < machine.processes.count(); ++id) {
        const Process& process = machine.processes[id];
        ProcessEnd end = process.end;
        if (process.alive && process.stopped) {
            end = ProcessEnd::stopped;
        } else if (process.alive && outcome.ending == Ending::deadlock) {
            end = ProcessEnd::stuck;
        }
        result.ends.push_back(end);
    }
    if (waiting) result.waits_for = wait_graph(machine);
    const TraceHash& trace = machine.engine.trace();
    result.hash = trace.value();
    result.events = trace.events();
    result.checkpoints.assign(trace.checkpoints().begin(), trace.checkpoints().end());
    for (Rank id = 0; options_.keep_rank_hashes && id < machine.processes.count(); ++id) {
        result.rank_hashes.push_back(machine.engine.trace_of(static_cast<ActorId>(id)));
    }
    result.watched = machine.engine.watched();
    if (waiting && options_.at_standstill) options_.at_standstill();
    machine.recorder.close();
    machine.engine.close();
    return result;
}

void Cluster::intercept(Interceptor* interceptor) { machine_->gate.intercept(interceptor); }
void Cluster::arm(Rank process, bool on) {
    if (!in_crowd(process)) machine_->processes[process].armed = on;
}

void Cluster::at(Time when, std::function<void()> what) {
    const Time soonest = std::max(when, machine_->engine.now());
    machine_->engine.call_at(soonest, {nobody, 0, "trigger"}, std::move(what));
}

Time Cluster::now() const { return machine_->engine.now(); }
const ClusterSettings& Cluster::settings() const { return machine_->settings; }
Rank Cluster::processes() const { return machine_->processes.count(); }
int Cluster::node_of(Rank process) const { return process / machine_->settings.gpus_per_node; }
std::int64_t Cluster::step_of(Rank process) const { return machine_->processes[process].step; }
bool Cluster::in_crowd(Rank process) const { return machine_->processes.in_crowd(process); }
bool Cluster::alive(Rank process) const { return machine_->processes[process].alive; }

std::vector<Rank> Cluster::processes_of(int node) const {
    std::vector<Rank> there;
    const Rank per_node = machine_->settings.gpus_per_node;
    for (Rank id = node * per_node; id < std::min((node + 1) * per_node, processes()); ++id)
        there.push_back(id);
    return there;
}

void Cluster::set_env(Rank process, std::string_view name, std::string_view value) {
    override_setting(machine_->processes[process].tamper().environment, name, std::string(value));
}

bool Cluster::has_env(Rank process, std::string_view name) const {
    return machine_->environment.get(machine_->processes[process], name).has_value();
}

bool Cluster::has_requested(Rank process, std::string_view name) const {
    const auto& tampering = machine_->processes[process].tampering;
    return tampering && tampering->asked.contains(name);
}

void Cluster::unset_env(Rank process, std::string_view name) {
    override_setting(machine_->processes[process].tamper().environment, name, std::nullopt);
}

void Cluster::set_version(Rank process, std::string_view package, std::string_view version) {
    override_setting(machine_->processes[process].tamper().versions, package, std::string(version));
}

void Cluster::swap_ranks(Rank a, Rank b) {
    std::swap(machine_->processes[a].given_rank, machine_->processes[b].given_rank);
}

void Cluster::break_package(Rank process, std::string_view package, std::string_view problem, bool shadowed,
                            std::string_view built_for) {
    machine_->processes[process].tamper().broken_packages.push_back(
        {std::string(package), std::string(problem), shadowed, std::string(built_for)});
}

void Cluster::take_port(int node, std::string_view port, bool mute) {
    machine_->stores.take_port(node, static_cast<int>(lax_integer(std::string(port))), mute);
}

void Cluster::break_name(Rank process, std::string_view host, NameTrouble how) {
    Process& there = machine_->processes[process];
    there.tamper().broken_names.emplace_back(
        host == own_host ? machine_->topology.host_name(there.node) : std::string(host), how);
}

void Cluster::change_store(Rank process, StoreTrouble trouble, Time late) {
    Tampering& tampering = machine_->processes[process].tamper();
    tampering.store = trouble;
    tampering.store_late = late;
    machine_->engine.wake(static_cast<ActorId>(process));
}

void Cluster::add_interface(int node, const Interface& interface, bool sorts_first) {
    machine_->hosts.add_interface(node, interface, sorts_first);
}

bool Cluster::share_store(std::string_view run_id, std::int64_t came) {
    const std::int64_t expected = processes();
    return machine_->stores.share(run_id, came < 0 ? expected : came, expected);
}

bool Cluster::rename_interface(int node, std::string_view name, std::string_view new_name) {
    return machine_->hosts.rename_interface(node, name, new_name);
}

void Cluster::kill(Rank process, int signal) {
    machine_->processes.signal(machine_->processes[process], signal);
}

void Cluster::exit(Rank process, int code, std::string_view says) {
    machine_->processes.raise(machine_->processes[process], code, says);
}

void Cluster::stop(Rank process) { machine_->processes.stop(machine_->processes[process]); }
void Cluster::resume(Rank process) { machine_->processes.resume(machine_->processes[process]); }

void Cluster::change_device(Rank process, const DeviceChange& change) {
    machine_->devices.change(machine_->processes[process], change);
}

void Cluster::change_host(int node, const HostChange& change) { machine_->hosts.change(node, change); }
void Cluster::change_link(const LinkChange& change) { machine_->network.change(change); }
const std::vector<Number>* Cluster::file_content(std::string_view path) const {
    return machine_->files.content(path);
}

void Cluster::change_storage(const StorageChange& change) { machine_->files.change(change); }
void Cluster::preempt(std::string_view reason) { machine_->launcher.preempt(reason); }

}  // namespace deadrank::sim

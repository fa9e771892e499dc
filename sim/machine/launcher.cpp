// sim/machine/launcher.cpp — Starts the processes of the job, watches them as the real launcher does, and
// prints what torchrun and mpirun print.
#include "sim/machine/launcher.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "results/record/codes.h"
#include "results/record/event_names.h"
#include "sim/machine/machine.h"
#include "sim/world/members.h"

namespace deadrank::sim {

// ── The launcher's own life: start all, wait for the first trouble, end the rest, perhaps begin again.

namespace {

constexpr Time grace{30'000'000'000};       // between SIGTERM and SIGKILL
constexpr Time start_again{1'000'000'000};  // from the end of one attempt to the next
constexpr Time test_interval{100'000'000};  // between two checks of torch's MultiProcessTestCase

}  // namespace

ActorId Launcher::actor() const { return static_cast<ActorId>(machine_.processes.count()); }

void Launcher::start() {
    machine_.engine.spawn(actor(), [this] { body(); });
}

void Launcher::process_raised(std::string_view words) {
    const bool tells = machine_.settings.launcher == LauncherKind::spawn;
    if (tells && first_failure_ == results::no_rank) raised_ = words;
}

void Launcher::process_ended(const Process& process) {
    --running_;
    node_lost_ |= process.lost;
    if (process.lost) note_lost(process.node);
    const bool seen_failing = process.exit_code != 0 && !process.lost;
    if (seen_failing && first_failure_ == results::no_rank) first_failure_ = process.id;
    if (machine_.settings.launcher == LauncherKind::replicas && !preempted_) plan_next_life(process);
    machine_.engine.wake(actor());
}

void Launcher::preempt(std::string_view reason) {
    preempted_ = true;
    preempt_reason_ = reason;
    machine_.engine.wake(actor());
}

void Launcher::body() {
    Recorder& recorder = machine_.recorder;
    const ClusterSettings& settings = machine_.settings;
    recorder.record(results::no_rank, results::JobStart{settings.process_count(), settings.nodes,
                                                        settings.gpus_per_node, recorder.text(settings.job)});
    show_sample();
    machine_.stores.open_kept();
    for (;;) {
        start_processes();
        wait_for_trouble();
        if (!end_attempt()) return;
        ++machine_.attempt;
        recorder.record(results::no_rank, results::Restart{machine_.attempt, recorder.text(restart_reason_)});
        machine_.begin_attempt();
    }
}

// Only one rank of a crowd is seen: readers of the evidence must know which ranks not to miss.
void Launcher::show_sample() {
    if (!machine_.processes.has_crowd()) return;
    std::vector<Rank> seen;
    for (const Process& process : machine_.processes.all()) seen.push_back(process.id);
    Recorder& recorder = machine_.recorder;
    recorder.record(
        results::no_rank,
        results::RankConfig{recorder.text(scenarios::enum_name(results::ConfigName::observed_ranks)),
                            recorder.text(rank_list(seen))});
}

void Launcher::wait_for_trouble() {
    const LauncherKind kind = machine_.settings.launcher;
    if (kind == LauncherKind::replicas) return watch_replicas();
    const bool tests = kind == LauncherKind::test;
    const Time deadline = machine_.engine.now() + machine_.settings.test_timeout;
    const bool tells = kind != LauncherKind::bare;
    while (!all_gone() && !preempted_ && !(tells && first_failure_ != results::no_rank)) {
        const Time next = tests ? deadline : std::min(next_look_at_nodes(), next_change());
        if (next == results::never)
            machine_.engine.block({.what = "its processes"});
        else if (machine_.engine.now() < next)
            machine_.engine.block_until(next, {.what = "its processes"});
        else if (tests || machine_.engine.now() >= next_change() || finds_a_sick_node())
            return;
    }
}

// What ended badly comes back alone. From a lost node nobody reports an exit: a spare must take its place.
void Launcher::plan_next_life(const Process& process) {
    if (process.exit_code == 0 || process.lives >= machine_.settings.restarts_max) return;
    if (process.lost && machine_.hosts[process.node].down) {
        if (spares_taken_ >= machine_.settings.spare_nodes) return;
        ++spares_taken_;
        machine_.replace_node(process.node);
    }
    due_.emplace_back(machine_.engine.now() + start_again, process.id);
}

void Launcher::watch_replicas() {
    while (!preempted_ && (!all_gone() || !due_.empty())) {
        const Time next = due_.empty() ? results::never : due_.front().first;
        if (machine_.engine.now() < next) {
            machine_.engine.block_until(next, {.what = "its processes"});
            continue;
        }
        Process& process = machine_.processes[due_.front().second];
        due_.erase(due_.begin());
        machine_.recorder.log(results::no_rank, 1,
                              process.lost ? fmt::format("rank {} starts again on a spare node", process.id)
                                           : fmt::format("rank {} ended (exitcode: {}) and starts again",
                                                         process.id, process.exit_code));
        ++process.lives;
        ++running_;
        machine_.processes.start(process);
    }
}

void Launcher::start_processes() {
    first_failure_ = results::no_rank;
    looked_at_nodes_ = machine_.engine.now();
    if (machine_.settings.launcher == LauncherKind::replicas) {
        const auto port = machine_.environment.get(machine_.processes[0], "MASTER_PORT");
        machine_.stores.serve(0, static_cast<int>(lax_integer(port.value_or("29500"))));
    }
    number_ranks();
    running_ = static_cast<Rank>(machine_.processes.all().size());
    for (Process& process : machine_.processes.all()) {
        if (is_elastic() && machine_.hosts[process.node].down) {
            process.end = ProcessEnd::finished;  // the job goes on without it, and waits for nothing of it
            --running_;
            continue;
        }
        machine_.processes.start(process);
    }
}

bool Launcher::end_attempt() {
    const ClusterSettings& settings = machine_.settings;
    Recorder& recorder = machine_.recorder;
    if (preempted_) {
        recorder.log(results::no_rank, 1, preempt_reason_);
        end_others();
        if (settings.requeue_after > Time{0}) return queue_again();
        stop_job(128 + results::sigterm, preempt_reason_);
        return false;
    }
    if (!sick_.empty()) {
        restart_without(std::exchange(sick_, {}));
        return true;
    }
    if (settings.launcher == LauncherKind::test) {
        if (first_failure_ != results::no_rank) sleep_until_next_poll(test_interval);
        report_test();
        return false;
    }
    if (settings.launcher == LauncherKind::replicas) {
        const auto& all = machine_.processes.all();
        const bool well =
            std::all_of(all.begin(), all.end(), [](const Process& p) { return p.exit_code == 0; });
        stop_job(well ? 0 : 1, well ? "" : "a replica failed for good");
        return false;
    }
    if (first_failure_ == results::no_rank && !all_gone() && machine_.engine.now() >= next_change())
        return change_nodes();
    if (first_failure_ == results::no_rank) {
        stop_job(node_lost_ ? 1 : 0, node_lost_ ? "a node was lost" : "");
        return false;
    }
    const Process& failed = machine_.processes[first_failure_];
    const std::string host = machine_.topology.host_name(failed.node);
    if (settings.launcher == LauncherKind::bare) {
        stop_job(failed.exit_code, "");
        return false;
    }
    if (settings.launcher == LauncherKind::mpirun || settings.launcher == LauncherKind::spawn) {
        const bool mpi = settings.launcher == LauncherKind::mpirun, hides = settings.hides_failures;
        const int code = mpi ? mpirun_code(failed) : hides ? 0 : 1;
        const std::string report = mpi ? mpirun_report(failed, host) : spawn_report(failed, raised_);
        if (!hides) recorder.log(results::no_rank, 2, report);
        end_others();
        stop_job(code, "");
        return false;
    }
    sleep_until_next_poll(settings.monitor_interval);
    // A process that raises takes longer to end than the agent takes to look again; in virtual time it ends at once.
    std::vector<SeenFailure> failures{{&failed, machine_.engine.now()}};
    note_failures(failed.node, failures);
    end_others();
    note_failures(failed.node, failures);
    const std::string reason = fmt::format("rank {} failed", failed.id);
    recorder.log(results::no_rank, 2, torchrun_failed_line(failed));
    if (may_start_again()) {
        restart_reason_ = reason;
        machine_.engine.sleep(start_again);
        return true;
    }
    recorder.log(results::no_rank, 2, torchrun_report(settings.job, failures, host));
    stop_job(1, reason);
    return false;
}

// As an agent polls its own children, by local rank: those that its SIGTERM ended have failed too.
void Launcher::note_failures(int node, std::vector<SeenFailure>& failures) {
    for (const Process& process : machine_.processes.all()) {
        const bool failed = !process.alive && !process.lost && process.exit_code != 0;
        const bool known = std::any_of(failures.begin(), failures.end(),
                                       [&](const SeenFailure& one) { return one.process == &process; });
        if (process.node == node && failed && !known) failures.push_back({&process, machine_.engine.now()});
    }
}

int Launcher::restart_count(const Process& process) const {
    if (!machine_.settings.agents_count_restarts) return machine_.attempt + process.lives;
    const auto node = static_cast<std::size_t>(process.node);
    return node < failures_on_.size() ? failures_on_[node] : 0;
}

// The scheduler keeps the job and starts it anew when there is room for it.
bool Launcher::queue_again() {
    preempted_ = false;
    machine_.stores.agents_gone();
    restart_reason_ = "requeued: " + preempt_reason_;
    machine_.engine.sleep(machine_.settings.requeue_after);
    return true;
}

// Each spare takes the name and the place of a node that is lost, or fails its check now that the job has
// ended. False: there are too few.
bool Launcher::take_spare_nodes() {
    const std::vector<SickNode> nodes = sick_nodes(machine_, true);
    if (!enough_spares_for(nodes)) return false;
    replace(nodes);
    return true;
}

bool Launcher::enough_spares_for(const std::vector<SickNode>& nodes) const {
    return spares_taken_ + static_cast<int>(nodes.size()) <= machine_.settings.spare_nodes;
}

void Launcher::replace(const std::vector<SickNode>& nodes) {
    for (const SickNode& sick : nodes) {
        if (machine_.settings.health_check > Time{0}) {
            machine_.recorder.log(results::no_rank, 1,
                                  fmt::format("{} fails its health check ({}), a spare node takes its place",
                                              machine_.topology.host_name(sick.node), sick.finding));
        }
        machine_.replace_node(sick.node);
        ++spares_taken_;
    }
    node_lost_ = false;
}

// `never` where nothing could follow from it.
Time Launcher::next_look_at_nodes() const {
    const ClusterSettings& settings = machine_.settings;
    const bool could_replace = settings.launcher == LauncherKind::torchrun &&
                               machine_.attempt < settings.restarts_max &&
                               spares_taken_ < settings.spare_nodes;
    if (settings.health_check <= Time{0} || !could_replace) return results::never;
    return looked_at_nodes_ + settings.health_check;
}

bool Launcher::finds_a_sick_node() {
    looked_at_nodes_ = machine_.engine.now();
    sick_ = sick_nodes(machine_, false);
    if (!enough_spares_for(sick_)) sick_.clear();
    return !sick_.empty();
}

void Launcher::restart_without(const std::vector<SickNode>& nodes) {
    const std::string first = machine_.topology.host_name(nodes.front().node);
    end_others();
    replace(nodes);
    restart_reason_ = fmt::format("{} failed its health check", first);
    machine_.engine.sleep(start_again);
}

// Launchers check their children at fixed intervals, for the first time after one of them.
void Launcher::sleep_until_next_poll(Time interval) {
    interval = std::max(interval, Time{1});
    const Time since = machine_.engine.now() - machine_.attempt_started;
    const auto looks = std::max<std::int64_t>(1, (since + interval - Time{1}) / interval);
    machine_.engine.sleep_until(machine_.attempt_started + interval * looks);
}

// As torch's MultiProcessTestCase: one line for each process that failed, or is still there when time is up.
void Launcher::report_test() {
    Recorder& recorder = machine_.recorder;
    const std::string name = test_name(machine_.settings.job, machine_.processes.count());
    bool passed = true;
    const auto failed = [&](const Process& process, const std::string& problem) {
        recorder.record(process.id, results::TestResult{recorder.text(name), recorder.text(problem), 0});
        passed = false;
    };
    for (const Process& process : machine_.processes.all()) {
        if (process.alive && first_failure_ == results::no_rank)
            failed(process, test_timed_out(process, machine_.settings.test_timeout));
        if (!process.alive && process.exit_code != 0) failed(process, test_process_failed(process));
    }
    if (passed) recorder.record(results::no_rank, results::TestResult{recorder.text(name), {}, 1});
    end_others();
    stop_job(passed ? 0 : 1, passed ? "" : "a test failed");
}

// A process takes longer to end than torchrun takes to signal the next one, so all its lines come first.
void Launcher::end_others() {
    if (machine_.settings.launcher == LauncherKind::torchrun) {
        for (const Process& process : machine_.processes.all()) {
            if (process.alive)
                machine_.recorder.log(results::no_rank, 1,
                                      fmt::format("Sending process {} closing signal SIGTERM", process.pid));
        }
    }
    for (Process& process : machine_.processes.all()) {
        if (process.alive) machine_.processes.signal(process, results::sigterm);
    }
    wait_until_gone(machine_.engine.now() + grace);
    for (Process& process : machine_.processes.all()) machine_.processes.signal(process, results::sigkill);
}

void Launcher::wait_until_gone(Time deadline) {
    while (!all_gone() && machine_.engine.now() < deadline) {
        machine_.engine.block_until(deadline, {.what = "its processes"});
    }
}

void Launcher::stop_job(int code, std::string_view reason) {
    machine_.recorder.record(results::no_rank, results::JobStop{code, machine_.recorder.text(reason)});
}

}  // namespace deadrank::sim

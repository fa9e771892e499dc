// sim/machine/processes.cpp — The processes of the job: where each runs, whether it lives, what it waits for.
#include "sim/machine/processes.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "results/record/codes.h"
#include "sim/machine/environment.h"
#include "sim/machine/machine.h"

namespace deadrank::sim {

namespace {

constexpr int first_pid = 1000;

// Ascending; empty: all are played.
std::vector<Rank> played_apart(const ClusterSettings& settings) {
    const Rank count = settings.process_count();
    if (settings.individuals <= 0) return {};
    std::vector<Rank> apart;
    for (const Rank rank : settings.apart) {
        if (rank >= 0 && rank < count) apart.push_back(rank);
    }
    const Rank wanted = std::min(settings.individuals, count);
    for (Rank i = 0; i < wanted; ++i) apart.push_back(static_cast<Rank>(std::int64_t{i} * count / wanted));
    std::sort(apart.begin(), apart.end());
    apart.erase(std::unique(apart.begin(), apart.end()), apart.end());
    // A crowd of one is no crowd.
    return static_cast<Rank>(apart.size()) + 1 < count ? apart : std::vector<Rank>();
}

Rank first_not_in(const std::vector<Rank>& ascending, Rank count) {
    Rank free = 0;
    for (const Rank rank : ascending) free += rank == free ? 1 : 0;
    return std::min(free, count - 1);
}

std::vector<Rank> with(std::vector<Rank> ascending, Rank rank) {
    ascending.insert(std::lower_bound(ascending.begin(), ascending.end(), rank), rank);
    return ascending;
}

}  // namespace

Processes::Processes(Machine& machine)
    : machine_(machine), count_(machine.settings.process_count()), all_(machine.engine.effort()) {
    const std::vector<Rank> apart = played_apart(machine.settings);
    const Rank crowd = first_not_in(apart, count_);
    for (const Rank id : apart.empty() ? Members::range(0, count_).list() : with(apart, crowd)) {
        Process& process = all_.emplace_back();
        process.id = process.given_rank = id;
        if (!apart.empty() && id == crowd) {
            process.weight = count_ - static_cast<Rank>(apart.size());
            crowd_ = all_.size() - 1;
        }
        process.node = id / machine.settings.gpus_per_node;
        process.local = id % machine.settings.gpus_per_node;
        process.pid = first_pid + id;
    }
}

std::size_t Processes::place_of(Rank id) const {
    if (!has_crowd()) return static_cast<std::size_t>(id);
    const auto found =
        std::lower_bound(all_.begin(), all_.end(), id,
                         [](const Process& process, Rank wanted) { return process.id < wanted; });
    return found != all_.end() && found->id == id ? static_cast<std::size_t>(found - all_.begin()) : crowd_;
}

void Processes::start(Process& process) {
    const int attempt = machine_.attempt + process.lives;
    process.device = -1;
    process.stopped = process.watched = process.pending_stop = process.lost = false;
    process.end = ProcessEnd::running;
    process.exit_code = process.exit_signal = process.pending_signal = 0;
    process.keeps = process.kept = 0;
    if (process.tampering) process.tampering->own.clear();
    process.pending_exit.reset();
    process.step = -1;
    process.phase = results::Phase::none;
    process.waits = {};
    process.comms.clear();
    process.pid = first_pid + attempt * count() + process.id;
    process.restart_count = machine_.launcher.restart_count(process);
    process.started = machine_.engine.now();
    process.alive = true;
    Recorder& recorder = machine_.recorder;
    results::RankStart shown{process.pid, process.node, process.local};
    shown.host = recorder.text(machine_.topology.host_name(process.node));
    shown.versions = recorder.text(machine_.environment.version_lines(process));
    shown.environment = recorder.text(machine_.environment.lines(process, attempt));
    recorder.record(process.id, shown);
    machine_.engine.spawn(static_cast<ActorId>(process.id), [this, &process] {
        try {
            run(process);
        } catch (const std::exception&) {  // of this machine, not of the rank: the run proves nothing
            machine_.engine.stop();
            throw;
        }
    });
}

void Processes::run(Process& process) {
    try {
        settle(process);
        load_packages(machine_, process);
        machine_.play(process);
        settle(process);
        if (process.alive) end(process, ProcessEnd::finished, 0, 0);
    } catch (const RankFailure& failure) {
        fail(process, failure);
    } catch (const RankKilled& killed) {
        if (process.alive) end(process, ProcessEnd::killed, 0, killed.signal);
    } catch (const std::exception& error) {
        if (scenarios::is_host_failure(error)) throw;  // the rank's own memory is simulated
        fail(process, RankFailure(std::string("RuntimeError: ") + error.what()));
    }
}

void Processes::fail(Process& process, const RankFailure& failure) {
    if (!process.alive) return;
    if (failure.code == 0) return end(process, ProcessEnd::finished, 0, 0);  // exit(0) prints nothing
    if (!failure.told)
        machine_.recorder.log(process.id, 2,
                              std::string("Traceback (most recent call last):\n") + failure.what());
    machine_.launcher.process_raised(failure.what());
    end(process, ProcessEnd::failed, failure.code, 0);
}

void Processes::end(Process& process, ProcessEnd how, int code, int signal) {
    process.alive = false;
    if (std::exchange(process.stopped, false)) --stopped_;
    process.end = how;
    process.exit_signal = static_cast<std::int16_t>(signal);
    process.exit_code = signal != 0 ? -signal : code;
    if (!process.lost) machine_.recorder.record(process.id, results::RankExit{process.exit_code, signal});
    machine_.process_gone(process);
    machine_.stores.process_gone(process);
    machine_.devices.process_gone(process);
    machine_.launcher.process_ended(process);
}

void Processes::signal(Process& process, int number) {
    if (!process.alive || number == 0) return;
    if (number == results::sigstop) return stop(process);
    if (number == results::sigcont) return resume(process);
    if (number < 32 && (process.keeps >> number & 1U) != 0) {
        process.kept |= 1U << number;
        return;
    }
    const auto actor = static_cast<ActorId>(process.id);
    if (machine_.engine.current() == actor || (process.stopped && number != results::sigkill)) {
        process.pending_signal = static_cast<std::int16_t>(number);
        return;
    }
    end(process, ProcessEnd::killed, 0, number);
    machine_.engine.kill(actor);
}

void Processes::raise(Process& process, int code, std::string_view says) {
    if (!process.alive) return;
    process.pending_exit = std::make_unique<std::pair<int, std::string>>(code, says);
    machine_.engine.wake(static_cast<ActorId>(process.id));
}

void Processes::stop(Process& process) {
    if (!process.alive || process.stopped) return;
    const auto actor = static_cast<ActorId>(process.id);
    if (machine_.engine.current() == actor) {
        process.pending_stop = true;
        return;
    }
    set_stopped(process, true);
    machine_.engine.freeze(actor);
}

void Processes::resume(Process& process) {
    if (!process.alive || !process.stopped) return;
    set_stopped(process, false);
    machine_.engine.thaw(static_cast<ActorId>(process.id));
    if (process.pending_signal != 0)
        return signal(process, std::exchange(process.pending_signal, std::int16_t{0}));
    machine_.process_resumed(process);
}

// The network needs the process: what it sends to other nodes stops with it.
void Processes::set_stopped(Process& process, bool stopped) {
    if (std::exchange(process.stopped, stopped) == stopped) return;
    stopped_ += stopped ? 1 : -1;
    machine_.process_stopped(process);
}

void Processes::lose(Process& process) {
    if (!process.alive) return;
    process.lost = true;
    if (machine_.engine.current() == static_cast<ActorId>(process.id)) {
        process.pending_signal = results::sigkill;
        return;
    }
    end(process, ProcessEnd::killed, 0, results::sigkill);
    machine_.engine.kill(static_cast<ActorId>(process.id));
}

NameTrouble trouble_with(const Process& process, std::string_view host) {
    if (!process.tampering) return NameTrouble::none;
    for (const auto& [name, how] : process.tampering->broken_names) {
        if (name == host || name.empty()) return how;
    }
    return NameTrouble::none;
}

void Processes::take_pending(Process& process) {
    if (std::exchange(process.pending_stop, false)) {
        set_stopped(process, true);
        machine_.engine.freeze(static_cast<ActorId>(process.id));  // comes back when it is resumed
    }
    if (const int number = std::exchange(process.pending_signal, std::int16_t{0})) {
        end(process, ProcessEnd::killed, 0, number);
        machine_.engine.kill(static_cast<ActorId>(process.id));  // throws here
    }
    if (process.pending_exit) {
        const auto [code, says] = *std::exchange(process.pending_exit, nullptr);
        if (code == 0 && says.empty()) {
            end(process, ProcessEnd::finished, 0, 0);
            machine_.engine.kill(static_cast<ActorId>(process.id));
        }
        throw RankFailure(says, code);
    }
}

}  // namespace deadrank::sim

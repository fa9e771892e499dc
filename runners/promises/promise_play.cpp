// runners/promises/promise_play.cpp — Follows what the workers write, applies the faults that come from
// outside, and ends the run when it is over, stuck or past its limit.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <signal.h>
#include <thread>

#include "results/processes/bounded.h"
#include "results/record/text_file.h"
#include "runners/backends/local/namespaces.h"
#include "runners/backends/process/job_processes.h"
#include "runners/backends/process/scratch.h"
#include "runners/promises/promise_processes.h"
#include "runners/promises/promise_suite.h"
#include "runners/promises/promise_verdict.h"

namespace deadrank::runners::promises {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::Result;

namespace {

Role role_of(Target target) {
    return target == Target::coordinator ? Role::coordinator
           : target == Target::agent     ? Role::agent
                                         : Role::worker;
}

Moment monotonic() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

class Play {
public:
    Play(const PromiseSubject& subject, const PromisedFault* fault, const PlayPlace& place)
        : subject_(subject),
          fault_(fault),
          place_(place),
          mark_("DEADRANK_EVIDENCE=" + evidence().string()),
          events_(place.directory / "events") {}

    Result<PlayedRun> operator()() {
        std::error_code trouble;
        for (const char* part : {"events", "once", "checkpoints", "tmp", "logs"})
            fs::create_directories(place_.directory / part, trouble);
        if (trouble)
            return scenarios::refuse(
                ErrorCode::io,
                fmt::format("'{}' cannot be made: {}", place_.directory.string(), trouble.message()),
                "choose a directory that you may write, with --out");
        if (fault_) {
            const auto list = list_worker_settings(*fault_);
            if (auto written = results::write_text(list, place_.directory / "faults.json"); !written)
                return tl::unexpected(written.error());
        }
        if (fault_ && fault_->needs_network()) {
            if (const std::string missing = namespaces_missing(); !missing.empty())
                return scenarios::refuse(ErrorCode::unsupported, missing, "run it as root");
            auto made = Namespaces::make(2);
            if (!made) return tl::unexpected(made.error());
            network_.emplace(std::move(*made));
        }
        return play();
    }

private:
    fs::path evidence() const { return place_.directory / "evidence"; }

    std::string address(int node) const { return network_ ? Namespaces::address(node) : "127.0.0.1"; }

    std::string filled(std::string word, int node) {
        const auto put = [&](const std::string& name, const std::string& value) {
            for (std::size_t at = 0; (at = word.find(name, at)) != std::string::npos; at += value.size())
                word.replace(at, name.size(), value);
        };
        put("{python}", place_.python.string());
        put("{programs}", (place_.home / "programs").string());
        put("{overlay}", place_.overlay.string());
        put("{run}", place_.directory.string());
        put("{address}", address(node));
        put("{address0}", address(0));
        put("{interface}", network_ ? Namespaces::interface : "lo");
        put("{timeout}", fmt::format("{:g}", subject_.timeout));
        for (const char* name : {"{port}", "{port2}", "{port3}"}) {
            int& port = ports_[name];
            if (port == 0) port = TakenPort::any_free();
            put(name, std::to_string(port));
        }
        return word;
    }

    // Each node has its own host name too, because programs send it to each other.
    std::vector<std::string> inside(int node, std::vector<std::string> command) const {
        if (!network_) return command;
        const std::string script = fmt::format("hostname {} && exec \"$@\"", address(node));
        command.insert(command.begin(), {"unshare", "--uts", "sh", "-c", script, "sh"});
        return network_->inside(node, std::move(command));
    }

    ProcessPlace process_place() {
        ProcessPlace place;
        place.environment = environment_of_ranks(place_.directory, {"PYTHONPATH=", "TMPDIR=", "LD_PRELOAD="});
        const auto set = [&](const std::string& name, const std::string& value) {
            place.environment.push_back(name + "=" + value);
        };
        set("PYTHONPATH", (place_.home / "programs").string() +
                              (place_.overlay.empty() ? "" : ":" + place_.overlay.string()));
        set("PYTHONUNBUFFERED", "1");
        set("PYTHONWARNINGS", "ignore");
        set("PYTHONDONTWRITEBYTECODE", "1");
        set("CUDA_VISIBLE_DEVICES", "");
        set("TMPDIR", (place_.directory / "tmp").string());
        set("GLOO_SOCKET_IFNAME", network_ ? Namespaces::interface : "lo");
        set("DEADRANK_PROMISE_RUN", place_.directory.string());
        set("DEADRANK_PROMISE_TIMEOUT", fmt::format("{:g}", subject_.timeout));
        set("DEADRANK_PROMISE_STEPS", std::to_string(subject_.steps));
        set("DEADRANK_PROMISE_ADDRESS", address(0));
        if (fault_ && fills_disk() && !files_shim().empty()) {
            set("LD_PRELOAD", files_shim().string());
            set("DEADRANK_FILES", "told");
            set("DEADRANK_PLAN", (place_.directory / "faults.json").string());
        }
        place.fill = [this](std::string word, int node) { return filled(std::move(word), node); };
        place.inside = [this](int node, std::vector<std::string> command) {
            return inside(node, std::move(command));
        };
        place.logs = place_.directory / "logs";
        return place;
    }

    bool fills_disk() const {
        return std::any_of(fault_->actions.begin(), fault_->actions.end(),
                           [](const FaultAction& action) { return action.does == ActionKind::fill_disk; });
    }

    Result<PlayedRun> play() {
        adopt_orphans();
        Processes processes(subject_.processes, process_place());
        processes_ = &processes;
        run_.began = last_sign_ = monotonic();
        auto started = processes.start_all();
        while (started && !over(processes)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            const Moment now = monotonic();
            take(events_.read(), now);
            processes.look(now, hit_pids_);
            look_at_waiting(processes, now);
            do_due(now);
        }
        run_.ended = monotonic();
        take(events_.read(), run_.ended);
        processes.end_services();
        if (run_.over) run_.processes_left = left_after_grace(mark_);
        end_all_marked(mark_);
        end_orphans();
        run_.files_left = run_.over ? files_below(place_.directory / "tmp") : 0;
        run_.failed = processes.failed();
        run_.failure = processes.failure();
        run_.last_output = processes.last_output();
        if (!started) return tl::unexpected(started.error());
        std::stable_sort(run_.events.begin(), run_.events.end(),
                         [](const WorkerEvent& a, const WorkerEvent& b) { return a.at < b.at; });
        if (fault_) note_unpulled_actions();
        return std::move(run_);
    }

    // Once a second, the share of the last ten in which the job's processes waited for a processor.
    void look_at_waiting(const Processes& processes, Moment now) {
        constexpr Moment second = 1'000'000'000;
        if (now < next_look_) return;
        next_look_ = now + second;
        for (const int pid : processes.alive()) of_job_.insert(pid);
        const results::Time at(now - run_.began), ten(10 * second);
        starvation_.look(of_job_, at);
        const results::Time waited = results::waited_between(starvation_.waiting(), at - ten, at);
        run_.waited = std::max(run_.waited, double(waited.count()) / double(ten.count()));
    }

    bool over(const Processes& processes) {
        const Moment now = monotonic();
        const auto seconds = [&](Moment since) { return static_cast<double>(now - since) / 1e9; };
        if (processes.all_over())
            run_.over = true;
        else if (place_.stop && *place_.stop) {
            run_.interrupted = true;
            run_.stuck = "stopped by Ctrl-C";
        } else if (seconds(last_sign_) > subject_.quiet)
            run_.stuck = fmt::format("no worker did anything for {:g} s", subject_.quiet);
        else if (seconds(run_.began) > subject_.limit)
            run_.stuck = fmt::format("not over after {:g} s", subject_.limit);
        return run_.over || !run_.stuck.empty();
    }

    void take(std::vector<WorkerEvent>&& events, Moment now) {
        for (WorkerEvent& event : events) {
            last_sign_ = now;
            of_job_.insert(event.pid);
            if (event.kind == EventKind::fault) {
                pulled(event.at, event.step);
                if (event.does == ActionKind::kill || event.does == ActionKind::raise) hit(event.unit);
                if (event.does == ActionKind::kill) hit_pids_.insert(event.pid);
                if (event.does == ActionKind::stop) {  // the framework may kill it, as promised
                    hit(event.unit);
                    hit_pids_.insert(event.pid);
                    wakes_.push_back({event.at + static_cast<Moment>(event.seconds * 1e9), event.pid});
                }
                ++done_by_workers_;
            }
            if (fault_ && event.kind == EventKind::phase) pull_outside(event, now);
            run_.events.push_back(std::move(event));
        }
    }

    void hit(int unit) {
        if (std::count(run_.hit.begin(), run_.hit.end(), unit) == 0) run_.hit.push_back(unit);
    }

    void pulled(Moment at, int step) {
        run_.fault_step = std::max(run_.fault_step, step);
        run_.last_fault = std::max(run_.last_fault.value_or(at), at);
    }

    void pull_outside(const WorkerEvent& event, Moment now) {
        for (std::size_t i = 0; i < fault_->actions.size(); ++i) {
            const FaultAction& action = fault_->actions[i];
            if (action.on == Target::worker || done_.contains(i) || event.phase != action.phase ||
                event.step < action.step)
                continue;
            done_.insert(i);
            pulled(now, event.step);
            pull(action, now);
        }
    }

    void pull(const FaultAction& action, Moment now) {
        bool did = true;
        switch (action.on) {
            case Target::checkpoint:
                did = tear_newest(place_.directory / "checkpoints");
                break;
            case Target::link:
                did = link(action.number, false);
                break;
            case Target::node:
                did = processes_->lose_node(action.number, now, action.back) > 0;
                break;
            case Target::worker:
            case Target::coordinator:
            case Target::agent:
                did = processes_->kill_role(role_of(action.on), action.number, now, action.back);
                break;
        }
        if (action.on == Target::node || action.on == Target::agent) hit(action.number);
        if (action.on == Target::link && action.seconds > 0)
            mends_.push_back({now + static_cast<Moment>(action.seconds * 1e9), action.number});
        if (!did)
            run_.unpulled = fmt::format("there was no {} {} to {}", scenarios::enum_name(action.on),
                                        action.number, scenarios::enum_name(action.does));
    }

    // Also deletes the node's checkpoints, if the subject keeps any on node disks.
    bool lose_node(const FaultAction& action, Moment now) {
        const int ended = processes_->lose_node(action.number, now, action.back);
        std::error_code ignored;
        fs::remove_all(place_.directory / "checkpoints" / fmt::format("node{}", action.number), ignored);
        return ended > 0;
    }

    bool link(int node, bool up) {
        const auto answer = results::processes::run_bounded(
            {"ip", "-n", network_->of(-1), "link", "set", fmt::format("port{}", node), up ? "up" : "down"},
            {.time = std::chrono::seconds(10)});
        return answer && answer->well();
    }

    void do_due(Moment now) {
        std::erase_if(wakes_, [&](const auto& wake) {
            return now >= wake.first && (kill(wake.second, SIGCONT), true);
        });
        std::erase_if(mends_,
                      [&](const auto& mend) { return now >= mend.first && (link(mend.second, true), true); });
        if (!wakes_.empty() || !mends_.empty()) last_sign_ = now;
    }

    void note_unpulled_actions() {
        std::size_t of_workers = 0;
        for (const FaultAction& action : fault_->actions) of_workers += action.on == Target::worker ? 1 : 0;
        const std::size_t outside = fault_->actions.size() - of_workers;
        if (run_.unpulled.empty() && (done_by_workers_ < of_workers || done_.size() < outside))
            run_.unpulled = fmt::format("{} of {} actions of the fault met their moment",
                                        done_by_workers_ + done_.size(), fault_->actions.size());
    }

    const PromiseSubject& subject_;
    const PromisedFault* fault_;
    const PlayPlace& place_;
    std::string mark_;
    Followed events_;
    std::optional<Namespaces> network_;
    std::map<std::string, int> ports_;
    Processes* processes_ = nullptr;
    PlayedRun run_;
    Moment last_sign_ = 0;
    std::set<std::size_t> done_;
    std::size_t done_by_workers_ = 0;
    std::set<int> hit_pids_, of_job_;  // process ids
    Starvation starvation_;
    Moment next_look_ = 0;
    std::vector<std::pair<Moment, int>> wakes_, mends_;
};

}  // namespace

Result<PlayedRun> play_promise(const PromiseSubject& subject, const PromisedFault* fault,
                               const PlayPlace& place) {
    return Play(subject, fault, place)();
}

std::string cannot_have(const PromiseSubject& subject, const PromisedFault& fault) {
    const auto how_many = [&](auto&& which) {
        return std::count_if(subject.processes.begin(), subject.processes.end(), which);
    };
    for (const FaultAction& action : fault.actions) {
        if (action.on == Target::worker && action.number >= subject.workers)
            return fmt::format("it has no worker {}", action.number);
        if (action.on == Target::node || action.on == Target::link) {
            if (how_many([&](const SubjectProcess& one) { return one.node == action.number; }) == 0)
                return "it has one node";
        } else if (action.on == Target::coordinator || action.on == Target::agent) {
            if (how_many([&](const SubjectProcess& one) { return one.role == role_of(action.on); }) <=
                action.number)
                return fmt::format("it has no {}{} of its own", action.number == 0 ? "" : "second ",
                                   scenarios::enum_name(action.on));
        }
    }
    return {};
}

}  // namespace deadrank::runners::promises

// runners/find/determinism_check.cpp — Does a run repeat exactly: on another thread, in another process,
// after other runs?
#include "runners/find/determinism_check.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <thread>

#include "results/processes/bounded.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners::find {

scenarios::Result<std::string> output_of(const std::vector<std::string>& command,
                                         const std::atomic<bool>& stop) {
    auto bounds = results::processes::Bounds::none([&stop] { return stop.load(); });
    bounds.grace = std::chrono::seconds(5);
    auto answer = results::processes::run_bounded(command, bounds);
    if (!answer) return tl::unexpected(answer.error());
    if (stop || answer->well()) return std::move(answer->out);
    return scenarios::refuse(
        scenarios::ErrorCode::environment,
        fmt::format("the other process {}: {}", answer->how(),
                    answer->err.empty() ? "no error message" : answer->err.substr(0, answer->err.find('\n'))),
        "run `deadrank run` on the same scenarios and see");
}

// ── The same runner plays the second run right after the first, so that state left behind by a run would
// show.

namespace {

using scenarios::Variant;
using Prints = std::map<std::pair<std::string, std::uint64_t>, TrialDigest>;  // by scenario and seed

const scenarios::Plan& plan_of(const scenarios::Trial& trial, Variant variant) {
    return variant == Variant::control  ? trial.control
           : variant == Variant::healed ? trial.healed
                                        : trial.fault;
}

const std::atomic<bool>& stop_of(const CheckOptions& options) {
    static const std::atomic<bool> never = false;
    return options.line.stop ? *options.line.stop : never;
}

bool stopped(const CheckOptions& options) { return stop_of(options).load(); }

Workers workers_of(const MakeRunner& make_runner, const CheckOptions& options) {
    return {make_runner, options.threads, options.line.stop, options.progress};
}

// Runs the other process over all trials, while we play them here.
class Other {
public:
    Other(const OtherProcess& elsewhere, const CheckOptions& options)
        : thread_([this, command = elsewhere.prints(), &options] {
              output_ = output_of(command, stop_of(options));
          }) {}
    ~Other() {
        if (thread_.joinable()) thread_.join();
    }

    // Waits for the other process.
    scenarios::Result<Prints> prints() {
        thread_.join();
        if (!output_) return tl::unexpected(output_.error());
        Prints prints;
        for (std::size_t at = 0; at < output_->size();) {
            const std::size_t end = std::min(output_->find('\n', at), output_->size());
            if (auto print = parse_trial_digest(std::string_view(*output_).substr(at, end - at)))
                prints[{print->scenario, print->seed}] = std::move(*print);
            at = end + 1;
        }
        return prints;
    }

private:
    scenarios::Result<std::string> output_ = scenarios::refuse(scenarios::ErrorCode::internal, "not run");
    std::thread thread_;
};

class Check {
public:
    Check(const std::vector<Job>& jobs, const MakeRunner& make_runner,
          const scenarios::Vocabulary& vocabulary, const OtherProcess& elsewhere, const CheckOptions& options)
        : jobs_(jobs),
          make_runner_(make_runner),
          vocabulary_(vocabulary),
          elsewhere_(elsewhere),
          options_(options),
          checked_(jobs.size()),
          played_(jobs.size(), 0) {}

    std::vector<Checked> all() {
        Other other(elsewhere_, options_);
        for_each_index(jobs_.size(), workers_of(make_runner_, options_),
                       [&](std::size_t at, Runner& runner) { compare_here(at, runner); });
        const auto theirs = other.prints();
        const std::unique_ptr<Runner> runner = make_runner_();
        std::vector<Checked> kept;
        for (std::size_t at = 0; at < jobs_.size(); ++at) {
            if (played_[at] == 0) continue;
            const bool compared = checked_[at].outcome != Checked::same || compare_with(at, theirs, *runner);
            if (compared) kept.push_back(std::move(checked_[at]));
        }
        return kept;
    }

private:
    void compare_here(std::size_t at, Runner& runner) {
        const Job& job = jobs_[at];
        Checked& checked = checked_[at];
        const auto once = [&] { return play(*job.scenario, job.seed, runner, vocabulary_, options_.line); };
        Trialled first = once();
        checked.print = digest_trial(first);
        if (!first.fault) {
            checked.reason = first.outcome.reason;
        } else if (const auto differs = disagreement(checked.print, digest_trial(once()))) {
            checked.outcome = Checked::differs;
            checked.against = "the second run here";
            checked.what = *differs;
            locate(checked, job, runner, [&](const Window& window) {
                return trace_one(job, differs->variant, window, runner, vocabulary_, options_.line);
            });
        } else {
            checked.outcome = Checked::same;
        }
        played_[at] = stopped(options_) ? 0 : 1;
    }

    // False if a stop kept the other process from playing it.
    bool compare_with(std::size_t at, const scenarios::Result<Prints>& theirs, Runner& runner) {
        const Job& job = jobs_[at];
        Checked& checked = checked_[at];
        const auto unknown = [&](std::string reason) {
            checked.outcome = Checked::unknown;
            checked.reason = std::move(reason);
            return !stopped(options_);
        };
        if (!theirs) return unknown(theirs.error().text());
        const auto found = theirs->find({checked.print.scenario, checked.print.seed});
        if (found == theirs->end()) return unknown("the other process did not play it");
        const auto differs = disagreement(checked.print, found->second);
        if (!differs) return true;
        checked.outcome = Checked::differs;
        checked.against = "the run in another process";
        checked.what = *differs;
        locate(checked, job, runner, [&](const Window& window) -> scenarios::Result<Traced> {
            const auto output = output_of(elsewhere_.trace(job, differs->variant, window), stop_of(options_));
            if (!output) return tl::unexpected(output.error());
            if (auto traced = traced_from_line(std::string_view(*output).substr(0, output->find('\n'))))
                return std::move(*traced);
            return scenarios::refuse(scenarios::ErrorCode::internal, "the other process gave no trace");
        });
        return true;
    }

    void locate(Checked& checked, const Job& job, Runner& runner, const Tracer& other) {
        if (checked.what.what != "events") return;
        const Tracer here = [&](const Window& window) {
            return trace_one(job, checked.what.variant, window, runner, vocabulary_, options_.line);
        };
        auto divergence = find_first_divergence(here, other);
        if (!divergence) {
            checked.reason = divergence.error().text();
        } else if (*divergence) {
            checked.divergence = std::move(**divergence);
        } else {
            checked.reason = "played again, the runs were the same: it does not differ every time";
        }
    }

    const std::vector<Job>& jobs_;
    const MakeRunner& make_runner_;
    const scenarios::Vocabulary& vocabulary_;
    const OtherProcess& elsewhere_;
    const CheckOptions& options_;
    std::vector<Checked> checked_;
    std::vector<char> played_;  // not bool: several threads write neighbouring elements
};

}  // namespace

void print_all(const std::vector<Job>& jobs, const MakeRunner& make_runner,
               const scenarios::Vocabulary& vocabulary, const CheckOptions& options,
               const std::function<void(const TrialDigest&)>& take) {
    std::mutex mutex;
    for_each_index(jobs.size(), workers_of(make_runner, options), [&](std::size_t at, Runner& runner) {
        const TrialDigest print =
            digest_trial(play(*jobs[at].scenario, jobs[at].seed, runner, vocabulary, options.line));
        if (stopped(options)) return;  // it was cut short
        const std::lock_guard lock(mutex);
        take(print);
    });
}

std::vector<Checked> check_all(const std::vector<Job>& jobs, const MakeRunner& make_runner,
                               const scenarios::Vocabulary& vocabulary, const OtherProcess& elsewhere,
                               const CheckOptions& options) {
    return Check(jobs, make_runner, vocabulary, elsewhere, options).all();
}

scenarios::Result<Traced> trace_one(const Job& job, Variant variant, const Window& window, Runner& runner,
                                    const scenarios::Vocabulary& vocabulary, const PipelineOptions& options) {
    const auto trial = scenarios::resolve(*job.scenario, job.seed, runner.capabilities(), vocabulary);
    if (!trial) return tl::unexpected(trial.error());
    RunOptions how;
    if (options.explore_order) how.order_seed = job.seed.number;
    how.stop = options.stop;
    how.watch_first = window.first;
    how.watch_last = window.last;
    const auto record = runner.run(plan_of(*trial, variant), how);
    if (!record) return tl::unexpected(record.error());
    return traced(*record);
}

}  // namespace deadrank::runners::find

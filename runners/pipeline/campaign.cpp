// runners/pipeline/campaign.cpp — Plays many scenarios under many seeds on several threads; outcomes arrive
// in the order asked for.
#include "runners/pipeline/campaign.h"

#include <map>
#include <mutex>
#include <vector>

namespace deadrank::runners {

// An outcome waits until all before it were taken.

namespace {

// Passes outcomes on in order, one at a time, whichever thread brings them.
class InOrder {
public:
    explicit InOrder(const std::function<void(results::Case&&)>& take) : take_(take) {}

    void bring(std::size_t index, results::Case&& outcome) {
        const std::lock_guard lock(mutex_);
        waiting_.emplace(index, std::move(outcome));
        for (auto next = waiting_.find(next_); next != waiting_.end(); next = waiting_.find(next_)) {
            take_(std::move(next->second));
            waiting_.erase(next);
            ++next_;
        }
    }

    // After a stop there may be gaps.
    void finish() {
        for (auto& [index, outcome] : waiting_) take_(std::move(outcome));
        waiting_.clear();
    }

private:
    const std::function<void(results::Case&&)>& take_;
    std::mutex mutex_;
    std::map<std::size_t, results::Case> waiting_;
    std::size_t next_ = 0;
};

}  // namespace

std::size_t play_all(const std::vector<Job>& jobs, const MakeRunner& make_runner,
                     const scenarios::Vocabulary& vocabulary, const CampaignOptions& options,
                     const std::function<void(results::Case&&)>& take) {
    InOrder in_order(take);
    const Workers workers{make_runner, options.threads, options.line.stop, options.progress};
    const std::size_t played = for_each_index(jobs.size(), workers, [&](std::size_t index, Runner& runner) {
        const Job& job = jobs[index];
        Trialled trial = play(*job.scenario, job.seed, runner, vocabulary, options.line);
        if (options.seen) options.seen(index, trial);
        in_order.bring(index, std::move(trial.outcome));
    });
    in_order.finish();
    return played;
}

}  // namespace deadrank::runners

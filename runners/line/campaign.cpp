// runners/line/campaign.cpp — Many scenarios under many seeds, on several threads; what comes of them arrives
// in the order asked for.
#include "runners/line/campaign.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace deadrank::runners::find {

// A shared counter hands out the indices.

std::size_t for_each_index(std::size_t count, const Workers& workers,
                           const std::function<void(std::size_t, Runner&)>& work) {
    std::atomic<std::size_t> next = 0, done = 0;
    const auto loop = [&] {
        const std::unique_ptr<Runner> runner = workers.make_runner();
        const auto stopped = [&] { return workers.stop && workers.stop->load(); };
        for (std::size_t index = next++; index < count && !stopped(); index = next++) {
            work(index, *runner);
            const std::size_t now = ++done;
            if (workers.progress) workers.progress(now, count);
        }
    };
    const auto threads = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(workers.threads, 1)), 1,
                                                 std::max<std::size_t>(count, 1));
    std::vector<std::thread> helpers;
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(loop);
    loop();
    for (std::thread& helper : helpers) helper.join();
    return done;
}

}  // namespace deadrank::runners::find

namespace deadrank::runners {

// A shared counter hands out the jobs; results wait until all before them were taken.

namespace {

// Lets outcomes through in order, whoever brings them. One at a time.
class InOrder {
public:
    InOrder(std::size_t all, const std::function<void(results::Case&&)>& take,
            const std::function<void(std::size_t, std::size_t)>& progress)
        : all_(all), take_(take), progress_(progress) {}

    void bring(std::size_t index, results::Case&& outcome) {
        const std::lock_guard lock(mutex_);
        waiting_.emplace(index, std::move(outcome));
        ++done_;
        if (progress_) progress_(done_, all_);
        for (auto next = waiting_.find(next_); next != waiting_.end(); next = waiting_.find(next_)) {
            take_(std::move(next->second));
            waiting_.erase(next);
            ++next_;
        }
    }

    // After a stop there may be gaps.
    std::size_t finish() {
        for (auto& [index, outcome] : waiting_) take_(std::move(outcome));
        waiting_.clear();
        return done_;
    }

private:
    const std::size_t all_;
    const std::function<void(results::Case&&)>& take_;
    const std::function<void(std::size_t, std::size_t)>& progress_;
    std::mutex mutex_;
    std::map<std::size_t, results::Case> waiting_;
    std::size_t next_ = 0;
    std::size_t done_ = 0;
};

}  // namespace

std::size_t play_all(const std::vector<Job>& jobs,
                     const std::function<std::unique_ptr<Runner>()>& make_runner,
                     const scenarios::Vocabulary& vocabulary, const CampaignOptions& options,
                     const std::function<void(results::Case&&)>& take) {
    InOrder in_order(jobs.size(), take, options.progress);
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        const std::unique_ptr<Runner> runner = make_runner();
        const auto stopped = [&] { return options.line.stop && options.line.stop->load(); };
        for (std::size_t index = next++; index < jobs.size() && !stopped(); index = next++) {
            const Job& job = jobs[index];
            Trialled trial = play(*job.scenario, job.seed, *runner, vocabulary, options.line);
            if (options.seen) options.seen(index, trial);
            in_order.bring(index, std::move(trial.outcome));
        }
    };
    const auto wanted = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(options.threads, 1)), 1,
                                                std::max<std::size_t>(jobs.size(), 1));
    std::vector<std::thread> helpers;
    for (std::size_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
    return in_order.finish();
}

}  // namespace deadrank::runners

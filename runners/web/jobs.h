// runners/web/jobs.h — Runs of this program as child processes, a few at a time, bounded in time and output.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "results/processes/bounded.h"
#include "results/processes/private_directory.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::web {

struct JobLimits {
    std::chrono::seconds time{120};  // of one job
    std::size_t output = 32u << 20;  // bytes of its stdout and stderr
    std::size_t at_once = 2;         // jobs that run
    std::size_t waiting_most = 32;   // further ones are refused
    std::size_t kept = 24;           // of those that have ended; the files of older ones are removed
};

enum class JobState { waiting, running, done, failed, cancelled, out_of_time };
std::string_view name_of(JobState state);

// What a job does, as its order names it.
enum class JobKind { run, sweep, shrink, probe };
constexpr auto enum_words(JobKind) {
    return std::to_array<std::string_view>({"run", "sweep", "shrink", "probe"});
}

// What is done: a command line of this program, and the directory that its files are in.
struct JobOrder {
    JobKind kind = JobKind::run;
    std::vector<std::string> argv;
    results::processes::PrivateDirectory place;
};

struct JobView {
    int number = 0;
    JobKind kind = JobKind::run;
    JobState state = JobState::waiting;
    std::size_t ahead = 0;  // of one that waits: how many are played before it
    double seconds = 0;     // so far
    std::string progress;   // the newest line of it while it runs
    std::string trouble;    // why it has no result: of failed, cancelled and out_of_time
    int code = 0;           // exit code of one that is done
};

// Safe to use from several threads. The destructor ends all jobs and their processes.
class Jobs {
public:
    // What a job that is done wrote to its standard output, and where its files are. They stay there as long
    // as the result is held.
    struct Result {
        JobKind kind = JobKind::run;
        std::string out;
        results::processes::PrivateDirectory place;
    };
    using Done = std::function<void(const std::shared_ptr<const Result>&)>;

    // `done` is called for each job that has a result, on the thread that played it.
    explicit Jobs(const JobLimits& limits, Done done = {});
    ~Jobs();
    Jobs(const Jobs&) = delete;
    Jobs& operator=(const Jobs&) = delete;

    // Its number. Errors: internal, if too many wait already.
    scenarios::Result<int> add(JobOrder order);
    std::optional<JobView> find(int number) const;
    // Returns false if there is no such job. One that has ended stays as it is.
    bool cancel(int number);

    // Null if it has no result.
    std::shared_ptr<const Result> result(int number) const;

private:
    struct Job;
    void work();
    void play(Job& job);
    void forget_old();
    std::shared_ptr<Job> next();
    std::shared_ptr<Job> job(int number) const;

    const JobLimits limits_;
    const Done done_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::list<std::shared_ptr<Job>> jobs_;  // by number
    int last_number_ = 0;
    std::atomic<bool> closing_{false};
    std::vector<std::thread> workers_;
};

}  // namespace deadrank::runners::web

// runners/web/jobs.cpp — Runs of this program as child processes, a few at a time, bounded in time and
// output.
#include "runners/web/jobs.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "scenarios/model/document.h"
#include "scenarios/model/text.h"

namespace deadrank::runners::web {

using results::processes::BoundedAnswer;
using results::processes::Bounds;
using results::processes::Ending;
using Clock = std::chrono::steady_clock;

std::string_view name_of(JobState state) {
    static constexpr std::array<std::string_view, 6> names = {"waiting", "running",   "done",
                                                              "failed",  "cancelled", "out_of_time"};
    return names.at(static_cast<std::size_t>(state));
}

struct Jobs::Job {
    int number = 0;
    JobKind kind = JobKind::run;
    std::vector<std::string> argv;
    std::optional<results::processes::PrivateDirectory> place;  // until the result has it
    std::atomic<bool> cancelled{false};
    // Under the jobs' mutex:
    JobState state = JobState::waiting;
    Clock::time_point begin{};
    double seconds = 0;
    std::string trouble;
    int code = 0;
    std::shared_ptr<const Result> result;

    bool ended() const { return state != JobState::waiting && state != JobState::running; }
};

namespace {

// Where a command writes what it is at.
std::string progress_of(const std::filesystem::path& place) { return place / "progress"; }

std::string progress_line(const std::filesystem::path& place) {
    constexpr std::size_t most = 200;
    std::string line = scenarios::read_text(progress_of(place)).value_or("");
    line = std::string(scenarios::trimmed(line.substr(0, line.find('\n'))));
    return line.substr(0, most);
}

// The error as the person wrote the scenario: without the directory that it was put into.
std::string without_path(std::string text, const std::filesystem::path& place) {
    const std::string prefix = place.string() + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at))
        text.erase(at, prefix.size());
    return text;
}

JobState state_after(const BoundedAnswer& answer, bool cancelled) {
    if (cancelled) return JobState::cancelled;
    if (answer.ending == Ending::out_of_time) return JobState::out_of_time;
    const bool judged = answer.ending == Ending::by_itself && answer.code >= 0 && answer.code <= 2;
    return judged && !answer.out.empty() ? JobState::done : JobState::failed;
}

std::string trouble_of(const BoundedAnswer& answer, JobState state, const std::filesystem::path& place) {
    constexpr std::size_t most = 4'000;
    switch (state) {
        case JobState::done:
            return {};
        case JobState::cancelled:
            return "cancelled";
        case JobState::out_of_time:
            return fmt::format("it {}: a run may take no longer here", answer.how());
        default:
            break;
    }
    std::string words = without_path(answer.err, place);
    if (words.size() > most) words = "…" + words.substr(words.size() - most);
    const bool told = answer.ending == Ending::by_itself && !words.empty();
    return told ? words : fmt::format("it {}\n{}", answer.how(), words);
}

}  // namespace

Jobs::Jobs(const JobLimits& limits, Done done) : limits_(limits), done_(std::move(done)) {
    for (std::size_t i = 0; i < limits_.at_once; ++i) workers_.emplace_back([this] { work(); });
}

Jobs::~Jobs() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

scenarios::Result<int> Jobs::add(JobOrder order) {
    const std::lock_guard lock(mutex_);
    const auto waiting = std::count_if(jobs_.begin(), jobs_.end(),
                                       [](const auto& one) { return one->state == JobState::waiting; });
    if (static_cast<std::size_t>(waiting) >= limits_.waiting_most) {
        return scenarios::refuse(scenarios::ErrorCode::internal,
                                 fmt::format("{} runs are waiting already", waiting),
                                 "wait until some have ended, or cancel them");
    }
    auto job = std::make_shared<Job>();
    job->number = ++last_number_;
    job->kind = order.kind;
    job->argv = std::move(order.argv);
    job->place = std::move(order.place);
    jobs_.push_back(job);
    forget_old();
    wake_.notify_one();
    return job->number;
}

std::shared_ptr<Jobs::Job> Jobs::job(int number) const {
    const auto found =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& one) { return one->number == number; });
    return found == jobs_.end() ? nullptr : *found;
}

std::optional<JobView> Jobs::find(int number) const {
    const std::lock_guard lock(mutex_);
    const auto found = job(number);
    if (!found) return std::nullopt;
    JobView view{.number = number,
                 .kind = found->kind,
                 .state = found->state,
                 .seconds = found->seconds,
                 .trouble = found->trouble,
                 .code = found->code};
    if (found->state == JobState::running) {
        view.seconds = std::chrono::duration<double>(Clock::now() - found->begin).count();
        view.progress = progress_line(found->place->path());
    }
    if (found->state == JobState::waiting) {
        view.ahead = static_cast<std::size_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& one) {
            return !one->ended() && one->number < number;
        }));
    }
    return view;
}

bool Jobs::cancel(int number) {
    const std::lock_guard lock(mutex_);
    const auto found = job(number);
    if (!found) return false;
    found->cancelled = true;
    if (found->state == JobState::waiting) {
        found->state = JobState::cancelled;
        found->trouble = "cancelled";
        found->place.reset();
    }
    return true;
}

std::shared_ptr<const Jobs::Result> Jobs::result(int number) const {
    const std::lock_guard lock(mutex_);
    const auto found = job(number);
    return found ? found->result : nullptr;
}

void Jobs::forget_old() {
    std::size_t ended = static_cast<std::size_t>(
        std::count_if(jobs_.begin(), jobs_.end(), [](const auto& one) { return one->ended(); }));
    for (auto at = jobs_.begin(); at != jobs_.end() && ended > limits_.kept;) {
        const bool old = (*at)->ended();
        at = old ? jobs_.erase(at) : std::next(at);
        if (old) --ended;
    }
}

std::shared_ptr<Jobs::Job> Jobs::next() {
    const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                    [](const auto& one) { return one->state == JobState::waiting; });
    return found == jobs_.end() ? nullptr : *found;
}

void Jobs::work() {
    for (;;) {
        std::shared_ptr<Job> job;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return closing_.load() || (job = next()) != nullptr; });
            if (closing_) return;
            job->state = JobState::running;
            job->begin = Clock::now();
        }
        play(*job);
        if (done_ && job->result) done_(job->result);
    }
}

void Jobs::play(Job& job) {
    const Bounds bounds{
        .time = limits_.time, .output = limits_.output, .grace = std::chrono::seconds(3), .stopped = [&] {
            return closing_.load() || job.cancelled.load();
        }};
    const auto answer = results::processes::run_bounded(
        job.argv, bounds, {}, {"DEADRANK_PROGRESS=" + progress_of(job.place->path())});
    const std::lock_guard lock(mutex_);
    job.seconds = std::chrono::duration<double>(Clock::now() - job.begin).count();
    if (!answer) {
        job.state = JobState::failed;
        job.trouble = answer.error().text();
        job.place.reset();
        return;
    }
    job.state = state_after(*answer, job.cancelled || closing_);
    job.code = answer->code;
    job.trouble = trouble_of(*answer, job.state, job.place->path());
    if (job.state == JobState::done)
        job.result = std::make_shared<const Result>(Result{job.kind, answer->out, std::move(*job.place)});
    job.place.reset();
}

}  // namespace deadrank::runners::web

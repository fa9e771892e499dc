// runners/watch/watch.cpp — A loop over the hooks' files and the ends of processes. A look takes longer as
// the evidence grows, so looks become rarer: their share of the time stays bounded.
#include "runners/watch/watch.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "results/detectors/detector.h"
#include "results/processes/child.h"
#include "results/record/subject.h"
#include "results/record/words.h"
#include "runners/backends/process/event_reader.h"
#include "runners/backends/process/job_processes.h"
#include "runners/backends/process/launch.h"
#include "runners/watch/hook_channel.h"
#include "scenarios/model/document.h"

namespace deadrank::runners::watch {

namespace fs = std::filesystem;
using results::Rank;
using results::Time;
using namespace std::chrono_literals;

namespace {

constexpr Time first_look = 1s, look_most = 30s;
constexpr std::int64_t look_share = 100;  // looks take at most 1/look_share of the time
constexpr std::size_t events_most = 3'000'000;
constexpr std::int64_t blind_after = 16;  // steps

// What a signal's handler knows: to which process it goes on, and which one was to end the job, as Ctrl-C or
// a scheduler's time limit does.
std::atomic<int> told{0}, end_signal{0};

constexpr auto passed_on = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

void pass_on(int signal) {
    if (signal != SIGUSR1 && signal != SIGUSR2) end_signal = signal;
    if (signal != SIGINT && signal != SIGQUIT) kill(told, signal);  // a terminal sends those to all itself
}

double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Exit status of a process that has ended but was not reaped yet: the kernel still has it.
std::optional<int> status_of_zombie(int pid) {
    std::string text = process_text(pid, "stat");
    const std::size_t name_ends = text.rfind(") ");
    if (name_ends == std::string::npos || text[name_ends + 2] != 'Z') return std::nullopt;
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    return std::atoi(text.c_str() + text.rfind(' ') + 1);
}

struct Process {
    Rank rank = results::no_rank;
    int descriptor = -1;
};

class Watch {
public:
    explicit Watch(const WatchSpec& spec) : spec_(spec), started_(runners::now()) {}
    ~Watch() {
        for (const auto& [pid, process] : processes_) close(process.descriptor);
    }

    scenarios::Result<Watched> run() {
        if (auto begun = begin(); !begun) return tl::unexpected(begun.error());
        while (!wait_for_events()) {
            read();
            if (time() >= next_look_) look(false);
        }
        done_.lasted = time();
        read();
        for (auto& [pid, process] : processes_) see_gone(pid, process);
        record_end();
        look(true);
        done_.rang = standing_.rang;
        note_unwatched_parts();
        return std::move(done_);
    }

private:
    Time time() const { return Time(runners::now() - started_); }

    std::vector<std::string> environment() const {
        std::map<std::string, std::string> job;
        for (const std::string& setting : results::processes::own_environment()) {
            const std::size_t equals = setting.find('=');
            if (equals == std::string::npos || setting.starts_with("DEADRANK_")) continue;
            job[setting.substr(0, equals)] = setting.substr(equals + 1);
        }
        for (const auto& [name, value] : spec_.variables) job[name] = value;
        const std::string path = std::exchange(job["PYTHONPATH"], {});
        job.erase("PYTHONPATH");
        std::vector<std::string> all;
        for (const auto& [name, value] : job) all.push_back(fmt::format("{}={}", name, value));
        all.push_back(fmt::format("PYTHONPATH={}{}{}", spec_.hook.string(), path.empty() ? "" : ":", path));
        all.push_back(fmt::format("DEADRANK_EVIDENCE={}", (spec_.directory / "evidence").string()));
        all.emplace_back("DEADRANK_WATCH=1");
        return all;
    }

    // In our own process group, with our terminal, so that the program is in the foreground as if started
    // directly.
    scenarios::Result<void> begin() {
        std::error_code failed;
        fs::create_directories(spec_.directory / "evidence", failed);
        if (failed)
            return scenarios::refuse(
                scenarios::ErrorCode::io,
                fmt::format("no evidence can be kept in {}: {}", spec_.directory.string(), failed.message()),
                "name another place with --record, or another TMPDIR");
        pipe_.open(spec_.directory / "evidence");
        end_signal = 0;
        for (const int signal : passed_on) std::signal(signal, pass_on);
        auto started =
            results::processes::Child::start({.argv = spec_.command,
                                              .environment = environment(),
                                              .group = results::processes::Command::Group::ours,
                                              .streams = results::processes::Command::Streams::inherited});
        if (!started) {
            scenarios::Error error = started.error();
            error.remedy = "write behind -- what you would write without us";
            return tl::unexpected(error);
        }
        child_ = std::move(*started);
        told = child_->pid();
        return {};
    }

    // True when the command has ended.
    bool wait_for_events() {
        std::vector<pollfd> open;
        for (const auto& [pid, process] : processes_) open.push_back({process.descriptor, POLLIN, 0});
        const Time before = time();
        poll(open.data(), open.size(), 100);
        if (end_signal != 0 && !asked_at_) asked_at_ = before;
        for (const pollfd& one : open) {
            if (one.revents == 0) continue;
            const auto found = std::find_if(processes_.begin(), processes_.end(), [&](const auto& entry) {
                return entry.second.descriptor == one.fd;
            });
            see_gone(found->first, found->second);
            close(one.fd);
            processes_.erase(found);
        }
        const auto& exit = child_->poll();
        if (!exit) return false;
        done_.code = exit->code;
        done_.signal = exit->signal;
        told = 0;
        return true;
    }

    void see_gone(int pid, const Process& process) {
        RankState& state = standing_.ranks[process.rank];
        state.alive = false;
        // The parent may have reaped it before us. Then a rank that said goodbye ended well, and any other
        // failed; of the command itself the status is known.
        const auto status = pid == child_->pid() ? std::nullopt : status_of_zombie(pid);
        results::RankExit exit;
        if (status) {
            exit = {WIFEXITED(*status) ? WEXITSTATUS(*status) : 0,
                    WIFSIGNALED(*status) ? WTERMSIG(*status) : 0};
        } else if (!clean_ends_.contains(pid)) {
            exit = {pid == child_->pid() ? done_.code : 1, pid == child_->pid() ? done_.signal : 0};
        }
        evidence().record({time(), process.rank, exit});
    }

    void read() {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(spec_.directory / "evidence", ignored)) {
            if (entry.path().extension() != ".jsonl") continue;
            follow_.look(entry.path(), [this](std::string_view line) { take(line); });
        }
        pipe_.read([this](std::string_view line) { take(line); });
    }

    void take(std::string_view line) {
        if (line.find("\"kind\": \"hook.") != std::string_view::npos) return handle_hook_message(line);
        if (full_) return;
        if (evidence().events().size() >= events_most) return stop_recording();
        const std::size_t before = evidence().events().size();
        if (!read_event(line, started_, evidence()) || evidence().events().size() == before) {
            unreadable_ += !nlohmann::json::accept(line);
            return;
        }
        const results::Event event = evidence().events().back();
        if (event.rank < 0) return;
        RankState& state = standing_.ranks[event.rank];
        state.last_sign = std::max(state.last_sign, event.at);
        if (const auto* begun = event.as<results::StepBegin>()) begun_[event.rank] = {begun->step, event.at};
        if (const auto* ended = event.as<results::StepEnd>()) {
            state.step = ended->step;
            if (const auto& [step, at] = begun_[event.rank]; step == ended->step)
                state.step_took = event.at - at;
        }
        if (const auto* start = event.as<results::RankStart>()) meet(event.rank, *start);
        if (event.as<results::EvidenceLost>()) state.watched = false;
        if (event.as<results::CommInitEnter>() || event.as<results::RendezvousEnter>()) trains_ = true;
    }

    // A hook's message about itself: its rank is ending normally.
    void handle_hook_message(std::string_view line) {
        if (const std::size_t at = line.find("\"pid\": ");
            line.find("hook.goodbye") != std::string_view::npos && at != std::string_view::npos)
            clean_ends_.insert(std::atoi(line.substr(at + std::strlen("\"pid\": ")).data()));
    }

    void stop_recording() {
        full_ = true;
        for (auto& [rank, state] : standing_.ranks) {
            state.watched = false;
            evidence().record({time(), rank,
                               results::EvidenceLost{evidence().text(
                                   fmt::format("no more than {} events are kept", events_most))}});
        }
    }

    void meet(Rank rank, const results::RankStart& start) {
        const std::string seen = "\n" + std::string(evidence().text(start.environment));
        const auto variable = [&](std::string_view name) {
            const std::size_t at = seen.find(fmt::format("\n{}=", name));
            return at == std::string::npos ? -1 : std::atoi(seen.c_str() + at + name.size() + 2);
        };
        standing_.ranks[rank].alive = standing_.ranks[rank].watched = true;
        world_ = std::max(world_, variable("WORLD_SIZE"));
        const int attempt = variable("TORCHELASTIC_RESTART_COUNT");
        if (attempt > attempt_) {
            attempt_ = attempt;
            evidence().record({evidence().events().back().at, results::no_rank,
                               results::Restart{attempt, evidence().text("a rank failed")}});
        }
        const int descriptor = results::processes::open_pidfd(start.pid);
        if (descriptor >= 0 && !processes_.contains(start.pid)) processes_[start.pid] = {rank, descriptor};
        if (world_ > 0 && !job_reported_) {
            job_reported_ = true;
            const std::string name = fs::path(spec_.command.front()).filename().string();
            evidence().record(
                {Time(0), results::no_rank,
                 results::JobStart{world_, 1, world_,
                                   evidence().text(results::subject_lines({name, name, "", {}}))}});
        }
    }

    void record_end() {
        const int code = done_.signal ? 128 + done_.signal : done_.code;
        evidence().record(
            {time(), results::no_rank,
             results::JobStop{code, evidence().text(code ? "a rank failed" : "all ranks ended")}});
    }

    // On one machine of a larger job, ranks elsewhere cannot be told from ranks that never came.
    bool whole() const {
        return world_ <= 0 || static_cast<int>(standing_.ranks.size()) >= world_ || time() < 120s;
    }

    void look(bool last) {
        const Time began = time();
        evidence().finish(began);
        standing_.now = began;
        std::vector<results::Finding> found;
        if (whole() && trains_) found = results::detect(evidence(), detectors_);
        // Before the last look, ring only for what two looks in a row show: files are not all read at the
        // same instant.
        std::set<std::string> now;
        for (const results::Finding& finding : found) {
            if (asked_at_ && finding.at >= *asked_at_) continue;  // what somebody's order to end leads to
            const std::string key = fmt::format("{} {}", finding.symptom, finding.blame.text());
            now.insert(key);
            if ((last || seen_.contains(key)) && known_.insert(finding.symptom).second) ring(finding);
        }
        seen_ = std::move(now);
        report_differing_settings();
        report_blind_spots(last);
        standing_.own_seconds = processor_seconds();
        if (spec_.stand) spec_.stand(standing_);
        next_look_ = time() + std::clamp(Time((time() - began).count() * look_share), first_look, look_most);
    }

    // Only once all ranks are there: one that has not started yet would differ in every setting.
    void report_differing_settings() {
        if (world_ < 2 || static_cast<int>(standing_.ranks.size()) < world_ || !trains_) return;
        for (std::string& says : results::differing_settings(evidence())) {
            const std::string name = says.substr(0, std::min(says.find(": "), says.find(" is ")));
            if (!told_.insert(name).second) continue;
            if (spec_.tell) spec_.tell(says);
            done_.differing.push_back(std::move(says));
        }
    }

    // Once a program has taken some steps: it may run for weeks.
    void report_blind_spots(bool last) {
        const auto far = [](const auto& one) { return one.second.step >= blind_after; };
        if (!last && (blind_reported_ || std::none_of(standing_.ranks.begin(), standing_.ranks.end(), far)))
            return;
        blind_reported_ = true;
        for (std::string& spot : results::blind_spots(evidence())) {
            if (!told_.insert(spot).second) continue;
            spot = "blind: " + spot;
            last || !spec_.note ? done_.notes.push_back(spot) : spec_.note(spot);
        }
    }

    void ring(const results::Finding& finding) {
        standing_.rang.push_back(finding);
        Ringing ringing{finding, ""};
        if (finding.symptom.ends_with("_hang"))
            ringing.stacks = stacks_of(spec_.directory / "evidence", finding.blame.ranks);
        spec_.ring(ringing);
    }

    void note_unwatched_parts() {
        const auto note = [&](std::string words) { done_.notes.push_back(std::move(words)); };
        for (std::string& lost : results::lost_evidence(evidence())) note(std::move(lost));
        if (unreadable_ > 0)
            note(fmt::format("evidence is missing: {} of it could not be read",
                             results::counted(unreadable_, "line")));
        done_.nothing = standing_.ranks.empty() || !trains_;
        const int code = done_.signal != 0 ? 128 + done_.signal : done_.code;
        if (standing_.ranks.empty() && code != 0) {
            note(
                fmt::format("nothing was watched: the command itself ended with code {} after {}, before any "
                            "Python process with a RANK was started",
                            code, results::duration_text(done_.lasted)));
        } else if (standing_.ranks.empty()) {
            note(fmt::format(
                "nothing was watched in {}: no Python process with a RANK was started, as torchrun, "
                "accelerate and deepspeed start them",
                results::duration_text(done_.lasted)));
        } else if (!trains_) {
            note("nothing was watched: no rank opened a process group of torch.distributed");
        }
        if (asked_at_)
            note(fmt::format("the job was asked to end by {} after {}: what followed was not judged",
                             results::signal_name(end_signal), results::duration_text(*asked_at_)));
        if (!whole())
            note(fmt::format("{} of {} ranks ran here: what concerns all of them was not looked at",
                             standing_.ranks.size(), world_));
    }

    results::Evidence& evidence() { return done_.evidence; }

    const WatchSpec& spec_;
    Nanoseconds started_;
    std::optional<results::processes::Child> child_;
    int world_ = 0, attempt_ = 0;
    bool job_reported_ = false, blind_reported_ = false, trains_ = false, full_ = false;
    Follow follow_{Follow::Fills::through_memory};
    results::Detectors detectors_ = results::all_detectors();
    std::map<int, Process> processes_;
    std::set<int> clean_ends_;
    std::map<Rank, std::pair<std::int64_t, Time>> begun_;
    std::set<std::string> seen_, known_, told_;
    HookPipe pipe_;
    std::size_t unreadable_ = 0;  // lines that were cut short
    Time next_look_ = first_look;
    std::optional<Time> asked_at_;
    JobStatus standing_;
    Watched done_;
};

}  // namespace

scenarios::Result<Watched> watch(const WatchSpec& spec) { return Watch(spec).run(); }

}  // namespace deadrank::runners::watch

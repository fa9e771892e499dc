// inject/shims/core/session.cpp — One process under a shim: who it is, its plan, its evidence file.
#include "inject/shims/core/session.h"

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <spawn.h>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace deadrank::inject::shims {

// ── Signals to oneself, and waits.

void kill_process(int signal) { ::kill(::getpid(), signal); }

// Without the handlers of the program, which might still talk to its peers.
void leave_process(int code, const std::string& says) {
    if (!says.empty()) std::fprintf(stderr, "%s\n", says.c_str());
    std::fflush(nullptr);
    ::_exit(code);
}

void stop_process(std::int64_t nanoseconds) {
    if (nanoseconds >= 0) {
        const std::string wake = "sleep " + std::to_string(static_cast<double>(nanoseconds) / 1e9) +
                                 "; kill -CONT " + std::to_string(::getpid());
        const char* const arguments[] = {"/bin/sh", "-c", wake.c_str(), nullptr};
        const char* const surroundings[] = {"PATH=/usr/bin:/bin", nullptr};  // no preload in the helper
        pid_t helper = 0;
        ::posix_spawn(&helper, arguments[0], nullptr, nullptr, const_cast<char* const*>(arguments),
                      const_cast<char* const*>(surroundings));
    }
    ::kill(::getpid(), SIGSTOP);
}

void sleep_for(std::int64_t nanoseconds) {
    if (nanoseconds > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
}

void sleep_forever() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// The first variable that holds a whole number wins.
results::Rank rank_of_process() {
    for (const char* name : {"DEADRANK_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
        const char* value = std::getenv(name);
        if (!value) continue;
        const std::string_view text(value);
        results::Rank rank = results::no_rank;
        const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), rank);
        if (trouble == std::errc() && end == text.data() + text.size() && rank >= 0) return rank;
    }
    return results::no_rank;
}

// ── Reads the environment once.

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

std::string file_of(const std::string& directory, Rank rank) {
    return directory.empty() ? "" : directory + "/rank" + std::to_string(rank) + ".jsonl";
}

// Beside the evidence, never in it.
std::string truth_beside(const std::string& directory) {
    if (directory.empty()) return "";
    std::filesystem::path path = std::filesystem::path(directory).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    return (path.parent_path() / "truth").string();
}

}  // namespace

RankSession::RankSession(const ShimPlan& plan, Rank number, const std::string& directory,
                         std::int64_t started)
    : rank(number),
      evidence(file_of(directory, number)),
      truth(file_of(truth_beside(directory), number)),
      faults(plan, number, truth, started) {}

bool Session::wanted() {
    return !variable("DEADRANK_PLAN").empty() || !variable("DEADRANK_EVIDENCE").empty();
}

Session::Session(std::function<void(RankSession&)> greet)
    : directory_(variable("DEADRANK_EVIDENCE")), greet_(std::move(greet)), of_process_(rank_of_process()) {
    const std::string started = variable("DEADRANK_STARTED");
    started_ = started.empty() ? now() : std::strtoll(started.c_str(), nullptr, 10);
    auto plan = read_plan(variable("DEADRANK_PLAN"));
    if (plan) {
        plan_ = std::move(*plan);
    } else {
        std::fprintf(stderr, "deadrank: %s\n", plan.error().text().c_str());
    }
}

RankSession& Session::rank(Rank known) {
    const Rank number = of_process_ >= 0 ? of_process_ : known;
    RankSession* made = nullptr;
    {
        const std::lock_guard lock(guard_);
        auto& found = ranks_[number];
        if (found) return *found;
        found = std::make_unique<RankSession>(plan_, number, number >= 0 ? directory_ : "", started_);
        made = found.get();
    }
    if (greet_) {
        made->faults.begin();
        greet_(*made);
    }
    return *made;
}

}  // namespace deadrank::inject::shims

extern char** environ;

namespace deadrank::inject::shims {

namespace {

// Only variables that steer such jobs: the rest of the environment is the user's.
bool is_job_variable(std::string_view setting) {
    for (const char* start :
         {"NCCL_", "CUDA_VISIBLE", "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "OMPI_COMM_WORLD_", "OMPI_MCA_"}) {
        if (setting.starts_with(start)) return true;
    }
    return false;
}

std::string job_variables() {
    std::string lines;
    for (char** one = environ; one && *one; ++one) {
        if (is_job_variable(*one)) lines += (lines.empty() ? "" : "\n") + std::string(*one);
    }
    return lines;
}

}  // namespace

void greet_rank(RankSession& rank, const std::string& versions, const char* local_rank) {
    if (!rank.evidence.open() || !rank.evidence.empty()) return;
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    const char* local = std::getenv(local_rank);
    Line line("rank.start", rank.rank);
    line.add("pid", ::getpid()).add("node", 0).add("gpu", local ? std::atoi(local) : 0).add("host", host);
    line.add("versions", versions).add("environment", job_variables());
    rank.evidence.write(line);
}

std::string members_text(int ranks) { return ranks > 1 ? "0-" + std::to_string(ranks - 1) : "0"; }

// Counted per thread: a library's own threads are seen at depth 0.
int& Inside::depth() {
    thread_local int depth = 0;
    return depth;
}

}  // namespace deadrank::inject::shims

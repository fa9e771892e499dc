// inject/shims/core/session.cpp — Reads the environment once.
#include "inject/shims/core/session.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "inject/shims/core/rank.h"

namespace deadrank::inject::shims {

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

// runners/backends/process/guard.cpp — Copies are kept beside the journals, not in the run's directory: they
// must outlive it until every file is restored.
#include "runners/backends/process/guard.h"

#include <atomic>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "results/reports/output.h"
#include "runners/backends/process/job_processes.h"
#include "runners/backends/process/kept_files.h"
#include "runners/backends/process/launch.h"
#include "runners/backends/process/scratch.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using results::reports::print_error;
using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

// A killed run stands in the way of the next while files are not given back, or may still be changed.
scenarios::Result<void> nothing_left() {
    const auto left = leftovers();
    if (!left) return tl::unexpected(left.error());
    for (const Leftover& one : *left) {
        for (const UndoAction& action : one.actions) {
            const char* what = nullptr;
            if (action.undo == UndoAction::Undo::restore_kept && keeps_anything(action.of))
                what = "a run that was killed has changed files and could not give them back";
            if (action.undo == UndoAction::Undo::end_marked && any_marked(action.of))
                what = "a run that was killed has left processes that still run";
            if (what)
                return refuse(ErrorCode::environment, what, "run `deadrank undo` first",
                              {one.journal.string()});
        }
    }
    return {};
}

std::atomic<int> held_here = 0;  // by runs of this process, which take turns without a word

int locked(const fs::path& directory, const std::atomic<bool>* stop) {
    using namespace std::chrono_literals;
    const int lock = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const auto began = std::chrono::steady_clock::now();
    for (bool told = false; lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) != 0 && !(stop && stop->load());) {
        if (!told && held_here == 0 && std::chrono::steady_clock::now() - began > 2s) {
            print_error("deadrank: another run uses {}; waiting until it has given its files back\n",
                        directory.string());
            told = true;
        }
        std::this_thread::sleep_for(20ms);
    }
    if (lock >= 0) ++held_here;
    return lock;
}

}  // namespace

scenarios::Result<Guard> Guard::begin(const fs::path& directory, const std::atomic<bool>* stop) {
    if (files_shim().empty()) {
        return refuse(ErrorCode::unsupported,
                      "libdeadrank-files.so is not beside this program, and without it nothing that the "
                      "job overwrites could be given back",
                      "build it: it belongs to the whole build, but not under sanitizers");
    }
    if (auto left = nothing_left(); !left) return tl::unexpected(left.error());
    Guard guard(journal_directory() / fmt::format("{}-{}.kept", getpid(), now()), locked(directory, stop));
    auto journal = Journal::open();
    if (!journal) return tl::unexpected(journal.error());
    guard.journal_.emplace(std::move(*journal));
    auto noted = guard.journal_->note({UndoAction::Undo::restore_kept, guard.directory_.string()});
    if (!noted) return tl::unexpected(noted.error());
    guard.entry_.emplace(std::move(*noted));
    if (auto begun = begin_keeping(guard.directory_); !begun) return tl::unexpected(begun.error());
    return guard;
}

Guard::Guard(Guard&& other) noexcept
    : directory_(std::move(other.directory_)),
      lock_(std::exchange(other.lock_, -1)),
      ended_(std::exchange(other.ended_, true)),
      journal_(std::move(other.journal_)),
      entry_(std::move(other.entry_)) {}

scenarios::Result<RestoreResult> Guard::end() {
    ended_ = true;
    end_keeping(directory_);
    RestoreResult given = give_back(directory_);
    if (!given.whole && entry_) entry_->leave();  // `deadrank undo` may try it again
    if (!given.whole)
        return refuse(ErrorCode::io, given.says, "make room or give the rights, then run `deadrank undo`",
                      {directory_.string()});
    if (!given.lost.empty())
        return refuse(ErrorCode::io, given.lost,
                      "make room where DEADRANK_STATE leads, or let the program write elsewhere",
                      {directory_.string()});
    return given;
}

Guard::~Guard() {
    if (!ended_ && entry_) {
        if (const auto given = end(); !given) print_error("deadrank: {}\n", given.error().text());
    }
    if (lock_ < 0) return;
    ::close(lock_);
    --held_here;
}

}  // namespace deadrank::runners

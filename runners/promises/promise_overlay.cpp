// runners/promises/promise_overlay.cpp — Uses pip install --target, each package at its version and without
// dependencies. The directory is complete or absent, since it is renamed into place.
#include "runners/promises/promise_overlay.h"

#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

#include "results/processes/bounded.h"
#include "runners/backends/process/mpirun.h"

namespace deadrank::runners::promises {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::Result;

namespace {

fs::path cache() {
    const char* stated = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    const fs::path base = stated && *stated ? fs::path(stated) : fs::path(home ? home : "/tmp") / ".cache";
    return base / "deadrank" / "promises";
}

// Python 3.11 with torch 2: the versions in subjects/ were chosen for it.
Result<Python> python_for_subjects() {
    auto python = best_python();
    if (!python) return tl::unexpected(python.error());
    if (python->major() < 2)
        return scenarios::refuse(
            ErrorCode::environment,
            fmt::format("these frameworks need torch 2, and there is {}", python->text()),
            "prepare it with ./dev tools");
    return *python;
}

}  // namespace

fs::path overlay_directory(const PromiseSubject& subject) {
    std::string name = subject.package;
    if (const std::size_t at = name.find("=="); at != std::string::npos) name.replace(at, 2, "-");
    return cache() / name;
}

Result<Overlay> overlay_of(const PromiseSubject& subject) {
    const auto python = python_for_subjects();
    if (!python) return tl::unexpected(python.error());
    Overlay overlay{python->program, {}, python->torch};
    if (subject.package.empty()) return overlay;
    overlay.packages = subject.prepared.empty() ? overlay_directory(subject) : fs::path(subject.prepared);
    std::error_code ignored;
    bool there = fs::is_directory(overlay.packages, ignored);
    for (const std::string& program : subject.programs)
        there = there && fs::exists(overlay.packages / "bin" / program, ignored);
    if (!there)
        return scenarios::refuse(
            ErrorCode::environment,
            fmt::format("{} is not there: no {}", subject.package, overlay.packages.string()),
            fmt::format("fetch it with `deadrank report promises --subject {}{} --prepare`", subject.name,
                        subject.again));
    return overlay;
}

Result<Overlay> prepare_overlay(const PromiseSubject& subject, const std::atomic<bool>* stop) {
    if (auto there = overlay_of(subject); there || subject.package.empty() || !subject.prepared.empty())
        return there;
    const auto python = python_for_subjects();
    if (!python) return tl::unexpected(python.error());
    const fs::path directory = overlay_directory(subject);
    const fs::path fresh = fmt::format("{}.{}", directory.string(), getpid());
    std::error_code trouble;
    fs::create_directories(directory.parent_path(), trouble);
    // pip compiles to bytecode: processes under a fault may write none, and each would compile again.
    std::vector<std::string> command = {
        python->program.string(), "-m",       "pip",          "install",      "--quiet", "--no-deps",
        "--only-binary=:all:",    "--target", fresh.string(), subject.package};
    command.insert(command.end(), subject.packages.begin(), subject.packages.end());
    const auto answer = results::processes::run_bounded(
        command, {.time = std::chrono::minutes(5), .output = 1u << 20, .stopped = [stop] {
                      return stop && stop->load();
                  }});
    if (answer && answer->well()) fs::rename(fresh, directory, trouble);
    fs::remove_all(fresh, trouble);
    if (!answer) return tl::unexpected(answer.error());
    if (!answer->well())
        return scenarios::refuse(ErrorCode::environment,
                                 fmt::format("pip, fetching {}, {}: {}", subject.package, answer->how(),
                                             answer->last_error_text()),
                                 "look at the network, or set PIP_INDEX_URL");
    return overlay_of(subject);
}

}  // namespace deadrank::runners::promises

// runners/promises/promise_overlay.h — A subject's packages, in a separate directory that comes before
// torch's environment, so that one framework's requirements never clash with another's.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "runners/promises/promise_file.h"

namespace deadrank::runners::promises {

struct Overlay {
    std::filesystem::path python, packages;  // packages: empty if the subject is torch itself
    std::string torch;
};

// The directory of a subject's packages, in the cache: deadrank/promises below XDG_CACHE_HOME, else ~/.cache.
std::filesystem::path overlay_directory(const PromiseSubject& subject);

// Errors: environment, with the command that fetches them.
scenarios::Result<Overlay> overlay_of(const PromiseSubject& subject);

// Installs from Python's package index with pip, unless it is already there. Errors: environment.
scenarios::Result<Overlay> prepare_overlay(const PromiseSubject& subject, const std::atomic<bool>* stop);

}  // namespace deadrank::runners::promises

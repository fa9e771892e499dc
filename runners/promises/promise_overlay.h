// runners/promises/promise_overlay.h — A subject's packages: a directory of their own that goes before those
// of torch's environment, so that one release of a framework never meets another's needs.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "runners/promises/promise_file.h"

namespace deadrank::runners::promises {

struct Overlay {
    std::filesystem::path python, packages;  // packages: empty where the subject is torch itself
    std::string torch;
};

// Where the packages of a subject lie, in the cache: XDG_CACHE_HOME, else ~/.cache, then deadrank/promises.
std::filesystem::path overlay_directory(const PromiseSubject& subject);

// Errors: environment, with the command that would help.
scenarios::Result<Overlay> overlay_of(const PromiseSubject& subject);

// From Python's package index, with pip; nothing to do where it is there. Errors: environment.
scenarios::Result<Overlay> prepare_overlay(const PromiseSubject& subject, const std::atomic<bool>* stop);

}  // namespace deadrank::runners::promises

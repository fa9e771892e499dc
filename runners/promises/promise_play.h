// runners/promises/promise_play.h — Plays one run of a subject: starts its processes as a scheduler would,
// breaks what the fault says, and bounds it. Nothing that it started is left running.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "runners/promises/promise_file.h"
#include "runners/promises/promise_history.h"

namespace deadrank::runners::promises {

struct PlayPlace {
    std::filesystem::path home;       // programs/ lies there
    std::filesystem::path directory;  // of this run; made, and kept where the caller wants it
    std::filesystem::path python;
    std::filesystem::path overlay;  // before the Python's own packages; empty = none
    const std::atomic<bool>* stop = nullptr;
};

// `fault`: nullptr for a healthy run. Errors: environment (a program that cannot be started), io; unsupported
// (no network of its own for each node can be had here).
scenarios::Result<PlayedRun> play_promise(const PromiseSubject& subject, const PromisedFault* fault,
                                          const PlayPlace& place);

// Why a subject cannot have this fault at all: it has no such process. Empty = it can.
std::string cannot_have(const PromiseSubject& subject, const PromisedFault& fault);

}  // namespace deadrank::runners::promises

// runners/promises/promise_suite.h — Plays promises: a control for each subject, a run for each promise and
// fault, and the resulting table.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runners/promises/promise_file.h"
#include "runners/promises/promise_history.h"
#include "runners/promises/promise_verdict.h"

namespace deadrank::runners::promises {

// ── Plays one run of a subject: starts its processes as a scheduler would, applies the fault, and enforces
// time limits. Leaves no process running.

struct PlayPlace {
    std::filesystem::path home;       // contains programs/
    std::filesystem::path directory;  // of this run; created here, kept if the caller wants it
    std::filesystem::path python;
    std::filesystem::path overlay;  // takes precedence over the Python's own packages; empty = none
    const std::atomic<bool>* stop = nullptr;
};

// `fault`: nullptr for a healthy run. Errors: environment (a program that cannot be started), io; unsupported
// (this machine cannot give each node its own network).
scenarios::Result<PlayedRun> play_promise(const PromiseSubject& subject, const PromisedFault* fault,
                                          const PlayPlace& place);

// Why a subject cannot have this fault: it has no such process. Empty = it can.
std::string cannot_have(const PromiseSubject& subject, const PromisedFault& fault);

// ── The table of promises as Markdown and as a page, with the command for each cell.

struct PromiseTable {
    const PromiseBook* book = nullptr;
    std::vector<const PromiseSubject*> subjects;
    std::vector<PromiseCell> cells;
    std::vector<std::string> notes;  // what could not be played, and why
    std::string about;               // a sentence above it: of which commit, on which machine
};

std::string promise_markdown(const PromiseTable& table);
std::string promise_page(const PromiseTable& table);  // HTML, no network needed
std::string promise_line(const PromiseCell& cell);    // JSON, ends with a newline

// The table of cells that were played before, from files of such lines. A cell in a later file takes the
// place of an earlier one. Errors: io; bad_input (with file and line): no such line, or a subject or fault
// that is not in the book.
scenarios::Result<PromiseTable> table_of_lines(const PromiseBook& book,
                                               const std::vector<std::filesystem::path>& files);

// ── The whole suite: a control for each subject, a run for each promise and fault.

struct SuiteOptions {
    std::vector<std::string> subjects, faults;  // empty = all
    int runs = 3;                               // of a cell whose first run does not keep the promise
    int healthy = 10;                           // runs without a fault, under load
    bool unpromised = false;                    // also play faults without a promise, to see what happens
    bool prepare = false;                       // fetch missing packages
    std::filesystem::path out;                  // events and logs of every run; empty = not kept
    const std::atomic<bool>* stop = nullptr;
};

// `done` is called for each finished cell. Errors: usage (an unknown name, with the nearest).
scenarios::Result<PromiseTable> play_suite(const PromiseBook& book, const SuiteOptions& options,
                                           const std::function<void(const PromiseCell&)>& done,
                                           const std::function<void(const std::string&)>& progress);

}  // namespace deadrank::runners::promises

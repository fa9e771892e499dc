// runners/promises/promise_verdict.h — A cell of the table of promises: what was promised under a fault, what
// the run's files and processes show, and the verdict.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runners/promises/promise_file.h"
#include "runners/promises/promise_history.h"

namespace deadrank::runners::promises {

enum class Kept { kept, late, broken, not_promised, unknown };
std::string_view text_of(Kept kept);  // "kept", "kept late", "broken", "not promised", "unknown"
std::string_view id_of(Kept kept);    // "kept", "kept_late", …: in JSON

std::optional<Kept> kept_of(std::string_view id);  // from JSON; empty: no such word

struct PromiseVerdict {
    Kept kept = Kept::unknown;
    std::string why;   // unless kept: which ask failed, or why it is unknown
    std::string told;  // what was measured
};

// `control`: a healthy run of the same subject, which finished.
PromiseVerdict verdict_of(const PromiseSubject& subject, const Promise& promise, const PlayedRun& run,
                          const PlayedRun& control);

// A cell, with up to three runs where the first is not kept.
struct PromiseCell {
    std::string subject, fault;
    const Promise* promise = nullptr;  // nullptr: nothing promised
    std::vector<PromiseVerdict> runs;
    std::string again;  // the command that repeats it
    PromiseVerdict worst() const;
    std::string text() const;  // "broken (2 of 3)"
};

// The promise that a subject gives under a fault; nullptr for none.
const Promise* promise_under(const PromiseSubject& subject, std::string_view fault);

// The files and processes of a promised run: reading and counting them from outside, telling workers their
// faults, and truncating a file.

// Reads new complete lines of every file in a directory.
class Followed {
public:
    explicit Followed(std::filesystem::path directory) : directory_(std::move(directory)) {}

    std::vector<WorkerEvent> read();  // by time

private:
    std::filesystem::path directory_;
    std::map<std::filesystem::path, std::streamoff> read_;
};

// The actions that workers do to themselves, for programs/counted_task.py.
std::string list_worker_settings(const PromisedFault& fault);

int files_below(const std::filesystem::path& directory);

// Cuts the newest file in half, as a power loss would. False if there was none.
bool tear_newest(const std::filesystem::path& directory);

// Number of live processes with this mark in their environment, and of adopted orphans that dropped it, after
// up to five seconds for them to end.
int left_after_grace(const std::string& mark);

}  // namespace deadrank::runners::promises

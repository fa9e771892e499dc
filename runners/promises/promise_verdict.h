// runners/promises/promise_verdict.h — A cell of the table of promises: what was promised under a fault, what
// came, and in which of five words that ends.
#pragma once

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

struct Verdict {
    Kept kept = Kept::unknown;
    std::string why;   // of anything but kept: which ask failed, or why it cannot be told
    std::string told;  // what was measured
};

// `control`: a healthy run of the same subject, which finished.
Verdict verdict_of(const PromiseSubject& subject, const Promise& promise, const PlayedRun& run,
                   const PlayedRun& control);

// A cell, with up to three runs where the first is not kept.
struct PromiseCell {
    std::string subject, fault;
    const Promise* promise = nullptr;  // nullptr: none
    std::vector<Verdict> runs;
    std::string again;  // the command that shows it
    Verdict worst() const;
    std::string text() const;  // "broken (2 of 3)"
};

// The promise that a subject gives under a fault; nullptr for none.
const Promise* promise_under(const PromiseSubject& subject, std::string_view fault);

}  // namespace deadrank::runners::promises

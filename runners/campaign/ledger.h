// runners/campaign/ledger.h — The SQLite file of a campaign, and the rows in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "results/judging/case.h"
#include "runners/campaign/children.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::campaign {

// What a campaign keeps of one trial: the answer, equal on every machine, and the time it took here.
struct Answer {
    std::uint64_t number = 0;  // its place in the campaign
    std::string scenario;
    std::uint64_t seed = 1;
    results::Verdict verdict = results::Verdict::unknown;
    std::string reason;
    std::optional<results::Verdict> control, healed;  // none: not played
    std::string findings;         // JSON
    std::string trace_hash;       // empty = the run has none
    std::string token;
    double seconds = 0;  // wall time; no part of the answer

    bool operator==(const Answer&) const = default;
};

Answer answer_of(std::uint64_t number, const results::Case& outcome);

// One line of text, for sending between processes.
std::string text_of(const Answer& answer);
std::optional<Answer> answer_from(const std::string& text);

// A child's answer, or why it gave none. `scenario` and `seed` identify the trial.
Answer answer_of(const Ended& ended, const std::string& scenario, std::uint64_t seed);

// ── A campaign's SQLite file: one row per trial, by number. A killed campaign keeps what was committed; the
// same command resumes it.

struct Totals {
    std::uint64_t trials = 0, passed = 0, failed = 0, unknown = 0;
    std::string digest;           // of all rows in order, without wall times: equal answers, equal digest
    std::vector<Answer> notable;  // the first ten that did not pass
};

class Ledger {
public:
    // Creates the file, or opens the one of the same campaign. `definition`: everything that determines the
    // answers, as text. Errors: usage, when the file belongs to another campaign; io.
    static scenarios::Result<Ledger> open(const std::filesystem::path& file, const std::string& definition);
    Ledger(Ledger&&) noexcept;
    Ledger& operator=(Ledger&&) noexcept;
    ~Ledger();  // commits

    // By number: whether the row exists.
    scenarios::Result<std::vector<bool>> known(std::uint64_t trials) const;

    // `worker`: the rank that played it. Reaches the disk with the next commit, made automatically twice a
    // second.
    scenarios::Result<void> put(const Answer& answer, int worker);
    scenarios::Result<void> commit();
    scenarios::Result<void> settle();  // commit(), if the oldest uncommitted answer waits for half a second
    scenarios::Result<Totals> totals();

private:
    struct Inside;
    explicit Ledger(std::unique_ptr<Inside> inside);
    std::unique_ptr<Inside> inside_;
};

}  // namespace deadrank::runners::campaign

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

namespace deadrank::runners::scale {

// What a campaign keeps of one trial: what every machine would answer, and beside it the time that it took
// here.

struct Answer {
    std::uint64_t number = 0;  // its place in the campaign
    std::string scenario;
    std::uint64_t seed = 1;
    std::string verdict, reason;
    std::string control, healed;  // verdicts; empty = not played
    std::string findings;         // JSON
    std::string trace_hash;       // empty = the run has none
    std::string token;
    double seconds = 0;  // wall time; no part of the answer

    bool operator==(const Answer&) const = default;
};

Answer answer_of(std::uint64_t number, const results::Case& outcome);

// One line, from process to process.
std::string text_of(const Answer& answer);
std::optional<Answer> answer_from(const std::string& text);

// What a child left: its answer, else why there is none. `scenario` and `seed` say which trial it was.
Answer answer_of(const Ended& ended, const std::string& scenario, std::uint64_t seed);

// A campaign's SQLite file: a row a trial, by number. A killed campaign keeps what was committed, and the
// same command goes on from there.

struct Totals {
    std::uint64_t trials = 0, passed = 0, failed = 0, unknown = 0;
    std::string digest;           // of all rows in order without their wall times: equal for equal answers
    std::vector<Answer> notable;  // the first that did not pass, at most ten
};

class Ledger {
public:
    // Creates the file, or opens it where the same campaign began. `definition`: all that decides the
    // answers, as text. Errors: usage, when the file belongs to another campaign; io.
    static scenarios::Result<Ledger> open(const std::filesystem::path& file, const std::string& definition);
    Ledger(Ledger&&) noexcept;
    Ledger& operator=(Ledger&&) noexcept;
    ~Ledger();  // commits

    // By number: whether the row is there.
    scenarios::Result<std::vector<bool>> known(std::uint64_t trials) const;

    // `worker`: the rank that played it. On disk with the next commit, which comes by itself twice a second.
    scenarios::Result<void> put(const Answer& answer, int worker);
    scenarios::Result<void> commit();
    scenarios::Result<Totals> totals();

private:
    struct Inside;
    explicit Ledger(std::unique_ptr<Inside> inside);
    std::unique_ptr<Inside> inside_;
};

}  // namespace deadrank::runners::scale

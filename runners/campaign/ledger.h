// runners/campaign/ledger.h — A campaign's SQLite file: a row a trial, by number. A killed campaign keeps
// what was committed, and the same command goes on from there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runners/campaign/answer.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::scale {

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

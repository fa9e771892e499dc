// runners/campaign/ledger.cpp — The SQLite file of a campaign, and the rows in it.
#include "runners/campaign/ledger.h"

#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>
#include <xxhash.h>

#include "results/reports/json_files.h"

namespace deadrank::runners::campaign {

// ── The same fields as a line of `run --json`.

using nlohmann::ordered_json;

namespace {

using results::Verdict;

std::string text_or_empty(const ordered_json& value) {
    return value.is_string() ? value.get<std::string>() : std::string();
}

std::string word_or_empty(std::optional<Verdict> verdict) {
    return verdict ? std::string(name_of(*verdict)) : std::string();
}

std::optional<Verdict> verdict_of(const std::optional<results::Judgement>& judgement) {
    return judgement ? std::optional(judgement->verdict) : std::nullopt;
}

}  // namespace

Answer answer_of(std::uint64_t number, const results::Case& outcome) {
    const ordered_json line = ordered_json::parse(results::reports::json_line(outcome));
    Answer answer{
        .number = number, .scenario = outcome.scenario, .seed = outcome.seed, .verdict = outcome.verdict};
    answer.reason = text_or_empty(line.at("reason"));
    answer.control = verdict_of(outcome.control);
    answer.healed = verdict_of(outcome.healed);
    answer.findings = line.at("findings").dump();
    answer.trace_hash = text_or_empty(line.at("trace_hash"));
    answer.token = text_or_empty(line.at("token"));
    answer.seconds = outcome.seconds;
    return answer;
}

std::string text_of(const Answer& answer) {
    return ordered_json{answer.number,
                        answer.scenario,
                        answer.seed,
                        name_of(answer.verdict),
                        answer.reason,
                        word_or_empty(answer.control),
                        word_or_empty(answer.healed),
                        answer.findings,
                        answer.trace_hash,
                        answer.token,
                        answer.seconds}
        .dump();
}

std::optional<Answer> answer_from(const std::string& text) {
    const auto fields = nlohmann::json::parse(text, nullptr, false);
    if (!fields.is_array() || fields.size() != 11) return std::nullopt;
    try {
        Answer answer;
        answer.number = fields[0].get<std::uint64_t>();
        answer.scenario = fields[1].get<std::string>();
        answer.seed = fields[2].get<std::uint64_t>();
        const auto verdict = scenarios::read_word<Verdict>(fields[3].get<std::string>());
        if (!verdict) return std::nullopt;
        answer.verdict = *verdict;
        answer.reason = fields[4].get<std::string>();
        answer.control = scenarios::read_word<Verdict>(fields[5].get<std::string>());
        answer.healed = scenarios::read_word<Verdict>(fields[6].get<std::string>());
        answer.findings = fields[7].get<std::string>();
        answer.trace_hash = fields[8].get<std::string>();
        answer.token = fields[9].get<std::string>();
        answer.seconds = fields[10].get<double>();
        return answer;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

Answer answer_of(const Ended& ended, const std::string& scenario, std::uint64_t seed) {
    if (ended.well()) {
        if (auto answer = answer_from(ended.answer)) return *answer;
    }
    Answer none{.number = ended.number, .scenario = scenario, .seed = seed};
    none.findings = "[]";
    none.seconds = ended.seconds;
    if (ended.over_budget) {
        none.reason = "the trial was still running when its time was up, and was ended";
    } else if (ended.signal != 0) {
        none.reason = fmt::format("the trial's process was ended by signal {}", ended.signal);
    } else if (ended.code != 0) {
        none.reason = fmt::format("the trial's process failed: {}", ended.answer);
    } else {
        none.reason = "the trial's process left no answer that can be read";
    }
    return none;
}

// ── A rollback journal, not a write-ahead log: the file may be on a disk shared by several machines. Two
// campaigns on one file write the same rows, and each row's second write is ignored.

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using scenarios::ErrorCode;
using scenarios::Result;

namespace {

constexpr const char* schema =
    "CREATE TABLE IF NOT EXISTS campaign (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS trials (number INTEGER PRIMARY KEY, scenario TEXT NOT NULL,"
    " seed INTEGER NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL, control TEXT NOT NULL,"
    " healed TEXT NOT NULL, findings TEXT NOT NULL, trace_hash TEXT NOT NULL, token TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS effort (number INTEGER PRIMARY KEY, seconds REAL NOT NULL,"
    " worker INTEGER NOT NULL);";
constexpr const char* columns =
    "number, scenario, seed, verdict, reason, control, healed, findings, trace_hash, token";
constexpr auto commit_every = std::chrono::milliseconds(500);
// Another campaign on the file holds it for no longer than that and the time to write.
constexpr int patience = 60'000;  // milliseconds

class Statement {
public:
    Statement(sqlite3* base, const std::string& sql) {
        sqlite3_prepare_v2(base, sql.c_str(), -1, &statement_, nullptr);
    }
    ~Statement() { sqlite3_finalize(statement_); }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    Statement& bind(const std::string& text) {
        sqlite3_bind_text(statement_, ++bound_, text.c_str(), -1, SQLITE_TRANSIENT);
        return *this;
    }
    Statement& bind(std::uint64_t number) {
        sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(number));
        return *this;
    }
    Statement& bind(double number) {
        sqlite3_bind_double(statement_, ++bound_, number);
        return *this;
    }
    bool row() { return (last_ = sqlite3_step(statement_)) == SQLITE_ROW; }
    bool done() { return !row() && last_ == SQLITE_DONE; }
    bool ended_well() const { return last_ == SQLITE_DONE; }
    std::string text(int column) const {
        const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
        return bytes ? bytes : "";
    }
    std::uint64_t number(int column) const {
        return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
    }

private:
    sqlite3_stmt* statement_ = nullptr;
    int bound_ = 0, last_ = SQLITE_ERROR;
};

Answer answer_in(const Statement& row) {
    return {.number = row.number(0),
            .scenario = row.text(1),
            .seed = row.number(2),
            .verdict = scenarios::read_word<Verdict>(row.text(3)).value_or(Verdict::unknown),
            .reason = row.text(4),
            .control = scenarios::read_word<Verdict>(row.text(5)),
            .healed = scenarios::read_word<Verdict>(row.text(6)),
            .findings = row.text(7),
            .trace_hash = row.text(8),
            .token = row.text(9)};
}

}  // namespace

struct Ledger::Inside {
    fs::path file;
    sqlite3* base = nullptr;
    bool open = false;  // a transaction
    Clock::time_point begun;

    ~Inside() {
        if (open) sqlite3_exec(base, "COMMIT", nullptr, nullptr, nullptr);
        sqlite3_close(base);
    }

    tl::unexpected<scenarios::Error> trouble() const {
        return scenarios::refuse(ErrorCode::io, fmt::format("cannot be used: {}", sqlite3_errmsg(base)),
                                 "name another file with --out; what was committed stays readable",
                                 {file.string()});
    }
    Result<void> run(const char* sql) const {
        if (sqlite3_exec(base, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return trouble();
        return {};
    }

    // The definition is written once; later runs must match it.
    Result<void> claim(const std::string& definition) const {
        Statement write(base, "INSERT OR IGNORE INTO campaign VALUES ('definition', ?)");
        if (!write.bind(definition).done()) return trouble();
        Statement read(base, "SELECT value FROM campaign WHERE name = 'definition'");
        if (!read.row()) return trouble();
        if (read.text(0) == definition) return {};
        return scenarios::refuse(
            ErrorCode::usage, fmt::format("holds another campaign: {}", read.text(0)),
            "repeat its command with the same deadrank to go on with it, or name another file",
            {file.string()});
    }
};

Ledger::Ledger(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;
Ledger::~Ledger() = default;

Result<Ledger> Ledger::open(const fs::path& file, const std::string& definition) {
    auto inside = std::make_unique<Inside>();
    inside->file = file;
    std::error_code ignored;
    if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
    if (sqlite3_open(file.c_str(), &inside->base) != SQLITE_OK) return inside->trouble();
    sqlite3_busy_timeout(inside->base, patience);
    if (auto made = inside->run(schema); !made) return tl::unexpected(made.error());
    if (auto ours = inside->claim(definition); !ours) return tl::unexpected(ours.error());
    return Ledger(std::move(inside));
}

Result<std::vector<bool>> Ledger::known(std::uint64_t trials) const {
    std::vector<bool> there(trials, false);
    Statement read(inside_->base, "SELECT number FROM trials");
    while (read.row()) {
        if (read.number(0) < trials) there[read.number(0)] = true;
    }
    if (!read.ended_well()) return inside_->trouble();
    return there;
}

Result<void> Ledger::put(const Answer& answer, int worker) {
    if (!inside_->open) {
        if (auto begun = inside_->run("BEGIN IMMEDIATE"); !begun) return begun;
        inside_->open = true;
        inside_->begun = Clock::now();
    }
    Statement row(inside_->base,
                  fmt::format("INSERT OR IGNORE INTO trials ({}) VALUES (?,?,?,?,?,?,?,?,?,?)", columns));
    row.bind(answer.number).bind(answer.scenario).bind(answer.seed).bind(word_or_empty(answer.verdict));
    row.bind(answer.reason)
        .bind(word_or_empty(answer.control))
        .bind(word_or_empty(answer.healed))
        .bind(answer.findings);
    row.bind(answer.trace_hash).bind(answer.token);
    if (!row.done()) return inside_->trouble();
    Statement effort(inside_->base, "INSERT OR IGNORE INTO effort VALUES (?,?,?)");
    effort.bind(answer.number).bind(answer.seconds).bind(static_cast<std::uint64_t>(worker));
    if (!effort.done()) return inside_->trouble();
    return settle();
}

Result<void> Ledger::settle() {
    return inside_->open && Clock::now() - inside_->begun > commit_every ? commit() : Result<void>();
}

Result<void> Ledger::commit() {
    if (!inside_->open) return {};
    if (auto done = inside_->run("COMMIT"); !done) return done;
    inside_->open = false;
    return {};
}

Result<Totals> Ledger::totals() {
    if (auto kept = commit(); !kept) return tl::unexpected(kept.error());
    Totals totals;
    XXH64_hash_t digest = 0;
    Statement read(inside_->base, fmt::format("SELECT {} FROM trials ORDER BY number", columns));
    while (read.row()) {
        const Answer answer = answer_in(read);
        const std::string text = text_of(answer);
        digest = XXH64(text.data(), text.size(), digest);
        ++totals.trials;
        ++(answer.verdict == Verdict::pass   ? totals.passed
           : answer.verdict == Verdict::fail ? totals.failed
                                             : totals.unknown);
        if (answer.verdict != Verdict::pass && totals.notable.size() < 10) totals.notable.push_back(answer);
    }
    if (!read.ended_well()) return inside_->trouble();
    totals.digest = fmt::format("{:016x}", digest);
    return totals;
}

}  // namespace deadrank::runners::campaign

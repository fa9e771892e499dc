// results/importers/benchmark_end.h — How benchmarks end: with the last row of a table, the rule below it, or
// a summary. None of them says "done".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace deadrank::results::importers {

// Fed with all lines of a log in order.
class BenchmarkEnd {
public:
    // Whether the line belongs to a table. `number` counts the lines of the log.
    bool take(std::string_view text, std::int64_t number);
    // The job did something else after that.
    void worked() { proof_.clear(); }

    // The line that proves that the benchmark came to its end; empty if none does. Its number in the log.
    const std::string& proof() const { return proof_; }
    std::int64_t proved() const { return proved_; }

private:
    bool opens(std::string_view text);
    bool row(std::string_view text);
    void summary(std::string_view text, std::int64_t number);
    void prove(std::string_view text, std::int64_t number);

    enum class Table { none, osu, perftest } table_ = Table::none;
    std::int64_t largest_ = 0,
                 asked_ = 0;              // message size of the last row: by default, and by the command line
    bool sized_ = true;                   // rows begin with a message size
    bool rows_ = false;                   // the table has some
    bool named_ = false;                  // a line names a benchmark
    bool repeats_ = false;                // and a kind of line was printed again and again
    std::map<std::string, int> printed_;  // how often a line of these letters, with a number, was printed
    std::string proof_;
    bool by_summary_ = false;
    std::int64_t proved_ = 0;
};

}  // namespace deadrank::results::importers

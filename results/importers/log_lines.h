// results/importers/log_lines.h — The reader of one log: each line is tried against each form. Used by
// incident_log.cpp (lines and blocks), library_lines.cpp (NCCL, c10d, the kernel) and launcher_lines.cpp.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "results/importers/benchmark_end.h"
#include "results/importers/incident_log.h"
#include "results/importers/wrapping.h"

namespace deadrank::results::importers {

std::string_view after(std::string_view line, std::string_view words);
std::int64_t number_in(std::string_view text);
// "[Rank 3] …", "[PG ID 0 PG GUID 0(default_pg) Rank 3] …", "[Rank 0]: Rank 3 …", "Rank[2] …",
// "(PID:7, Device:1, RankID:5)": 3, 3, 0, 2, 5. "[PG ID 4 PG GUID 45 Rank 1] …" names a place in a subgroup,
// not a rank of the job: no_rank.
Rank parse_rank(std::string_view words);

class LogReader {
public:
    LogReader(const LogPlace& place, Story& story, const LinePrefixes& prefixes)
        : place_(place), story_(story), prefixes_(prefixes) {}

    void take(std::string& raw);
    std::string finish();

private:
    void take_line(std::string& raw);

    // A traceback, an exception with its message, or torchrun's report: lines that belong together.
    struct Block {
        enum Kind { none, traceback, boxed, exception, report } kind = none;
        std::string text;
        Rank rank = no_rank;
        std::string host;
        std::int64_t at = no_time;
        std::size_t order = 0;   // of its first line among all that is told
        int said = 0;            // lines of the exception itself
        bool parted = false;     // a blank line within a traceback: frames or the exception may follow
        bool root_seen = false;  // of a report
        bool logged = false;     // after a logger's prefix: the program caught it
        bool ignored = false;    // Python ignored it, and says so in the line before
        bool task = false;       // the rank is the number of a launcher's task
        std::string source;
    };
    // An error that the program may have survived: only the rest of the log shows how bad it is.
    struct Pending {
        std::size_t told = 0;
        std::string source;  // its stream, where a wrapping names streams
        std::int64_t line = 0, progress = 0;
        bool went_on = false;  // the same stream printed something later
    };
    // A proof of a good end that counts only among the last lines.
    struct CleanEnd {
        std::size_t told = 0;
        std::int64_t line = 0;
        std::string text;
    };

    bool continues(Block& block, const Unwrapped& line);
    bool opens(Block& block, const Unwrapped& line);
    void flush(Block& block);
    void plain(const Unwrapped& line);
    void suspect(const Unwrapped& line);
    bool benchmark(const Unwrapped& line);
    void forget_benchmark();
    void follow_loss(std::string_view text, std::size_t told);
    bool shell(const Unwrapped& line);
    void add_pending_error(std::size_t told, const std::string& source);
    void settle(const Pending& one);
    bool missing_ranks(const Unwrapped& line);
    bool device_table(const Unwrapped& line);
    std::size_t add_log_host(const std::string& host);
    std::size_t add_log_line(const Block& block, Rank rank, int level);
    std::size_t add_log_line(const Unwrapped& line, Rank rank, int level, std::string words);
    std::size_t add_log_line(Rank rank, int level, std::string words);
    void timed(std::int64_t at);
    void timed(const Unwrapped& line);

    // Each returns whether the line had its form.
    bool nccl(const Unwrapped& line);
    void nccl_words(std::string_view words, const std::string& host, std::int32_t pid);
    bool c10d(const Unwrapped& line);
    bool kernel(const Unwrapped& line);
    bool agent(const Unwrapped& line);
    void banner(const Block& block);
    void agent_words(std::string_view words);
    void store_warned(std::size_t told);
    void clear_store_warnings();
    void report(const std::string& text);
    bool scheduler(const Unwrapped& line);
    bool accounting(const Unwrapped& line);
    bool launcher(const Unwrapped& line);
    bool cluster_size(const Unwrapped& line);

    const LogPlace& place_;
    Story& story_;
    const LinePrefixes& prefixes_;
    std::int64_t last_ = no_time;       // of the last line that had one
    std::vector<std::size_t> untimed_;  // recorded before the first time
    std::map<std::string, Block, std::less<>> blocks_;
    std::map<std::string, std::string> environment_, versions_;
    std::deque<std::pair<Rank, std::string>> suspects_;
    std::map<std::string, Rank, std::less<>> rank_by_stream_;  // by stream
    std::deque<Pending> pending_;
    std::deque<CleanEnd> clean_ends_;
    std::vector<std::pair<std::size_t, std::int64_t>> outlived_;  // an error, and the progress made by then
    std::int64_t progress_ = 0;                                   // lines of progress
    BenchmarkEnd benchmark_;
    std::size_t benchmark_told_ = Story::nothing;  // its proof, at the place of its line
    bool chained_ = false;        // the next traceback continues the last pending one
    bool in_a_thread_ = false;  // the next traceback ends a thread, not the process
    std::set<std::string> ignored_;  // the streams whose next traceback Python ignored
    std::vector<std::size_t>
        store_warnings_;                     // lines of c10d and torchrun's agent about a store that is gone
    std::vector<std::size_t> lost_losses_;   // lines whose loss was no number
    int finite_losses_ = 0;                  // since then
    std::vector<std::string> accounts_;      // columns of a table of sacct
    std::vector<std::size_t> account_ends_;  // where they end
    bool lists_missing_ = false;  // lines with the ranks that Horovod waits for follow
    Rank spawned_ = no_rank;      // the process whose traceback a parent is about to print
    bool prefixed_ = false;       // c10d puts "[rank3]:" before its lines: only that is a rank of the job
    int killed_subprocesses_ = 0;
    int nccl_ = 0, c10d_ = 0, agent_ = 0, kernel_ = 0, launcher_ = 0, tracebacks_ = 0, plain_ = 0, known_ = 0;
};

}  // namespace deadrank::results::importers

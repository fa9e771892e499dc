// results/importers/log_lines.h — The reader of one log: each line is tried against each form. Used by
// incident_log.cpp (lines and blocks), library_lines.cpp (NCCL, c10d, the kernel) and launcher_lines.cpp.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "results/importers/incident_log.h"
#include "results/importers/wrapping.h"

namespace deadrank::results::importers {

std::string_view after(std::string_view line, std::string_view words);
std::int64_t number_in(std::string_view text);
// "[Rank 3] …", "[PG ID 0 PG GUID 0(default_pg) Rank 3] …", "[Rank 0]: Rank 3 …": 3, 3, 0.
Rank parse_rank(std::string_view words);

class LogReader {
public:
    LogReader(const LogPlace& place, Story& story, const LinePrefixes& prefixes)
        : place_(place), story_(story), prefixes_(prefixes) {}

    void take(std::string& raw);
    std::string finish();

private:
    // A traceback, an exception with its message, or torchrun's report: lines that belong together.
    struct Block {
        enum Kind { none, traceback, boxed, exception, report } kind = none;
        std::string text;
        Rank rank = no_rank;
        std::string host;
        std::int64_t at = no_time;
        int said = 0;            // lines of the exception itself
        bool root_seen = false;  // of a report
        bool logged = false;     // after a logger's prefix: the program caught it
        std::string source;
    };
    // An error that the program may have survived: only the rest of the log shows how bad it is.
    struct Pending {
        Rank rank = no_rank;
        std::string text;
        std::string source;  // its stream, where a wrapping names streams
        std::int64_t at = no_time, line = 0;
        bool went_on = false;  // the same stream printed something later
    };

    bool continues(Block& block, const Unwrapped& line);
    bool opens(Block& block, const Unwrapped& line);
    void flush(Block& block);
    void plain(const Unwrapped& line);
    void suspect(const Unwrapped& line);
    bool shell(const Unwrapped& line);
    void wait_and_see(Rank rank, std::string text, const std::string& source);
    void settle();
    std::size_t say(Rank rank, int level, std::string words);
    void timed(std::int64_t at);
    void timed(const Unwrapped& line);

    // Each returns whether the line had its form.
    bool nccl(const Unwrapped& line);
    void nccl_words(std::string_view words, const std::string& host, std::int32_t pid);
    bool c10d(const Unwrapped& line);
    bool kernel(const Unwrapped& line);
    bool agent(const Unwrapped& line);
    void agent_words(std::string_view words);
    void report(const std::string& text);
    bool scheduler(const Unwrapped& line);
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
    std::map<std::string, Rank, std::less<>> spoken_;  // by stream
    std::optional<Pending> pending_;
    bool chained_ = false;  // the next traceback continues the pending one
    int killed_subprocesses_ = 0;
    int nccl_ = 0, c10d_ = 0, agent_ = 0, kernel_ = 0, launcher_ = 0, tracebacks_ = 0, plain_ = 0, known_ = 0;
};

}  // namespace deadrank::results::importers

// results/importers/incident_log.cpp — Joins the lines of one stream before they are read: interleaved
// tracebacks of several ranks stay apart as long as a wrapping names their stream.
#include "results/importers/incident_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

#include "results/analysis/loss_words.h"
#include "results/analysis/signatures.h"
#include "results/importers/log_lines.h"

namespace deadrank::results::importers {

namespace {

using analysis::Nearness;

constexpr std::size_t longest_block = 1 << 15, suspects_most = 12;
constexpr std::int64_t shutdown_lines_max = 20;  // launchers and exit handlers print no more than that
constexpr std::int64_t survivor_progress_min = 5;
constexpr std::size_t pending_most = 64;
constexpr std::int64_t ticks_every = 1 << 26;

bool traceback_head(std::string_view text) { return text.starts_with("Traceback (most recent call last)"); }
bool frame(std::string_view text) {
    const std::size_t words = text.find_first_not_of(' ');
    return words != text.npos && words > 0 && text.substr(words).starts_with("File \"") &&
           text.find("\", line ") != text.npos;
}
bool indented(std::string_view text) {
    return text.starts_with(' ') || text.starts_with('\t') || text.starts_with("│") || text.starts_with("╰");
}

// Library output between the lines that matter: C++ stacks, hints.
bool noise(std::string_view text) {
    for (const std::string_view head :
         {"frame #", "Exception raised from", "CUDA kernel errors might", "For debugging consider",
          "Compile with `TORCH", "Stack trace of the failed", "warnings.warn(", "  warnings.warn("}) {
        if (text.starts_with(head)) return true;
    }
    return false;
}

bool progress(std::string_view text) {
    if (text.find("%|") != text.npos || text.find("it/s") != text.npos || text.find("s/it") != text.npos)
        return true;
    for (const std::string_view word : {"loss", "Loss", "epoch", "Epoch", "iteration", "step "}) {
        const std::size_t at = text.find(word);
        if (at != text.npos && text.find_first_of("0123456789", at) != text.npos) return true;
    }
    return false;
}

bool sounds_bad(std::string_view text) {
    for (const std::string_view word :
         {"rror", "RROR", "ailed", "ailure", "FAIL", "atal", "FATAL", "bort", "illed", "xception", "anic",
          "orrupt", "imeout", "imed out", "refused", "ritical"}) {
        if (text.find(word) != text.npos) return true;
    }
    return false;
}

// "ERROR:2026-01-31 10:00:00,123:Traceback (most recent call last):": where the traceback begins.
std::size_t logged_traceback(std::string_view text) {
    const std::size_t at = text.substr(0, 240).find("Traceback (most recent call last)");
    if (at == text.npos || at == 0) return text.npos;
    const std::string_view before = text.substr(0, at);
    for (const std::string_view level : {"ERROR", "CRITICAL", "WARN", "INFO", "DEBUG"}) {
        if (before.find(level) != before.npos) return at;
    }
    return text.npos;
}

// JSON lines of a collector: Docker's {"log":"text\n","stream":"stderr","time":"2026-01-31T10:00:00Z"}, and
// others with the text in another field. An empty text if there is none.
struct LogRecord {
    std::string text, time;
    Rank rank = no_rank;
};
LogRecord unpack_json(const std::string& raw) {
    LogRecord packed;
    const auto json = nlohmann::json::parse(raw, nullptr, false);
    if (!json.is_object()) return packed;
    const auto text_of = [&](std::initializer_list<const char*> names) -> std::string {
        for (const char* name : names) {
            const auto field = json.find(name);
            if (field != json.end() && field->is_string()) return field->get<std::string>();
        }
        return {};
    };
    packed.text = text_of({"log", "message", "msg", "MESSAGE", "textPayload", "line", "data"});
    packed.time = text_of({"time", "timestamp", "@timestamp", "ts"});
    for (const char* name : {"rank", "global_rank"}) {
        const auto field = json.find(name);
        if (field != json.end() && field->is_number_integer()) packed.rank = field->get<Rank>();
    }
    while (packed.text.ends_with('\n') || packed.text.ends_with('\r')) packed.text.pop_back();
    return packed;
}

int level_of(std::string_view line) {
    if (line.find("Error") != line.npos || line.find("ERROR") != line.npos) return 2;
    return line.find("arn") != line.npos ? 1 : 0;
}

}  // namespace

std::string_view after(std::string_view line, std::string_view words) {
    const std::size_t at = line.find(words);
    return at == line.npos ? std::string_view() : line.substr(at + words.size());
}

std::int64_t number_in(std::string_view text) {
    return std::strtoll(std::string(text.substr(0, 24)).c_str(), nullptr, 0);
}

Rank parse_rank(std::string_view words) {
    if (const std::size_t group = words.find("[PG "); group != words.npos) {
        const std::string_view name = words.substr(group, words.find(']', group) - group);
        const bool whole = name.find("default_pg") != name.npos || name.starts_with("[PG 0 ") ||
                           name.starts_with("[PG ID 0 ");
        if (!whole) return no_rank;
    }
    // "AssertionError: Rank 5: found NaN": the speaker.
    for (const std::string_view before : {"Rank ", "rank "}) {
        const std::size_t at = words.find(before);
        if (at == words.npos || (at > 0 && !words.substr(0, at).ends_with("Error: "))) continue;
        const std::string_view digits = words.substr(at + before.size());
        const std::size_t end = digits.find_first_not_of("0123456789");
        if (end != digits.npos && end > 0 && digits[end] == ':') return static_cast<Rank>(number_in(digits));
    }
    for (const std::string_view before : {"RankID:", "Rank["}) {
        const std::size_t at = words.find(before);
        if (at == words.npos) continue;
        const std::string_view digits = words.substr(at + before.size());
        if (!digits.empty() && digits[0] >= '0' && digits[0] <= '9')
            return static_cast<Rank>(number_in(digits));
    }
    for (std::size_t at = words.find("ank "); at != words.npos; at = words.find("ank ", at + 1)) {
        if (at == 0 || (words[at - 1] != 'R' && words[at - 1] != 'r')) continue;
        std::size_t end = at + 4;
        while (end < words.size() && words[end] >= '0' && words[end] <= '9') ++end;
        // In brackets it is the speaker's rank, elsewhere it may be any.
        const std::size_t open = words.rfind('[', at);
        if (end > at + 4 && end < words.size() && words[end] == ']' && open != words.npos &&
            words.substr(open, at - open).find(']') == std::string_view::npos)
            return static_cast<Rank>(number_in(words.substr(at + 4)));
    }
    return no_rank;
}

void LogReader::timed(std::int64_t at) {
    last_ = at;
    ++story_.reading().stamps;
    story_.seen_until(at);
    for (const std::size_t told : untimed_) story_.place(told, at);
    untimed_.clear();
}

void LogReader::timed(const Unwrapped& line) {
    if (line.at == no_time) return;
    if (line.dated) story_.year(year_of(line.at));
    timed(line.at);
}

std::size_t LogReader::add_log_line(Rank rank, int level, std::string words) {
    const std::size_t told = story_.log(last_, rank, level, std::move(words));
    if (last_ == no_time && told != Story::nothing) untimed_.push_back(told);
    return told;
}

void LogReader::take(std::string& raw) {
    if (raw.starts_with("{\"") && raw.ends_with('}')) {
        if (const LogRecord packed = unpack_json(raw); !packed.text.empty()) {
            // A message may be a whole traceback.
            for (std::size_t at = 0; at <= packed.text.size();) {
                const std::size_t end = std::min(packed.text.find('\n', at), packed.text.size());
                raw = packed.text.substr(at, end - at);
                if (packed.rank != no_rank) raw.insert(0, fmt::format("[rank{}]: ", packed.rank));
                if (at == 0 && !packed.time.empty()) raw.insert(0, packed.time + " ");
                take_line(raw);
                at = end + 1;
            }
            return;
        }
    }
    take_line(raw);
}

void LogReader::take_line(std::string& raw) {
    ++story_.reading().lines;
    Unwrapped line = unwrap(raw, prefixes_, story_.year_or(place_.year));
    timed(line);
    if (line.mislabelled) story_.ignore_task_numbers();
    story_.heard(line.rank != no_rank ? line.rank : place_.rank, last_);
    // What the scheduler prints as it ends a job is none of the job's own lines.
    const bool of_scheduler = line.text.starts_with("slurmstepd") || line.text.starts_with("srun: ") ||
                              line.text.find("CANCELLED AT ") != std::string_view::npos;
    if (!of_scheduler && !line.text.empty()) story_.note_line(last_);
    // A worker that printed its rank once has that rank in its other lines.
    if (line.pid > 0 && line.rank != no_rank) rank_by_stream_[line.source] = line.rank;
    if (line.pid > 0 && line.rank == no_rank) {
        const auto known = rank_by_stream_.find(line.source);
        if (known != rank_by_stream_.end()) line.rank = known->second;
    }
    Block& block = blocks_[line.source];
    if (continues(block, line)) return;
    flush(block);
    if (line.text.empty()) return;
    if (!pending_.empty() && pending_.back().source == line.source) {
        chained_ |= line.text.find(" above exception") != line.text.npos;
        pending_.back().went_on |= !line.source.empty() && !chained_;
    }
    // The process outlives an exception of a thread, and one that Python ignores: of a destructor or a
    // callback at the exit.
    in_a_thread_ |= line.text.starts_with("Exception in thread ");
    if (line.text.starts_with("Exception ignored ")) ignored_.insert(line.source);
    if (missing_ranks(line) || benchmark(line)) {
        ++known_;
        return;
    }
    if (nccl(line) || c10d(line) || agent(line) || kernel(line) || shell(line) || opens(block, line) ||
        scheduler(line) || launcher(line) || device_table(line) || cluster_size(line)) {
        ++known_;
        return;
    }
    plain(line);
}

bool LogReader::opens(Block& block, const Unwrapped& line) {
    const std::string_view text = line.text;
    const bool rule = text.find_first_not_of('=') == text.npos && text.size() >= 20;
    const bool entry = text.starts_with("  rank      : ") || text.starts_with("  exitcode  : ") ||
                       text.starts_with("  host      : ") ||
                       text.starts_with("Root Cause (first observed failure)");
    const std::size_t logged = logged_traceback(text);
    if (traceback_head(text) || frame(text) || logged != text.npos) {
        block.kind = Block::traceback;
        block.logged = in_a_thread_ || logged != text.npos ||
                       (chained_ && !pending_.empty() && pending_.back().source == line.source);
        block.ignored = ignored_.erase(line.source) > 0;
        chained_ = in_a_thread_ = false;
    } else if (text.starts_with("╭") && text.find("Traceback") != text.npos) {
        block.kind = Block::boxed;
    } else if (rule || entry) {
        block.kind = Block::report;
        block.root_seen = text.starts_with("Root Cause");
    } else if (analysis::begins_with_exception(text)) {
        block.kind = Block::exception;
    } else {
        return false;
    }
    block.text = text.substr(logged != text.npos ? logged : 0);
    block.source = line.source;
    block.rank = line.rank != no_rank ? line.rank : line.local;
    block.task = line.task;
    if (block.rank == no_rank && block.kind == Block::traceback) block.rank = spawned_;
    spawned_ = no_rank;
    // torch's own checkpointing prints all ranks' tracebacks in one process.
    if (const auto told = after(text, "(RANK "); !told.empty())
        block.rank = static_cast<Rank>(number_in(told));
    if (block.rank == no_rank) block.rank = place_.rank;
    block.host = line.host, block.at = last_, block.order = story_.order_now();
    block.said = block.kind == Block::exception;
    return true;
}

// A traceback continues with indented lines, then the exception and its message, until a line with a prefix
// or a blank one; a report, until its closing rule.
bool LogReader::continues(Block& block, const Unwrapped& line) {
    if (block.kind == Block::none) return false;
    const std::string_view text = line.text;
    if (block.text.size() > longest_block) return false;
    const bool stamped = line.at != no_time || text.starts_with("[E") || text.starts_with("[W") ||
                         text.find(" NCCL ") != text.npos || text.starts_with("ERROR:") ||
                         text.starts_with("WARNING:") || text.starts_with("srun:") ||
                         text.starts_with("slurmstepd") ||
                         (line.source.empty() && line.rank != no_rank && line.rank != block.rank);
    // Python's word on an exception that ends no process, before its traceback.
    const bool harmless = text.starts_with("Exception ignored ") || text.starts_with("Exception in thread ");
    if (stamped || harmless || traceback_head(text)) return false;
    if (block.kind != Block::report && text.starts_with("=====")) return false;
    if (block.kind == Block::report) {
        if (text.empty() || analysis::begins_with_exception(text)) return false;
        block.root_seen |= text.starts_with("Root Cause");
        block.text += "\n" + std::string(text);
        ++known_;
        if (block.root_seen && text.starts_with("====")) flush(block);
        return true;
    }
    if (block.kind == Block::boxed && indented(text)) {
        block.text += "\n" + std::string(text);
        return true;
    }
    // Loguru parts frames by blank lines, and marks one: "> File "train.py", line 8, in <module>", of which
    // the mark is taken off as that of a quotation.
    const bool marked = text.starts_with("File \"") && text.find("\", line ") != text.npos;
    const bool framed = indented(text) || text.starts_with('^') || text.starts_with('~') || marked;
    if (block.said == 0 && framed) {
        block.text += (marked ? "\n  " : "\n") + std::string(text);
        block.parted = false;
        return true;
    }
    if (block.said == 0 && block.kind == Block::traceback && text.empty()) return block.parted = true;
    if (block.parted && !analysis::begins_with_exception(text)) return false;
    block.parted = false;
    // An exception's message may have several lines, but not arbitrarily many.
    const bool another = block.said > 0 && analysis::begins_with_exception(text) && !text.starts_with("nccl");
    const bool list = text.starts_with("/job:") && block.said < 4096;  // JAX's tasks, one a line
    if (text.empty() || another || noise(text) || (block.said >= 6 && !list)) return false;
    if (block.said > 0 && block.kind == Block::exception && progress(text)) return false;
    const analysis::Phrase* meant = block.said > 0 ? analysis::signature_in(text) : nullptr;
    if (meant && meant->nearness == Nearness::finished) return false;
    ++block.said;
    block.text += "\n" + std::string(text);
    return true;
}

void LogReader::flush(Block& block) {
    if (block.kind == Block::none) return;
    const Block done = std::move(block);
    block = Block{};
    if (done.kind == Block::report) {
        if (done.text.find("exitcode") == done.text.npos) return banner(done);
        ++agent_;
        return report(done.text);
    }
    ++tracebacks_;
    if (done.ignored) {
        if (const std::size_t told = add_log_line(done, done.rank, 1); told != Story::nothing)
            story_.mark_survived(told);
        return;
    }
    if (done.logged) return add_pending_error(add_log_line(done, done.rank, 2), done.source);
    const Rank rank = done.rank != no_rank ? done.rank : parse_rank(done.text);
    const std::size_t told = add_log_line(done, rank, 2);
    if (told == Story::nothing) {
        if (rank == no_rank) story_.orphan_again(done.text);
        return;
    }
    if (done.task) story_.by_task(told);
    if (rank == no_rank) story_.orphan(told, done.text);
    if (done.kind == Block::exception) outlived_.emplace_back(told, progress_);
}

// Rules are decoration, and what is between them is no report: "====\nTraining completed\n====".
void LogReader::banner(const Block& block) {
    for (std::size_t at = 0; at < block.text.size();) {
        const std::size_t end = std::min(block.text.find('\n', at), block.text.size());
        Unwrapped line{.text = std::string_view(block.text).substr(at, end - at), .source = block.source};
        at = end + 1;
        if (line.text.find_first_not_of("=-*") == line.text.npos) continue;
        line.rank = block.rank, line.task = block.task, line.host = block.host;
        plain(line);
    }
}

// A line of no known form: kept when it has a known phrase, or when its rank is known.
void LogReader::plain(const Unwrapped& line) {
    // multiprocessing.spawn: "-- Process 2 terminated with the following error:", then the child's traceback.
    if (const auto child = after(line.text, "-- Process ");
        line.text.starts_with("-- Process ") && child.find("terminated with the following") != child.npos)
        spawned_ = static_cast<Rank>(number_in(child));
    const analysis::Phrase* meant = analysis::signature_in(line.text);
    Rank rank = line.rank != no_rank ? line.rank : line.local;
    if (rank == no_rank) rank = place_.rank;
    if (meant && rank == no_rank && !line.raylet && !prefixed_) rank = parse_rank(line.text);
    if (meant && meant->only_last) {
        std::string text(line.text.substr(0, 400));
        const auto before = std::find_if(clean_ends_.begin(), clean_ends_.end(),
                                         [&](const CleanEnd& one) { return one.text == text; });
        if (before != clean_ends_.end()) {
            story_.forget(before->told);
            clean_ends_.erase(before);
        }
        const std::size_t told = story_.log_again(last_, std::string(text));
        if (last_ == no_time) untimed_.push_back(told);
        clean_ends_.push_back({told, story_.reading().lines, std::move(text)});
        if (clean_ends_.size() > pending_most) {
            story_.forget(clean_ends_.front().told);
            clean_ends_.pop_front();
        }
        ++known_;
        return;
    }
    if (meant) {
        ++known_;
        if (rank == no_rank && meant->nearness <= Nearness::own) add_log_host(line.host);
        const std::size_t told =
            add_log_line(rank, meant->nearness == Nearness::finished ? 0 : 2, std::string(line.text));
        if (told == Story::nothing) return;
        if (line.task) story_.by_task(told);
        follow_loss(line.text, told);
        if (meant->nearness <= Nearness::own) outlived_.emplace_back(told, progress_);
        return;
    }
    if (noise(line.text) || progress(line.text)) {
        follow_loss(line.text, Story::nothing);
        ++known_;
        const bool progresses = !noise(line.text);
        progress_ += progresses;
        if (progresses) {
            benchmark_.worked();
            forget_benchmark();
        }
        if (rank != no_rank && progresses) add_log_line(line, rank, 0, std::string(line.text));
        return;
    }
    ++story_.reading().not_understood;
    if (sounds_bad(line.text)) suspect(line);
    if (rank == no_rank) return;
    add_log_line(line, rank, level_of(line.text), std::string(line.text));
    ++plain_;
}

// A loss that is no number for a few steps, as while a loss scale settles, and finite again is no complaint.
void LogReader::follow_loss(std::string_view text, std::size_t told) {
    constexpr int recovered = 3;
    const auto loss = analysis::loss_in(text);
    if (!loss) return;
    if (!std::isfinite(*loss)) {
        finite_losses_ = 0;
        if (told != Story::nothing) lost_losses_.push_back(told);
    } else if (++finite_losses_ == recovered) {
        for (const std::size_t one : lost_losses_) story_.forget(one);
        lost_losses_.clear();
    }
}

std::size_t LogReader::add_log_line(const Unwrapped& line, Rank rank, int level, std::string words) {
    const std::size_t told = add_log_line(rank, level, std::move(words));
    if (line.task && told != Story::nothing) story_.by_task(told);
    return told;
}

// The host of the line that comes next, where no line names its rank.
std::size_t LogReader::add_log_host(const std::string& host) {
    return host.empty() ? Story::nothing : add_log_line(no_rank, 0, "import: host " + host);
}

// A block stands where it began. Its last line is known when its stream prints something else, which may be
// long after: "2: ValueError", "srun: error: task 2: Exited", "STEP CANCELLED", and no further line of 2.
std::size_t LogReader::add_log_line(const Block& block, Rank rank, int level) {
    const std::int64_t now = std::exchange(last_, block.at != no_time ? block.at : last_);
    const bool hosted = rank == no_rank && !block.ignored && !block.logged;
    const std::size_t host = hosted ? add_log_host(block.host) : Story::nothing;
    const std::size_t told = add_log_line(rank, level, block.text);
    for (const std::size_t one : {host, told})
        if (one != Story::nothing) story_.began(one, block.order);
    last_ = now;
    return told;
}

// Horovod's stall report, of two generations: "tensor [missing ranks: 1, 3]", and "Missing ranks:" or
// "Stalled ranks:" with a line "3: [tensor, …]" for each.
bool LogReader::missing_ranks(const Unwrapped& line) {
    const std::string_view text = line.text;
    const std::string_view heads[] = {"Missing ranks:", "Stalled ranks:"};
    if (std::find(std::begin(heads), std::end(heads), text) != std::end(heads)) return lists_missing_ = true;
    if (!lists_missing_) return false;
    const std::size_t digits = text.find_first_not_of("0123456789");
    // A label that the whole file has was taken for a task.
    // A stamp in brackets begins the next message.
    const bool labelled = line.task && text.size() > 1 && text.starts_with('[') && !(text[1] >= '0' && text[1] <= '9');
    const bool listed = digits != text.npos && digits > 0 && text.substr(digits).starts_with(": [");
    lists_missing_ = labelled || listed;
    if (!lists_missing_) return false;
    add_log_line(no_rank, 2,
                 fmt::format("Missing ranks: {}", labelled ? line.rank : static_cast<Rank>(number_in(text))));
    return true;
}

// A proof stands where its line does: an error that follows is not outlived by it.
bool LogReader::benchmark(const Unwrapped& line) {
    const std::int64_t number = story_.reading().lines;
    const bool of_table = benchmark_.take(line.text, number);
    if (benchmark_.proof().empty()) {
        forget_benchmark();
    } else if (benchmark_.proved() == number) {
        forget_benchmark();
        benchmark_told_ = story_.log_again(last_, "benchmark ended: " + benchmark_.proof());
        if (last_ == no_time) untimed_.push_back(benchmark_told_);
    }
    return of_table;
}

void LogReader::forget_benchmark() {
    if (benchmark_told_ != Story::nothing) story_.forget(benchmark_told_);
    benchmark_told_ = Story::nothing;
}

// nccl-tests: "#  Rank  4 Group  0 Pid 353213 on node-9 device  0 [0000:1b:00] NVIDIA H100"
bool LogReader::device_table(const Unwrapped& line) {
    if (!line.text.starts_with("#  Rank ")) return false;
    int rank = 0, pid = 0;
    std::array<char, 256> host{};
    if (std::sscanf(std::string(line.text.substr(0, 400)).c_str(), "# Rank %d Group %*d Pid %d on %255s",
                    &rank, &pid, host.data()) != 3)
        return false;
    story_.names(host.data(), pid, rank);
    story_.world_size(rank + 1);
    return true;
}

// "job.sh: line 22: deepspeed: command not found", "python3: can't open file 'train.py'", srun's "error:
// execve(): torchrun: No such file or directory": the script continues after that, unless nothing is left to
// do.
bool LogReader::shell(const Unwrapped& line) {
    if (line.text.find(": command not found") == line.text.npos &&
        line.text.find(" error: execve(): ") == line.text.npos &&
        line.text.find(": can't open file '") == line.text.npos &&
        !line.text.starts_with("CommandNotFoundError: "))
        return false;
    add_pending_error(add_log_line(line.rank != no_rank ? line.rank : place_.rank, 2, std::string(line.text)),
                      line.source);
    return true;
}

void LogReader::add_pending_error(std::size_t told, const std::string& source) {
    if (told == Story::nothing) return;
    pending_.push_back({told, source, story_.reading().lines, progress_});
    if (pending_.size() <= pending_most) return;
    settle(pending_.front());
    pending_.pop_front();
}

// An error if the log ended soon after it and nothing was done any more, else only information.
void LogReader::settle(const Pending& one) {
    const bool last =
        !one.went_on && story_.reading().lines - one.line <= shutdown_lines_max && progress_ == one.progress;
    if (!last) story_.mark_survived(one.told);
}

// The last few lines that sound bad, shown when nothing was understood.
void LogReader::suspect(const Unwrapped& line) {
    suspects_.emplace_back(line.rank, std::string(line.text.substr(0, 400)));
    if (suspects_.size() > suspects_most) suspects_.pop_front();
}

std::string LogReader::finish() {
    for (auto& [source, block] : blocks_) flush(block);
    for (const Pending& one : pending_) settle(one);
    for (const auto& [told, made] : outlived_) {
        if (progress_ - made >= survivor_progress_min) story_.mark_survived(told);
    }
    for (const CleanEnd& one : clean_ends_) {
        if (story_.reading().lines - one.line > shutdown_lines_max) story_.forget(one.told);
    }
    if (story_.reading().lines - benchmark_.proved() > shutdown_lines_max) forget_benchmark();
    for (auto& [rank, words] : suspects_) {
        if (rank == no_rank && place_.rank == no_rank) add_log_line(no_rank, 1, words);
    }
    std::string what;
    const auto add = [&](int lines, const char* name) {
        if (lines > 0) what += fmt::format("{}{}", what.empty() ? "" : ", ", name);
    };
    add(nccl_, "NCCL log");
    add(c10d_, "c10d output");
    add(agent_, "torchrun's agent");
    add(launcher_, "launcher's output");
    add(kernel_, "kernel log");
    add(tracebacks_, "tracebacks");
    if (what.empty() && plain_ + known_ > 0) what = "output";
    if (what.empty()) what = "text";
    if (place_.rank != no_rank && what != "text") what += fmt::format(" of rank {}", place_.rank);
    return what;
}

std::string read_log(TextSource& source, const LogPlace& place, Story& story,
                     const std::function<void(std::int64_t)>& tick) {
    const LinePrefixes prefixes = prefixes_of(source.head());
    LogReader reader(place, story, prefixes);
    std::string line;
    for (std::int64_t told = 0; source.next(line);) {
        reader.take(line);
        if (tick && source.bytes() - told >= ticks_every) tick(told = source.bytes());
    }
    return reader.finish();
}

}  // namespace deadrank::results::importers

// results/reports/event_text.cpp — Events as one line each, and the log lines worth showing.
#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <type_traits>
#include <utility>

#include "results/analysis/program_lines.h"
#include "results/record/words.h"
#include "results/reports/clues.h"
#include "results/reports/style.h"
#include "results/reports/terminal.h"

namespace deadrank::results::reports {

// ── Visits a payload's fields in the order in which they are declared.

namespace {

constexpr std::size_t longest_text = 72;

class Words {
public:
    explicit Words(const Evidence& evidence) : evidence_(evidence) {}

    template <class Value>
    void operator()(std::string_view name, const Value& value) {
        const std::string words = say(value);
        if (words.empty()) return;
        text_ += fmt::format("{}{} {}", text_.empty() ? "" : ", ", name, words);
    }
    std::string take() { return std::move(text_); }

private:
    template <class Value>
    std::string say(const Value& value) const {
        if constexpr (std::is_same_v<Value, TextId>) {
            return Style{}.cut(one_line(evidence_.text(value)), longest_text);
        } else if constexpr (std::is_enum_v<Value>) {
            const std::string_view name = name_of(value);
            return name == "none" ? "" : std::string(name);
        } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
            return fmt::format("{:016x}", value);  // digests
        } else if constexpr (std::is_integral_v<Value>) {
            return std::is_signed_v<Value> && value == Value(-1) ? "" : fmt::format("{}", value);
        } else {
            return fmt::format("{}", value);
        }
    }

    const Evidence& evidence_;
    std::string text_;
};

}  // namespace

std::string fields_text(const Evidence& evidence, const Event& event) {
    return std::visit(
        [&](const auto& payload) {
            using Payload = std::remove_cvref_t<decltype(payload)>;
            Words words(evidence);
            Payload::fields(payload, words);
            return words.take();
        },
        event.what);
}

std::string event_content(const Evidence& evidence, const Event& event) {
    return fmt::format("{} {}", kind_name(event), fields_text(evidence, event));
}

std::string event_text(const Evidence& evidence, const Event& event) {
    const std::string who = event.rank == no_rank ? "job" : fmt::format("rank {}", event.rank);
    const auto micros = event.at.count() / 1'000;
    const std::string when = fmt::format("{}.{:06} s", micros / 1'000'000, micros % 1'000'000);
    return fmt::format("{:>14}  {:<8}  {:<16}  {}", when, who, kind_name(event),
                       fields_text(evidence, event));
}

// ── Lines are told apart by source and text; equal ones within a second become one.

namespace {

constexpr Time together = std::chrono::seconds(1);

// Times at which each rank, or the launcher (no_rank), printed a warning or an error.
using ErrorTimes = std::map<Rank, std::vector<Time>>;

ErrorTimes error_times(const Evidence& evidence) {
    ErrorTimes times;
    for (const Event* event : evidence.each<RankLog>()) {
        if (event->as<RankLog>()->level > 0) times[event->rank].push_back(event->at);
    }
    return times;
}

// The rank printed an error of its own within a second of the event.
bool printed_nearby(const ErrorTimes& times, const Event& event) {
    const auto found = times.find(event.rank);
    if (found == times.end()) return false;
    const auto next = std::lower_bound(found->second.begin(), found->second.end(), event.at - together);
    return next != found->second.end() && *next - event.at <= together;
}

std::string exit_line(const RankExit& exit) {
    if (exit.signal != 0) return fmt::format("killed by signal {}", exit.signal);
    return fmt::format("exited with code {}", exit.code);
}

// As the program wrote it that noticed: the rank, NCCL, the kernel, the launcher, the shell that waited for the
// process. False: no program writes a line about such an event.
class Printed {
public:
    Printed(const Evidence& evidence, const ErrorTimes& errors) : evidence_(evidence), errors_(errors) {}

    bool describe(const Event& event, LogLine& line) const {
        line.at = event.at;
        return std::visit([&](const auto& what) { return fill_line(event, what, line); }, event.what);
    }

private:
    std::string_view text(TextId id) const { return evidence_.text(id); }
    static bool put(LogLine& line, LogSource source, int level, std::string words) {
        line.source = source;
        line.level = level;
        line.text = std::move(words);
        return true;
    }

    bool fill_line(const Event& event, const RankLog& what, LogLine& line) const {
        return put(line, event.rank == no_rank ? LogSource::launcher : LogSource::rank, what.level,
                   std::string(text(what.line)));
    }
    bool fill_line(const Event&, const RankExit& what, LogLine& line) const {
        return put(line, LogSource::exit_status, what.code != 0 || what.signal != 0 ? 2 : 0, exit_line(what));
    }
    bool fill_line(const Event&, const DeviceError& what, LogLine& line) const {
        const std::string message(text(what.message));
        const bool whole = message.find("Xid") != std::string::npos;
        return put(line, LogSource::kernel_log, 2,
                   whole ? message : fmt::format("NVRM: Xid: {}, {}", what.xid, message));
    }
    bool fill_line(const Event& event, const CommError& what, LogLine& line) const {
        if (printed_nearby(errors_, event)) return false;
        return put(line, LogSource::rank, 2, fmt::format("NCCL WARN {}", text(what.message)));
    }
    bool fill_line(const Event&, const TestResult& what, LogLine& line) const {
        if (what.passed) return put(line, LogSource::rank, 0, fmt::format("PASSED {}", text(what.name)));
        return put(line, LogSource::rank, 2,
                   fmt::format("FAILED {} - {}", text(what.name), text(what.problem)));
    }
    bool fill_line(const Event&, const JobStart& what, LogLine& line) const {
        return put(line, LogSource::launcher, 0,
                   fmt::format("started {} ranks on {}", what.world_size,
                               counted(static_cast<std::size_t>(what.nodes), "node")));
    }
    bool fill_line(const Event&, const JobStop& what, LogLine& line) const {
        const std::string_view reason = text(what.reason);
        return put(line, LogSource::launcher, what.code == 0 ? 0 : 1,
                   fmt::format("ended with code {}{}{}", what.code, reason.empty() ? "" : ": ", reason));
    }
    bool fill_line(const Event&, const Restart& what, LogLine& line) const {
        const std::string_view reason = text(what.reason);
        return put(line, LogSource::launcher, 1,
                   fmt::format("starts all ranks again, attempt {}{}{}", what.attempt,
                               reason.empty() ? "" : ": ", reason));
    }
    // The errors of a rank itself stand in its own traceback; without one, as in an imported job, here.
    bool fill_line(const Event& event, const MemoryOom& what, LogLine& line) const {
        if (printed_nearby(errors_, event) || what.requested <= 0) return false;
        return put(line, LogSource::rank, 2,
                   fmt::format("out of {} memory: tried to allocate {} bytes, {} are free", text(what.where),
                               what.requested, what.available));
    }
    bool fill_line(const Event& event, const PackageLoad& what, LogLine& line) const {
        if (what.result == Code::ok || printed_nearby(errors_, event)) return false;
        return put(line, LogSource::rank, 2,
                   fmt::format("import of {}: {}", text(what.name), text(what.problem)));
    }
    bool fill_line(const Event& event, const CheckpointSave& what, LogLine& line) const {
        if (what.result == Code::ok || printed_nearby(errors_, event)) return false;
        return put(line, LogSource::rank, 2,
                   fmt::format("save of {}: {}", text(what.path), name_of(what.result)));
    }
    bool fill_line(const Event& event, const CheckpointLoad& what, LogLine& line) const {
        if (what.result == Code::ok || printed_nearby(errors_, event)) return false;
        return put(line, LogSource::rank, 2,
                   fmt::format("load of {}: {}", text(what.path), name_of(what.result)));
    }
    template <class Other>
    bool fill_line(const Event&, const Other&, LogLine&) const {
        return false;
    }

    const Evidence& evidence_;
    const ErrorTimes& errors_;
};

// Where alike lines become one: those of one source and text, within a second of the first. No line moves
// before one that may have caused it: what its own ranks printed, or the launcher. So "Sending process 1000",
// "rank 0 killed", "Sending process 1001", "rank 1 killed" remain four lines.
class AlikeLines {
public:
    using Key = std::pair<LogSource, std::string>;

    // The place of the line that `line` joins; `next`, where a line of its own would stand, if it joins none.
    std::size_t place_of(Key key, const LogLine& line, std::size_t next) {
        const std::size_t least = earliest_place(line, next);
        std::deque<First>& firsts = firsts_[std::move(key)];
        while (!firsts.empty() && line.at - firsts.front().at >= together) firsts.pop_front();
        const auto found =
            std::find_if(firsts.begin(), firsts.end(), [&](const First& one) { return one.place >= least; });
        const std::size_t place = found == firsts.end() ? next : found->place;
        if (found == firsts.end()) firsts.push_back({line.at, next});
        for (const Rank rank : line.ranks) last_of_[rank] = place;
        if (line.ranks.empty()) behind_job_ = place + 1;
        return place;
    }

private:
    struct First {
        Time at;
        std::size_t place;
    };

    // A rank's line may join its own last one. A line of the launcher may follow from all others.
    std::size_t earliest_place(const LogLine& line, std::size_t next) const {
        if (line.ranks.empty()) return next == 0 ? 0 : next - 1;
        std::size_t least = behind_job_;
        for (const Rank rank : line.ranks) {
            if (const auto last = last_of_.find(rank); last != last_of_.end())
                least = std::max(least, last->second);
        }
        return least;
    }

    std::map<Key, std::deque<First>> firsts_;
    std::map<Rank, std::size_t> last_of_;
    std::size_t behind_job_ = 0;
};

std::vector<LogLine> folded_lines(const Evidence& evidence) {
    const ErrorTimes errors = error_times(evidence);
    const Printed printed(evidence, errors);
    std::vector<LogLine> lines;
    AlikeLines alike;
    for (const Event& event : evidence.events()) {
        LogLine line;
        if (!printed.describe(event, line)) continue;
        if (event.rank != no_rank) line.ranks.push_back(event.rank);
        const std::size_t place = alike.place_of({line.source, line.text}, line, lines.size());
        if (place == lines.size() || event.rank == no_rank)
            lines.push_back(std::move(line));
        else
            lines[place].ranks.push_back(event.rank);
    }
    return lines;
}

std::size_t keep_most(std::vector<LogLine>& lines, std::size_t lines_most) {
    if (lines.size() <= lines_most) return 0;
    const std::size_t all = lines.size(), part = lines_most / 3;
    std::vector<LogLine> kept;
    std::size_t errors = 0;
    for (std::size_t i = 0; i < all; ++i) {
        const bool edge = i < part || i + part >= all;
        if (edge || (lines[i].level > 0 && errors++ < part)) kept.push_back(std::move(lines[i]));
    }
    lines = std::move(kept);
    return all - lines.size();
}

}  // namespace

LogLines log_lines(const Evidence& evidence, std::size_t lines_most) {
    LogLines logs;
    logs.lines = folded_lines(evidence);
    logs.left_out = keep_most(logs.lines, lines_most);
    for (LogLine& line : logs.lines) {
        std::sort(line.ranks.begin(), line.ranks.end());
        line.ranks.erase(std::unique(line.ranks.begin(), line.ranks.end()), line.ranks.end());
    }
    return logs;
}

namespace {

// A rank's own number is no difference between lines: "[Rank 7] Watchdog caught" and "[Rank 3] Watchdog caught" are
// alike, and so are lines of the launcher that name one process each.
std::string without_own_number(const LogLine& line) {
    std::string text = line.text;
    const bool launcher = line.source == LogSource::launcher;
    if (!launcher && line.ranks.size() != 1) return text;
    const std::string own = launcher ? "" : std::to_string(line.ranks.front());
    for (const std::string_view word : {"Rank ", "rank ", "[rank", "process "}) {
        for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
            const std::size_t from = at + word.size();
            std::size_t end = from;
            while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
            const bool mine = launcher ? word == "process " : text.compare(from, end - from, own) == 0;
            if (end > from && mine) text.replace(from, end - from, "*");
        }
    }
    return text;
}

// "[rank3]:   File" is a line of rank 3's traceback.
std::string_view behind_prefix(std::string_view text) {
    const std::size_t end = text.find("]: ");
    return text.starts_with("[rank") && end != text.npos ? text.substr(end + 3) : text;
}

// A traceback keeps the lines of the program and of the error; those within installed packages become one.
void fold_packages(std::vector<LogLine>& lines) {
    std::map<std::pair<LogSource, std::vector<Rank>>, std::size_t>
        left_out;  // of the frame that is open, by who prints
    std::vector<LogLine> kept;
    for (LogLine& line : lines) {
        const std::string_view text = behind_prefix(line.text);
        std::size_t& count = left_out[{line.source, line.ranks}];
        const auto frame = text.starts_with("  ") ? analysis::read_frame(text.substr(2)) : std::nullopt;
        const bool in_package =
            frame ? !analysis::is_program_file(frame->file) : count > 0 && text.starts_with("    ");
        if (in_package) {
            ++count;
            continue;
        }
        if (count > 0) {
            LogLine note = line;
            note.text = line.text.substr(0, line.text.size() - text.size()) +
                        fmt::format("  … {} lines within installed packages", std::exchange(count, 0));
            kept.push_back(std::move(note));
        }
        kept.push_back(std::move(line));
    }
    lines = std::move(kept);
}

// The first of alike lines stays, with the ranks and the number of all.
struct RepeatedLine {
    LogLine line;
    std::size_t count = 1;
};

std::vector<RepeatedLine> fold_alike(std::vector<LogLine> lines) {
    std::vector<RepeatedLine> folded;
    AlikeLines alike;
    for (LogLine& line : lines) {
        const std::size_t place =
            alike.place_of({line.source, without_own_number(line)}, line, folded.size());
        if (place == folded.size()) {
            folded.push_back({std::move(line), 1});
            continue;
        }
        RepeatedLine& first = folded[place];
        first.line.ranks.insert(first.line.ranks.end(), line.ranks.begin(), line.ranks.end());
        std::sort(first.line.ranks.begin(), first.line.ranks.end());
        ++first.count;
    }
    return folded;
}

}  // namespace

// A traceback keeps its lines; lines behind the first have no time of their own.
Clue log_clue(const Evidence& evidence, std::size_t lines_most) {
    constexpr std::size_t read_most = 4'000;
    LogLines logs = log_lines(evidence, read_most);
    std::erase_if(logs.lines, [](const LogLine& line) {
        return line.source == LogSource::exit_status ||
               (line.source == LogSource::launcher && line.level == 0);
    });
    fold_packages(logs.lines);
    Clue clue{"what was printed", {}};
    std::size_t told = 0;
    for (const auto& [line, count] : fold_alike(std::move(logs.lines))) {
        if (told++ >= lines_most) {
            ++logs.left_out;
            continue;
        }
        const std::string from = line.source == LogSource::rank
                                     ? who_text(line.ranks)
                                     : std::string(scenarios::enum_name(line.source));
        std::string before = fmt::format("{:>10}  {}  ", duration_text(line.at), pad_right(from, 12));
        std::string_view rest = line.text;
        while (rest.ends_with('\n')) rest.remove_suffix(1);
        do {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            clue.lines.push_back(before + std::string(rest.substr(0, end)));
            before.assign(columns_of(before), ' ');
            rest.remove_prefix(std::min(end + 1, rest.size()));
        } while (!rest.empty());
        if (count > 1) clue.lines.back() += fmt::format("   (and {} alike)", count - 1);
    }
    if (logs.left_out > 0) clue.lines.push_back(fmt::format("… and {} more lines", logs.left_out));
    if (clue.lines.empty()) clue.lines.push_back("nothing");
    return clue;
}

}  // namespace deadrank::results::reports

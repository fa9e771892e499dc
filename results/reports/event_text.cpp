// results/reports/event_text.cpp — Events as one line each, and the log lines worth showing.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <type_traits>

#include "results/record/words.h"
#include "results/reports/clues.h"
#include "results/reports/style.h"
#include "results/reports/terminal.h"

namespace deadrank::results::reports {

// Visits a payload's fields in the order in which they are declared.

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

std::string event_text(const Evidence& evidence, const Event& event) {
    const std::string who = event.rank == no_rank ? "job" : fmt::format("rank {}", event.rank);
    const auto micros = event.at.count() / 1'000;
    const std::string when = fmt::format("{}.{:06} s", micros / 1'000'000, micros % 1'000'000);
    return fmt::format("{:>14}  {:<8}  {:<16}  {}", when, who, kind_name(event),
                       fields_text(evidence, event));
}

// Lines are told apart by kind and text; equal ones within a second become one.

namespace {

// What a reader of logs wants to see; the rest is on the timeline.
bool describe(const Evidence& evidence, const Event& event, LogLine& line) {
    line.at = event.at;
    line.kind = kind_name(event);
    if (const auto* log = event.as<RankLog>()) {
        line.level = log->level;
        line.text = evidence.text(log->line);
        return true;
    }
    if (const auto* exit = event.as<RankExit>()) line.level = exit->code != 0 || exit->signal != 0 ? 2 : 0;
    if (const auto* load = event.as<PackageLoad>()) line.level = load->result != Code::ok ? 2 : -1;
    if (const auto* save = event.as<CheckpointSave>()) line.level = save->result != Code::ok ? 2 : -1;
    if (const auto* load = event.as<CheckpointLoad>()) line.level = load->result != Code::ok ? 2 : -1;
    if (const auto* test = event.as<TestResult>()) line.level = test->passed ? 0 : 2;
    if (event.as<CommError>() || event.as<DeviceError>() || event.as<MemoryOom>()) line.level = 2;
    if (event.as<CommAbort>() || event.as<Restart>()) line.level = 1;
    const bool shown = line.level > 0 || event.as<RankExit>() || event.as<JobStart>() ||
                       event.as<JobStop>() || event.as<TestResult>();
    if (shown) line.text = fields_text(evidence, event);
    return shown;
}

std::vector<LogLine> folded_lines(const Evidence& evidence) {
    constexpr Time together = std::chrono::seconds(1);
    std::vector<LogLine> lines;
    std::map<std::pair<std::string, std::string>, std::size_t> latest;
    for (const Event& event : evidence.events()) {
        LogLine line;
        if (!describe(evidence, event, line)) continue;
        const auto key = std::pair(line.kind, line.text);
        const auto known = latest.find(key);
        if (event.rank != no_rank && known != latest.end() && event.at - lines[known->second].at < together) {
            lines[known->second].ranks.push_back(event.rank);
            continue;
        }
        latest[key] = lines.size();
        if (event.rank != no_rank) line.ranks.push_back(event.rank);
        lines.push_back(std::move(line));
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

Clue log_clue(const Evidence& evidence, std::size_t lines_most) {
    constexpr std::size_t letters_most = 420;
    LogLines logs = log_lines(evidence, lines_most);
    std::erase_if(logs.lines, [](const LogLine& line) {
        return line.kind == "job.start" || (line.kind == "rank.exit" && line.level == 0);
    });
    Clue clue{"what was printed", {}};
    for (const LogLine& line : logs.lines) {
        const std::string kind = line.kind == "rank.log" ? "" : line.kind + " ";
        clue.lines.push_back(fmt::format("{:>12}  {}  {}{}", duration_text(line.at),
                                         pad_right(Style{}.cut(who_text(line.ranks), 17), 18), kind,
                                         Style{}.cut(one_line(line.text), letters_most)));
    }
    if (logs.left_out > 0) clue.lines.push_back(fmt::format("… and {} more lines", logs.left_out));
    if (clue.lines.empty()) clue.lines.push_back("nothing at all");
    return clue;
}

}  // namespace deadrank::results::reports

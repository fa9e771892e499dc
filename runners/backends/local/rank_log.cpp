// runners/backends/local/rank_log.cpp — Patterns of our own training program and of torchrun 1.13 to 2.11.
#include "runners/backends/local/rank_log.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <map>
#include <regex>

#include "results/record/log_level.h"

namespace deadrank::runners {

namespace {

bool holds_words(const std::string& line, std::string_view words) {
    return line.find(words) != std::string::npos;
}

// torchrun's table: "  exitcode  : -6 (pid: 13879)"; its earlier line: "failed (exitcode: -6) local_rank: 1
// (pid: 13879)"; and "Sending process 13878 closing signal SIGTERM".
void read_exit(const std::string& line, std::map<int, ExitReport>& exits) {
    static const std::regex table(R"(exitcode\s*:\s*(-?\d+)\)?.*\(pid:\s*(\d+)\))");
    static const std::regex closing(R"(ending process (\d+) closing signal SIGTERM)");
    static const std::regex forced(R"(shutdown process (\d+) via)");
    std::smatch found;
    if (holds_words(line, "exitcode") && std::regex_search(line, found, table)) {
        const int code = std::atoi(found[1].str().c_str());
        exits[std::atoi(found[2].str().c_str())] = {code < 0 ? 0 : code, code < 0 ? -code : 0};
    } else if (holds_words(line, "closing signal") && std::regex_search(line, found, closing)) {
        exits.try_emplace(std::atoi(found[1].str().c_str()), ExitReport{0, 15});
    } else if (holds_words(line, "shutdown process") && std::regex_search(line, found, forced)) {
        exits[std::atoi(found[1].str().c_str())] = {0, 9};
    }
}

// mpirun's four ways to report an exit, by rank. `named`: the rank of its last "Process name".
void read_end(const std::string& line, results::Rank& named, std::map<results::Rank, ExitReport>& ends) {
    static const std::regex killed(R"(process rank (\d+) with PID \d+ on node .* exited on signal (\d+))");
    static const std::regex name(R"(Process name: \[\[\d+,\d+\],(\d+)\])");
    static const std::regex code(R"(^\s*Exit code:\s+(\d+))");
    static const std::regex aborted(
        R"(MPI_ABORT was invoked on rank (\d+)|reported by process \[\d+,(\d+)\])");
    std::smatch found;
    const auto number = [&](std::size_t group) { return std::atoi(found[group].str().c_str()); };
    if (holds_words(line, "exited on signal") && std::regex_search(line, found, killed)) {
        ends[number(1)] = {0, number(2)};
    } else if (holds_words(line, "Process name:") && std::regex_search(line, found, name)) {
        named = number(1);
    } else if (named >= 0 && holds_words(line, "Exit code:") && std::regex_search(line, found, code)) {
        ends[named] = {number(1), 0};
    } else if ((holds_words(line, "MPI_ABORT") || holds_words(line, "reported by")) &&
               std::regex_search(line, found, aborted)) {
        ends[number(found[1].matched ? 1 : 2)] = {code_of_launcher, 0};
    }
}

// "config name=value name=value"
void read_config(const Line& line, results::Time at, results::EventSink& sink) {
    static const std::regex pair(R"((\w+)=(\S+))");
    for (std::sregex_iterator word(line.text.begin(), line.text.end(), pair), end; word != end; ++word) {
        sink.record(
            {at, line.rank, results::RankConfig{sink.text((*word)[1].str()), sink.text((*word)[2].str())}});
    }
}

// "shard tensor=flat offset=10 length=10 total=40"
void read_shard(const Line& line, results::Time at, results::EventSink& sink) {
    static const std::regex shape(R"(^shard tensor=(\S+) offset=(-?\d+) length=(-?\d+) total=(\d+))");
    std::smatch found;
    if (!std::regex_search(line.text, found, shape)) return;
    const auto number = [&](std::size_t group) { return std::atoll(found[group].str().c_str()); };
    sink.record(
        {at, line.rank, results::ShardLayout{sink.text(found[1].str()), number(2), number(3), number(4)}});
}

// "value name=reference.loss step=3 is=0.5 should=0.25": a quantity beside what the program expects of it
void read_value(const Line& line, results::Time at, results::EventSink& sink) {
    static const std::regex shape(R"(^value name=(\S+) step=(-?\d+) is=(\S+) should=(\S+))");
    std::smatch found;
    if (!std::regex_search(line.text, found, shape)) return;
    const auto number = [&](std::size_t group) { return std::strtod(found[group].str().c_str(), nullptr); };
    sink.record({at, line.rank,
                 results::ValueSample{std::atoll(found[2].str().c_str()), sink.text(found[1].str()),
                                      number(3), number(4)}});
}

// "batch epoch=0 step=3 samples=5,7": which samples a rank was given
void read_batch(const Line& line, results::Time at, results::EventSink& sink) {
    static const std::regex shape(R"(^batch epoch=(\d+) step=(\d+) samples=([\d,]+)$)");
    std::smatch found;
    if (!std::regex_search(line.text, found, shape)) return;
    const auto number = [&](std::size_t group) { return std::atoll(found[group].str().c_str()); };
    const std::string samples = found[3].str();
    const auto count = static_cast<std::int32_t>(std::count(samples.begin(), samples.end(), ',') + 1);
    sink.record({at, line.rank,
                 results::DataBatch{.step = number(2),
                                    .epoch = number(1),
                                    .first = number(3),
                                    .count = count,
                                    .samples = sink.text(samples)}});
}

void read_step(const Line& line, const StepPattern& steps, LogReading& reading) {
    std::smatch found;
    if (!std::regex_search(line.text, found, steps.pattern)) return;
    results::Rank rank = std::max<results::Rank>(0, line.rank);  // a line without a rank counts as rank 0's
    std::int64_t step = -1;
    PrintedStep printed{line.at, std::numeric_limits<double>::quiet_NaN(), {}};
    for (std::size_t i = 0; i < steps.fields.size(); ++i) {
        const std::string text = found[i + 1].str();
        const std::string& field = steps.fields[i];
        if (field == "rank") rank = std::atoi(text.c_str());
        if (field == "step") step = std::atoll(text.c_str());
        if (field == "loss") printed.loss = std::strtod(text.c_str(), nullptr);
        if (field == "digest") printed.digest = text;
    }
    reading.steps[{rank, step}] = std::move(printed);
}

}  // namespace

StepPattern own_steps() { return {std::regex(R"(^step=(\d+) loss=(\S+))"), {"step", "loss"}}; }

std::vector<Line> given_to_ranks(std::span<const Line> lines, const std::map<int, results::Rank>& ranks) {
    static const std::regex named(R"(^(?:\x1b\[[0-9;]*m)*\(\w+ pid=(\d+)[^)]*\)(?:\x1b\[[0-9;]*m)* ?)");
    static const std::regex colour(R"(\x1b\[[0-9;]*m)");
    std::vector<Line> given(lines.begin(), lines.end());
    for (Line& line : given) {
        std::smatch found;
        if (line.rank >= 0 || !holds_words(line.text, " pid=") || !std::regex_search(line.text, found, named))
            continue;
        const auto rank = ranks.find(std::atoi(found[1].str().c_str()));
        if (rank == ranks.end()) continue;
        line.rank = rank->second;
        line.text = std::regex_replace(found.suffix().str(), colour, "");
    }
    return given;
}

LogReading read_log(std::span<const Line> lines, Nanoseconds started, results::EventSink& sink,
                    const StepPattern& steps) {
    LogReading reading;
    results::Rank named = results::no_rank;
    std::map<results::Rank, results::LogLevels> levels;
    for (const Line& line : lines) {
        const results::Time at(line.at - started);
        sink.record(
            {at, line.rank,
             results::RankLog{levels[line.rank].of_next(line.text, line.error), sink.text(line.text)}});
        read_exit(line.text, reading.exits);
        read_end(line.text, named, reading.ends);
        if (!steps.fields.empty()) read_step(line, steps, reading);
        if (line.rank < 0) continue;
        if (line.text.starts_with("config ")) read_config(line, at, sink);
        if (line.text.starts_with("shard ")) read_shard(line, at, sink);
        if (line.text.starts_with("value ")) read_value(line, at, sink);
        if (line.text.starts_with("batch ")) read_batch(line, at, sink);
    }
    return reading;
}

}  // namespace deadrank::runners

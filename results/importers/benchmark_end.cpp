// results/importers/benchmark_end.cpp — A table is complete with its largest message size, which is a default
// of the benchmark or stands in its command line, or with the rule below it. One that stops earlier proves
// nothing: the job may have been killed. A summary is a total or a mean with a rate that the log has once;
// what is printed again and again is progress.
#include "results/importers/benchmark_end.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <initializer_list>
#include <iterator>

#include "results/record/words.h"

namespace deadrank::results::importers {

namespace {

// Defaults of the OSU micro-benchmarks: 1 MiB for collectives, 4 MiB between two ranks.
constexpr std::int64_t largest_of_collectives = 1 << 20, largest_of_pairs = 1 << 22;
constexpr std::string_view collectives[] = {"All",    "Barrier", "Bcast",   "Broadcast",
                                            "Gather", "Reduce",  "Scatter", "Neighbor"};

std::string_view trimmed_line(std::string_view text) {
    const std::size_t from = text.find_first_not_of(" \t");
    if (from == text.npos) return {};
    return text.substr(from, text.find_last_not_of(" \t\r") + 1 - from);
}

// The first number of a line that has nothing but numbers, at least so many of them; below 0 otherwise.
double first_of_numbers(std::string_view text, int least) {
    const std::string line(text.substr(0, 400));
    double first = -1;
    int count = 0;
    for (const char* at = line.c_str(); *at != '\0'; ++count) {
        char* end = nullptr;
        const double number = std::strtod(at, &end);
        if (end == at || (*end != '\0' && *end != ' ' && *end != '\t')) return -1;
        if (count == 0) first = number;
        while (*end == ' ' || *end == '\t') ++end;
        at = end;
    }
    return count >= least ? first : -1;
}

// "osu_bw -m 8:65536 D D": 65536. 0 where the line has no such command.
std::int64_t asked_size(std::string_view text) {
    const std::size_t program = text.find("osu_");
    const std::size_t option = program == text.npos ? text.npos : text.find(" -m ", program);
    if (option == text.npos) return 0;
    std::string_view sizes = text.substr(option + 4);
    sizes = sizes.substr(0, sizes.find(' '));
    sizes.remove_prefix(sizes.rfind(':') == sizes.npos ? 0 : sizes.rfind(':') + 1);
    return std::strtoll(std::string(sizes).c_str(), nullptr, 10);
}

// "Running benchmark", "python benchmarks/run_all.py", and not "cudnn_benchmark: False".
bool names_benchmark(std::string_view lower) {
    for (std::size_t at = lower.find("benchmark"); at != lower.npos; at = lower.find("benchmark", at + 1)) {
        std::size_t end = at;
        while (end < lower.size() && std::isalpha(static_cast<unsigned char>(lower[end]))) ++end;
        const bool option = end < lower.size() && has_any(lower.substr(end, 1), {"=", ":", "'", "\""});
        const bool part = at > 0 && (lower[at - 1] == '.' || lower[at - 1] == '_' || lower[at - 1] == '-');
        if (!option && !(part && lower.find("cudnn") != lower.npos)) return true;
    }
    return false;
}

// "Total throughput: 1234.5 samples/sec", "average busbw 98.1 GB/s".
bool is_summary(std::string_view lower) {
    return has_any(lower, {"total", "overall", "average", "avg ", "mean ", "aggregate"}) &&
           has_any(lower, {"/s", "flop", "per second"});
}

std::string letters_of(std::string_view text) {
    std::string letters;
    for (const char c : text.substr(0, 200))
        if (std::isalpha(static_cast<unsigned char>(c))) letters += c;
    return letters;
}

}  // namespace

bool BenchmarkEnd::take(std::string_view text, std::int64_t number) {
    if (const std::int64_t size = asked_size(text); size > 0) asked_ = size;
    if (opens(text)) return true;
    const std::string_view line = trimmed_line(text);
    if (table_ == Table::perftest && rows_ && line.size() >= 40 && line.find_first_not_of('-') == line.npos) {
        prove(text, number);
        table_ = Table::none;
        return true;
    }
    if (table_ != Table::none && row(line)) {
        if (table_ == Table::osu && (!sized_ || first_of_numbers(line, 1) == static_cast<double>(largest_)))
            prove(text, number);
        return true;
    }
    summary(line, number);
    return false;
}

// The title of a table, or the names of its columns.
bool BenchmarkEnd::opens(std::string_view text) {
    const std::string_view line = trimmed_line(text);
    const bool osu = line.starts_with("# OSU "),
               perftest = line.starts_with("#bytes ") && line.find("#iterations") != line.npos;
    if (osu || perftest) {
        table_ = osu ? Table::osu : Table::perftest;
        const bool collective = std::any_of(std::begin(collectives), std::end(collectives),
                                            [&](auto name) { return line.find(name) != line.npos; });
        largest_ = asked_ > 0 ? asked_ : collective ? largest_of_collectives : largest_of_pairs;
        sized_ = true;
        rows_ = false;
        proof_.clear();
        return true;
    }
    if (table_ != Table::osu || !line.starts_with('#')) return false;
    if (line.find("Latency(us)") != line.npos) sized_ = line.find("Size") != line.npos;
    return true;
}

bool BenchmarkEnd::row(std::string_view line) {
    if (first_of_numbers(line, sized_ ? 2 : 1) < 0) return false;
    rows_ = true;
    proof_.clear();
    return true;
}

// "Iter #3: 231.4 img/sec", three times or more, and then "Total img/sec on 8 GPUs: 1848.2" for the first
// time.
void BenchmarkEnd::summary(std::string_view line, std::int64_t number) {
    constexpr int again = 3;
    constexpr std::size_t kinds_most = 4096;
    const std::string lower = lowered(line.substr(0, 400));
    named_ |= names_benchmark(lower);
    if (!named_ || lower.find_first_of("0123456789") == lower.npos) return;
    std::string words = letters_of(lower);
    if (printed_.size() >= kinds_most && !printed_.contains(words)) return;
    const int times = ++printed_[std::move(words)];
    repeats_ |= times >= again;
    if (!is_summary(lower)) return;
    if (times == 1 && repeats_) {
        prove(line, number);
        by_summary_ = true;
    } else if (by_summary_) {
        proof_.clear();
    }
}

void BenchmarkEnd::prove(std::string_view text, std::int64_t number) {
    proof_ = trimmed_line(text.substr(0, 200));
    by_summary_ = false;
    proved_ = number;
}

}  // namespace deadrank::results::importers

// results/record/subject.cpp — The program under test, as its job's first event names it, and how long its
// processes waited for a processor.
#include "results/record/subject.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>

namespace deadrank::results {

// ── Lines of name=value, written and read back.

std::string subject_lines(const Subject& subject) {
    std::string lines =
        fmt::format("subject={}\nframework={}\nversion={}\ntimeout={}\ndebug={}", subject.name,
                    subject.framework, subject.version, subject.timeout.count(), subject.debug);
    if (!subject.compares.empty()) lines += fmt::format("\ncompares={}", fmt::join(subject.compares, ","));
    return lines;
}

Subject subject_of(const Evidence& evidence) {
    const auto starts = evidence.each<JobStart>();
    const std::string_view what = starts.empty() ? "" : evidence.text(starts.front()->as<JobStart>()->what);
    const std::string lines = "\n" + std::string(what) + "\n";
    const auto value = [&](const std::string& name) -> std::string {
        const std::size_t at = lines.find("\n" + name + "=");
        if (at == std::string::npos) return {};
        const std::size_t begin = at + name.size() + 2;
        return lines.substr(begin, lines.find('\n', begin) - begin);
    };
    Subject subject{value("subject"), value("framework"), value("version"),
                    Time{std::atoll(value("timeout").c_str())}, value("debug")};
    std::istringstream settings(value("compares"));
    for (std::string one; std::getline(settings, one, ',');) subject.compares.insert(one);
    return subject;
}

// From the last sample before to the first sample after: too much rather than too little.
Time waited_between(const Waiting& waiting, Time begin, Time end) {
    if (waiting.empty()) return Time(0);
    const auto after = waiting.upper_bound(begin);
    const Time before = after == waiting.begin() ? Time(0) : std::prev(after)->second;
    const auto last = waiting.lower_bound(end);
    const Time until = last == waiting.end() ? waiting.rbegin()->second : last->second;
    return std::max(Time(0), until - before);
}

}  // namespace deadrank::results

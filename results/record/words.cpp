// results/record/words.cpp — Sentences about ranks, steps and times; numbers found in a line.
#include "results/record/words.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <string>

namespace deadrank::results {

using scenarios::BlameField;

// ── Rounds in integers, so that a report is the same on every machine.

namespace {

struct Unit {
    std::int64_t size;
    std::string_view name;
};

// One digit after the point below a hundred, none above.
std::string in_unit(std::int64_t nanoseconds, Unit unit) {
    const std::int64_t tenths = (nanoseconds * 10 + unit.size / 2) / unit.size;
    if (unit.size == 1) return fmt::format("{} {}", nanoseconds, unit.name);
    if (tenths >= 1'000) return fmt::format("{} {}", (tenths + 5) / 10, unit.name);
    return fmt::format("{}.{} {}", tenths / 10, tenths % 10, unit.name);
}

std::string in_two(std::int64_t count, std::int64_t per, std::string_view large, std::string_view small) {
    if (count % per == 0) return fmt::format("{} {}", count / per, large);
    return fmt::format("{} {} {} {}", count / per, large, count % per, small);
}

std::string numbers_text(std::string_view one, const std::vector<std::int32_t>& numbers) {
    return fmt::format("{}{} {}", one, numbers.size() == 1 ? "" : "s", ranges_text(numbers));
}

std::string field_text(const Blame& blame, BlameField field) {
    switch (field) {
        case BlameField::rank:
            return blame.ranks.empty() ? "" : numbers_text("rank", blame.ranks);
        case BlameField::node:
            return blame.nodes.empty() ? "" : numbers_text("node", blame.nodes);
        case BlameField::step:
            return blame.step && *blame.step >= 0 ? fmt::format("step {}", *blame.step) : "";
        case BlameField::variable:
            return blame.variable;
        case BlameField::component:
            return blame.component;
        case BlameField::collective:
            return blame.collective;
        case BlameField::shard:
            return blame.shard.empty() ? "" : "shard " + blame.shard;
    }
    return {};
}

}  // namespace

std::string duration_text(Time time) {
    if (time == never) return "never";
    if (time < Time{0}) return "-" + duration_text(-time);
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t n = time.count();
    if (n < 1'000) return in_unit(n, {1, "ns"});
    if (n < 1'000'000) return in_unit(n, {1'000, "µs"});
    if (n < second) return in_unit(n, {1'000'000, "ms"});
    if (n < 120 * second) return in_unit(n, {second, "s"});
    const std::int64_t seconds = n / second;
    if (seconds < 7'200) return in_two(seconds, 60, "min", "s");
    if (seconds < 172'800) return in_two(seconds / 60, 60, "h", "min");
    return in_two(seconds / 3'600, 24, "d", "h");
}

std::string after_text(Time delay, std::string_view what) {
    return delay == Time{0} ? "at once" : fmt::format("{} after {}", duration_text(delay), what);
}

std::string number_text(double number, double beside) {
    for (const int figures : {6, 9, 12}) {
        std::string text = fmt::format("{:.{}g}", number, figures);
        if (number == beside || text != fmt::format("{:.{}g}", beside, figures)) return text;
    }
    return fmt::format("{}", number);
}

std::string ranges_text(const std::vector<std::int32_t>& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        if (!text.empty()) text += ",";
        text += std::to_string(numbers[i]);
        if (last > i) text += (last == i + 1 ? "," : "-") + std::to_string(numbers[last]);
        i = last + 1;
    }
    return text;
}

std::string blame_text(const Blame& blame, const scenarios::BlameFields& fields) {
    std::string text;
    for (const BlameField field : fields) {
        const std::string words = field_text(blame, field);
        if (words.empty()) continue;
        if (!text.empty()) text += ", ";
        text += words;
    }
    return text.empty() ? "nobody" : text;
}

std::string blame_text(const Blame& blame) {
    return blame_text(blame, {BlameField::rank, BlameField::node, BlameField::step, BlameField::variable,
                              BlameField::component, BlameField::collective, BlameField::shard});
}

bool has(const std::vector<std::string>& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return text.find(word) != text.npos; });
}

std::string lowered(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

std::string counted(std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Anything between digits separates two numbers.
std::vector<Rank> numbers_in(std::string_view text) {
    const std::string whole(text);
    std::vector<Rank> numbers;
    for (std::size_t at = 0; at < whole.size();) {
        if (whole[at] < '0' || whole[at] > '9') {
            ++at;
            continue;
        }
        char* end = nullptr;
        numbers.push_back(static_cast<Rank>(std::strtol(whole.c_str() + at, &end, 10)));
        at = static_cast<std::size_t>(end - whole.c_str());
    }
    return numbers;
}

}  // namespace deadrank::results

// results/importers/stamp.cpp — Times as programs write them. One without a time zone is taken for UTC:
// within one incident only differences count.
#include <array>
#include <chrono>
#include <cstdio>
#include <string>

#include "results/importers/wrapping.h"

namespace deadrank::results::importers {

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

bool a_digit(char c) { return c >= '0' && c <= '9'; }
std::size_t digits_at(std::string_view text, std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && a_digit(text[end])) ++end;
    return end - from;
}

struct Clock {
    int year = 0;
    unsigned month = 0, day = 0;
    int hour = 0, minute = 0, seconds = 0;
};

std::optional<std::int64_t> since_1970(const Clock& c) {
    using namespace std::chrono;
    const year_month_day date{std::chrono::year{c.year}, std::chrono::month{c.month},
                              std::chrono::day{c.day}};
    if (!date.ok() || c.year < 1990 || c.year > 2199 || c.hour > 24 || c.minute > 60 || c.seconds > 61)
        return std::nullopt;
    return (sys_days{date}.time_since_epoch().count() * 86'400LL + c.hour * 3600 + c.minute * 60 +
            c.seconds) *
           second;
}

// ".123456", ",123", "Z", "+02:00" after a time of day.
void read_tail(std::string_view text, Stamp& stamp) {
    if (stamp.size < text.size() && (text[stamp.size] == '.' || text[stamp.size] == ',') &&
        digits_at(text, stamp.size + 1) > 0) {
        std::int64_t unit = second;
        for (++stamp.size; stamp.size < text.size() && a_digit(text[stamp.size]); ++stamp.size) {
            unit /= 10;
            stamp.at += (text[stamp.size] - '0') * unit;
        }
    }
    if (stamp.size >= text.size()) return;
    const char zone = text[stamp.size];
    if (zone == 'Z') ++stamp.size;
    int hours = 0, minutes = 0, read = 0;
    if ((zone == '+' || zone == '-') &&
        (std::sscanf(std::string(text.substr(stamp.size + 1, 6)).c_str(), "%2d:%2d%n", &hours, &minutes,
                     &read) == 2 ||
         std::sscanf(std::string(text.substr(stamp.size + 1, 5)).c_str(), "%2d%2d%n", &hours, &minutes,
                     &read) == 2) &&
        read >= 4) {
        stamp.at -= (zone == '+' ? 1 : -1) * (hours * 3600LL + minutes * 60) * second;
        stamp.size += 1 + static_cast<std::size_t>(read);
    }
}

unsigned month_named(std::string_view name) {
    for (std::size_t i = 0; i < months.size(); ++i) {
        if (name.starts_with(months[i])) return static_cast<unsigned>(i + 1);
    }
    return 0;
}

std::optional<Clock> numeric_clock(const std::string& words, int year, int& read, bool& dated) {
    Clock c;
    char half = 0;
    dated = true;
    if (std::sscanf(words.c_str(), "%4d-%2u-%2u%*1[T_ ]%2d:%2d:%2d%n", &c.year, &c.month, &c.day, &c.hour,
                    &c.minute, &c.seconds, &read) == 6 ||
        std::sscanf(words.c_str(), "%4d/%2u/%2u %2d:%2d:%2d%n", &c.year, &c.month, &c.day, &c.hour, &c.minute,
                    &c.seconds, &read) == 6)
        return c;
    if (std::sscanf(words.c_str(), "%2u/%2u/%4d%*1[, ]%2d:%2d:%2d%n", &c.month, &c.day, &c.year, &c.hour,
                    &c.minute, &c.seconds, &read) == 6 ||
        std::sscanf(words.c_str(), "%2u/%2u/%4d, %2d:%2d:%2d%n", &c.month, &c.day, &c.year, &c.hour,
                    &c.minute, &c.seconds, &read) == 6) {
        int more = 0;
        if (std::sscanf(words.c_str() + read, " %c%*1[M]%n", &half, &more) == 1 && more > 0 &&
            (half == 'A' || half == 'P')) {
            c.hour = c.hour % 12 + (half == 'P' ? 12 : 0);
            read += more;
        }
        return c;
    }
    dated = false;
    unsigned date = 0;
    if (std::sscanf(words.c_str(), "%4u %2d:%2d:%2d%n", &date, &c.hour, &c.minute, &c.seconds, &read) == 4) {
        c.year = year, c.month = date / 100, c.day = date % 100;
        return c;
    }
    return std::nullopt;
}

std::optional<Clock> named_clock(const std::string& words, int year, int& read, bool& dated) {
    std::array<char, 4> weekday{}, month{};
    Clock c;
    if (std::sscanf(words.c_str(), "%3[A-Z a-z] %3[A-Za-z] %2u %2d:%2d:%2d%n", weekday.data(), month.data(),
                    &c.day, &c.hour, &c.minute, &c.seconds, &read) == 6) {
        int more = 0;
        dated = std::sscanf(words.c_str() + read, "%*1[ ]%4d%n", &c.year, &more) == 1;
        if (!dated) {
            // "Sat Jan 31 10:00:00 UTC 2026"
            dated = std::sscanf(words.c_str() + read, " %*[A-Z] %4d%n", &c.year, &more) == 1;
        }
        read += dated ? more : 0;
    } else if (std::sscanf(words.c_str(), "%3[A-Za-z] %2u %2d:%2d:%2d%n", month.data(), &c.day, &c.hour,
                           &c.minute, &c.seconds, &read) == 5) {
        dated = false;
    } else {
        return std::nullopt;
    }
    if (!dated) c.year = year;
    c.month = month_named(month.data());
    return c;
}

}  // namespace

int year_of(std::int64_t at) {
    using namespace std::chrono;
    return static_cast<int>(year_month_day{floor<days>(sys_time<nanoseconds>{nanoseconds{at}})}.year());
}

std::optional<Stamp> read_stamp(std::string_view text, int year) {
    if (text.size() < 12) return std::nullopt;
    const bool numeric = a_digit(text[0]);
    if (!numeric && !(text[0] >= 'A' && text[0] <= 'Z')) return std::nullopt;
    // Most lines have no stamp: a quick check before sscanf.
    const std::size_t colon = text.substr(0, 24).find(':');
    if (colon == text.npos || colon + 3 >= text.size() || text[colon + 3] != ':') return std::nullopt;
    const std::string words(text.substr(0, 40));
    int read = 0;
    bool dated = false;
    const auto clock =
        numeric ? numeric_clock(words, year, read, dated) : named_clock(words, year, read, dated);
    if (!clock) return std::nullopt;
    const auto at = since_1970(*clock);
    if (!at) return std::nullopt;
    Stamp stamp{*at, static_cast<std::size_t>(read), dated};
    read_tail(text, stamp);
    return stamp;
}

}  // namespace deadrank::results::importers

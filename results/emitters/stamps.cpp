// results/emitters/stamps.cpp — Calendar arithmetic is the library's; only the spelling is ours.
#include "results/emitters/stamps.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>

#include "results/emitters/c10d_names.h"

namespace deadrank::results::emitters {

namespace {

constexpr std::array<const char*, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::int64_t second = 1'000'000'000;

struct Parts {
    int year = 0, weekday = 0;
    unsigned month = 1, day = 1;
    int hour = 0, minute = 0, seconds = 0;
    std::int64_t nanoseconds = 0;
};

Parts parts_of(Time at) {
    using namespace std::chrono;
    const nanoseconds since{wall_clock(at)};
    const auto day = floor<std::chrono::days>(since);
    const year_month_day date{sys_days{day}};
    const std::int64_t rest = (since - day).count(), of_day = rest / second;
    return {static_cast<int>(date.year()),       static_cast<int>(weekday{sys_days{day}}.c_encoding()),
            static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
            static_cast<int>(of_day / 3600),     static_cast<int>(of_day / 60 % 60),
            static_cast<int>(of_day % 60),       rest % second};
}

std::optional<std::int64_t> nanoseconds_of(const Parts& parts) {
    using namespace std::chrono;
    const year_month_day date{year{parts.year}, month{parts.month}, day{parts.day}};
    if (!date.ok() || parts.hour > 24 || parts.minute > 60 || parts.seconds > 61) return std::nullopt;
    const std::int64_t midnight = sys_days{date}.time_since_epoch().count() * 86'400LL;
    return (midnight + parts.hour * 3600 + parts.minute * 60 + parts.seconds) * second + parts.nanoseconds;
}

}  // namespace

std::string c10_stamp(Time at) {
    const Parts p = parts_of(at);
    return fmt::format("{}{:02} {:02}:{:02}:{:02}.{:09}", p.month, p.day, p.hour, p.minute, p.seconds,
                       p.nanoseconds);
}

std::string glog_stamp(Time at) {
    const Parts p = parts_of(at);
    return fmt::format("{:02}{:02} {:02}:{:02}:{:02}.{:06}", p.month, p.day, p.hour, p.minute, p.seconds,
                       p.nanoseconds / 1000);
}

std::string nccl_stamp(Time at) {
    const Parts p = parts_of(at);
    return fmt::format("{}-{:02}-{:02} {:02}:{:02}:{:02}", p.year, p.month, p.day, p.hour, p.minute,
                       p.seconds);
}

std::string kernel_stamp(Time at) {
    const Parts p = parts_of(at);
    return fmt::format("{} {} {:2} {:02}:{:02}:{:02} {}", days[static_cast<std::size_t>(p.weekday)],
                       months[p.month - 1], p.day, p.hour, p.minute, p.seconds, p.year);
}

std::string iso_stamp(Time at) {
    const Parts p = parts_of(at);
    return fmt::format("{}-{:02}-{:02}T{:02}:{:02}:{:02}Z", p.year, p.month, p.day, p.hour, p.minute,
                       p.seconds);
}

std::optional<std::int64_t> read_nccl_stamp(std::string_view text) {
    Parts p;
    const std::string words(text.substr(0, 30));
    if (std::sscanf(words.c_str(), "%4d-%2u-%2u %2d:%2d:%2d", &p.year, &p.month, &p.day, &p.hour, &p.minute,
                    &p.seconds) != 6)
        return std::nullopt;
    return nanoseconds_of(p);
}

}  // namespace deadrank::results::emitters

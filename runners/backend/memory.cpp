// runners/backend/memory.cpp — How much memory this machine has left for a run, how much this process uses,
// and how many processors there are.
#include "runners/backend/memory.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace deadrank::runners {

namespace {

constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

// The number after `name` in a file of "name value" lines.
std::optional<std::int64_t> number_in(const std::string& file, std::string_view name) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(name)) return std::strtoll(line.c_str() + name.size(), nullptr, 10);
    }
    return std::nullopt;
}

std::optional<std::int64_t> number_of(const std::string& file) { return number_in(file, ""); }

std::int64_t free_in_machine() {
    const auto kibibytes = number_in("/proc/meminfo", "MemAvailable:");
    return kibibytes ? *kibibytes << 10 : unbounded;
}

// File pages that nobody uses count as used by the group, and are given up when it needs memory.
std::int64_t free_in_group() {
    std::ifstream lines("/proc/self/cgroup");
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("0::")) continue;
        const std::string group = "/sys/fs/cgroup" + line.substr(3);
        std::string most;
        std::ifstream(group + "/memory.max") >> most;
        const auto used = number_of(group + "/memory.current");
        if (!used || most.empty() || most == "max") return unbounded;
        const std::int64_t files = number_in(group + "/memory.stat", "inactive_file ").value_or(0);
        return std::strtoll(most.c_str(), nullptr, 10) - *used + files;
    }
    return unbounded;
}

// The pages of /proc/self/statm: of the address space (0), in memory (1).
std::int64_t pages(int which) {
    std::ifstream file("/proc/self/statm");
    std::int64_t number = 0;
    for (int i = 0; i <= which; ++i) file >> number;
    return file ? number * sysconf(_SC_PAGESIZE) : 0;
}

std::int64_t free_in_address_space() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unbounded;
    return static_cast<std::int64_t>(limit.rlim_cur) - pages(0);
}

}  // namespace

std::int64_t free_memory() {
    return std::max<std::int64_t>(std::min({free_in_machine(), free_in_group(), free_in_address_space()}), 0);
}

std::int64_t resident_memory() { return pages(1); }

scenarios::Result<std::int64_t> read_memory(const std::string& words) {
    char* end = nullptr;
    const double number = std::strtod(words.c_str(), &end);
    std::string unit = end;
    for (char& letter : unit) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    constexpr std::array<std::string_view, 5> units = {"", "k", "m", "g", "t"};
    const auto found = std::find_if(units.begin(), units.end(), [&](std::string_view one) {
        return unit == one ||
               (!one.empty() && (unit == std::string(one) + "b" || unit == std::string(one) + "ib"));
    });
    const double bytes =
        found == units.end() ? -1 : std::ldexp(number, 10 * static_cast<int>(found - units.begin()));
    if (end == words.c_str() || !(bytes >= 1) || bytes > 9e18) {
        return scenarios::refuse(scenarios::ErrorCode::usage, fmt::format("'{}' is no amount of memory", words),
                                 "write a number and a unit, as 500M or 8G");
    }
    return static_cast<std::int64_t>(bytes);
}

int processor_count() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

std::string memory_text(std::int64_t bytes) {
    constexpr std::array<const char*, 7> units = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto number = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; number >= 1024 && unit + 1 < units.size(); ++unit) number /= 1024;
    return fmt::format("{:.{}f} {}", number, number < 10 && unit > 0 ? 1 : 0, units[unit]);
}

namespace {

constexpr std::int64_t kept_free = 64 << 20;

}  // namespace

MemoryBudget::MemoryBudget(std::int64_t bytes)
    : stated_(bytes), begun_(bytes > 0 ? resident_memory() : 0) {}

scenarios::Result<void> MemoryBudget::admit(std::int64_t least) const {
    if (stated_ == 0 && least <= kept_free) return {};
    const std::int64_t most = stated_ > 0 ? stated_ : free_memory() - kept_free;
    if (least <= most) return {};
    const std::string bound = stated_ > 0 ? "--memory allows " : "this machine can give ";
    return scenarios::refuse(scenarios::ErrorCode::environment,
                             fmt::format("the run needs at least {} of memory, and {}{}", memory_text(least),
                                         bound, memory_text(std::max<std::int64_t>(most, 0))),
                             stated_ > 0 ? "play fewer ranks or steps, or raise --memory"
                                         : "play fewer ranks or steps");
}

bool MemoryBudget::exceeded() const {
    return stated_ > 0 ? resident_memory() - begun_ > stated_ : free_memory() < kept_free;
}

scenarios::Error MemoryBudget::refusal() const {
    if (stated_ > 0) {
        return {scenarios::ErrorCode::environment,
                fmt::format("the run took more memory than the {} of --memory", memory_text(stated_)),
                "play fewer ranks or steps, or raise --memory"};
    }
    return {scenarios::ErrorCode::environment,
            fmt::format("the run was ended before this machine ran out of memory: {} are left",
                        memory_text(free_memory())),
            "play fewer ranks or steps, or state --memory"};
}

}  // namespace deadrank::runners

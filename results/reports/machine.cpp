// results/reports/machine.cpp — Counters of devices, memory, hosts and links, where the last good run
// had other ones.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "results/reports/clues.h"
#include "results/text/style.h"

namespace deadrank::results::reports {

namespace {

constexpr std::size_t machine_lines_most = 12;

using ByLine = std::map<std::string, std::vector<Rank>>;

ByLine by_line(const std::map<Rank, std::string>& of) {
    ByLine lines;
    for (const auto& [rank, line] : of) lines[line].push_back(rank);
    return lines;
}

Clue changed_machine(std::string title, const ByLine& now, const ByLine& then) {
    if (now == then) return {};
    Clue clue{std::move(title), {}};
    for (const auto& [line, ranks] : now) {
        if (clue.lines.size() < machine_lines_most)
            clue.lines.push_back(pad_right(Style{}.cut(who_text(ranks), 17), 18) + line);
    }
    return clue;
}

struct Device {
    std::int32_t clock = 1 << 30, hottest = 0, watts = 0, throttle = 0;
    std::int64_t corrected = 0, uncorrected = 0;
};

ByLine devices(const Evidence& evidence) {
    std::map<Rank, Device> of;
    for (const Event* event : evidence.each<DeviceSample>()) {
        const auto* what = event->as<DeviceSample>();
        Device& device = of[event->rank];
        device.clock = std::min(device.clock, what->clock_mhz);
        device.hottest = std::max(device.hottest, what->temperature);
        device.watts = std::max(device.watts, what->power_watts);
        device.throttle |= what->throttle;
        device.corrected = std::max(device.corrected, what->ecc_corrected);
        device.uncorrected = std::max(device.uncorrected, what->ecc_uncorrected);
    }
    std::map<Rank, std::string> lines;
    for (const auto& [rank, device] : of) {
        lines[rank] = fmt::format("slowest clock {} MHz, hottest {} °C, most {} W, throttle {}", device.clock,
                                  device.hottest, device.watts, device.throttle);
        if (device.corrected + device.uncorrected > 0)
            lines[rank] += fmt::format(", ECC {} corrected, {} not", device.corrected, device.uncorrected);
    }
    return by_line(lines);
}

std::string gib(std::int64_t bytes) {
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1LL << 30));
}

ByLine memory(const Evidence& evidence) {
    std::map<Rank, std::string> lines;
    std::map<Rank, std::int64_t> most, host;
    for (const Event* event : evidence.each<MemorySample>()) {
        const auto* what = event->as<MemorySample>();
        most[event->rank] = std::max(most[event->rank], what->used);
        host[event->rank] = std::max(host[event->rank], what->host_used);
        lines[event->rank] = fmt::format("device {} of {}, host {} of {}", gib(most[event->rank]),
                                         gib(what->limit), gib(host[event->rank]), gib(what->host_limit));
    }
    return by_line(lines);
}

ByLine links(const Evidence& evidence) {
    std::map<std::string, std::string> last;
    for (const Event* event : evidence.each<LinkSample>()) {
        const auto* what = event->as<LinkSample>();
        last[std::string(evidence.text(what->link))] = fmt::format(
            "errors {}, retransmits {}, {}", what->errors, what->retransmits, what->up ? "up" : "down");
    }
    ByLine lines;
    for (const auto& [link, words] : last) lines[fmt::format("{}: {}", link, words)] = {};
    return lines;
}

ByLine none_or(ByLine (*read)(const Evidence&), const Evidence* evidence) {
    return evidence ? read(*evidence) : ByLine{};
}

}  // namespace

std::vector<Clue> machine_clues(const Evidence& evidence, const Evidence* good) {
    return {changed_machine("devices, the worst of each rank", devices(evidence), none_or(devices, good)),
            changed_machine("memory, the most of each rank", memory(evidence), none_or(memory, good)),
            changed_machine("links, at the end", links(evidence), none_or(links, good))};
}

}  // namespace deadrank::results::reports

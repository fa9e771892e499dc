// results/reports/clues.cpp — What a learner may look at: the lines of a run that differ between ranks, or
// from a healthy one.
#include "results/reports/clues.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

#include "results/record/words.h"
#include "results/reports/style.h"
#include "results/reports/terminal.h"

namespace deadrank::results::reports {

// ── In the order in which they are shown: the whole first, then what is odd in it.

std::string who_text(const std::vector<Rank>& ranks) {
    if (ranks.empty() || ranks.front() == no_rank) return "the job";
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", ranges_text(ranks));
}

std::vector<Clue> clues(const Evidence& evidence, const Evidence* good) {
    std::vector<Clue> all = {picture_clue(evidence), rank_clue(evidence), log_clue(evidence),
                             difference_clue(evidence)};
    for (auto part :
         {value_clues(evidence, good), data_clues(evidence, good), machine_clues(evidence, good)}) {
        std::move(part.begin(), part.end(), std::back_inserter(all));
    }
    std::erase_if(all, [](const Clue& clue) { return clue.lines.empty(); });
    return all;
}

// ── Which samples each rank trains on, which part of a tensor or checkpoint it holds, and what a server
// answered: shown if it differs from the last good run.

namespace {

constexpr std::size_t data_lines_most = 16;

// Events of one kind as lines, each with its ranks, in order of first appearance.
template <class P, class Text>
std::vector<std::pair<std::string, std::vector<Rank>>> lines_of(const Evidence& evidence, Text text) {
    std::vector<std::pair<std::string, std::vector<Rank>>> lines;
    std::map<std::string, std::size_t> known;
    for (const Event* event : evidence.each<P>()) {
        const std::string line = text(evidence, *event, *event->template as<P>());
        if (line.empty()) continue;
        const auto [found, fresh] = known.try_emplace(line, lines.size());
        if (fresh) lines.push_back({line, {}});
        auto& ranks = lines[found->second].second;
        if (ranks.empty() || ranks.back() != event->rank) ranks.push_back(event->rank);
    }
    for (auto& [line, ranks] : lines) {  // a job that was started again repeats its lines
        std::sort(ranks.begin(), ranks.end());
        ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    }
    return lines;
}

template <class P, class Text>
Clue changed_data(std::string title, const Evidence& evidence, const Evidence* good, Text text) {
    const auto now = lines_of<P>(evidence, text);
    if (good && lines_of<P>(*good, text) == now) return {};
    Clue clue{std::move(title), {}};
    for (const auto& [line, ranks] : now) {
        if (clue.lines.size() < data_lines_most)
            clue.lines.push_back(pad_right(Style{}.cut(who_text(ranks), 17), 18) + line);
    }
    if (now.size() > data_lines_most)
        clue.lines.push_back(fmt::format("… and {} more", now.size() - data_lines_most));
    return clue;
}

std::string batch(const Evidence& evidence, const Event&, const DataBatch& what) {
    if (what.step > 1) return {};
    const std::string samples(evidence.text(what.samples));
    return fmt::format("step {}  {}", what.step,
                       samples.empty()
                           ? fmt::format("{} from {}, every {}", what.count, what.first, what.stride)
                           : "samples " + Style{}.cut(samples, 40));
}
std::string shard(const Evidence& evidence, const Event&, const ShardLayout& what) {
    return fmt::format("{}  [{}, {}) of {}", evidence.text(what.tensor), what.offset,
                       what.offset + what.length, what.total);
}
std::string loaded(const Evidence& evidence, const Event&, const CheckpointLoad& what) {
    return fmt::format("{}  step {}, {} bytes, {}", evidence.text(what.path), what.step, what.bytes,
                       name_of(what.result));
}
std::string bound(const Evidence& evidence, const Event&, const DeviceBind& what) {
    return fmt::format("{} on device {}", evidence.text(what.what), what.device);
}
std::string served(const Evidence& evidence, const Event& event, const ServeOutput& what) {
    return what.request > 3 ? "" : fmt::format("request {}  {}", what.request, fields_text(evidence, event));
}
std::string member(const Evidence& evidence, const Event&, const CommInitEnter& what) {
    return fmt::format("{}: place {} of {}, members {}", evidence.text(what.name), what.rank_in_comm,
                       what.size, Style{}.cut(evidence.text(what.members), 40));
}

}  // namespace

std::vector<Clue> data_clues(const Evidence& evidence, const Evidence* good) {
    std::vector<Clue> all = {
        changed_data<CommInitEnter>("which rank joined which group, as each rank saw it", evidence, good,
                                    member),
        changed_data<ShardLayout>("which part of each tensor a rank holds", evidence, good, shard),
        changed_data<CheckpointLoad>("what was loaded", evidence, good, loaded),
        changed_data<DeviceBind>("where work landed", evidence, good, bound),
        changed_data<ServeOutput>("what was served", evidence, good, served)};
    if (good) all.push_back(changed_data<DataBatch>("the first samples of each rank", evidence, good, batch));
    return all;
}

// ── Environment, versions and settings that not all ranks share. Values meant to be each rank's own (RANK,
// a pid) are left out as long as they are.

namespace {

constexpr std::size_t difference_lines_most = 14;

using Values = std::map<std::string, std::map<std::string, std::vector<Rank>>>;  // name → value → ranks

void take_lines(Values& values, std::string_view text, Rank rank) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (const std::size_t sign = line.find('='); sign != std::string_view::npos)
            values[std::string(line.substr(0, sign))][std::string(line.substr(sign + 1))].push_back(rank);
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
}

bool is_own_of_each(const std::string& name, const std::map<std::string, std::vector<Rank>>& by_value,
                    std::size_t ranks) {
    if (name == "LOCAL_RANK" || name == "local_rank" || name == "GROUP_RANK") {
        return true;
    }
    return by_value.size() == ranks;
}

}  // namespace

Clue difference_clue(const Evidence& evidence) {
    Values values;
    std::set<Rank> ranks;
    for (const Event* event : evidence.each<RankStart>()) {
        if (!ranks.insert(event->rank).second) break;  // only the first start: a restart repeats it
        const auto* start = event->as<RankStart>();
        take_lines(values, evidence.text(start->versions), event->rank);
        take_lines(values, evidence.text(start->environment), event->rank);
    }
    std::set<std::pair<Rank, TextId>> read;
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        if (!read.insert({event->rank, config->name}).second) continue;
        values[std::string(evidence.text(config->name)) + " (as it was read)"]
              [std::string(evidence.text(config->value))]
                  .push_back(event->rank);
    }
    Clue clue{"settings that differ between ranks", {}};
    for (const auto& [name, by_value] : values) {
        std::size_t have = 0;
        for (const auto& [value, who] : by_value) have += who.size();
        const bool missing = have < ranks.size() && !name.ends_with(" (as it was read)");
        if (!missing && (by_value.size() == 1 || is_own_of_each(name, by_value, have))) continue;
        std::string line = name + ":";
        std::size_t told = 0;
        for (const auto& [value, who] : by_value) {
            if (++told > 5) break;
            line +=
                fmt::format("  {} = {}", who_text(who), value.empty() ? "(empty)" : Style{}.cut(value, 40));
        }
        if (by_value.size() > 5) line += fmt::format("  and {} more values", by_value.size() - 5);
        if (missing) line += fmt::format("  absent on {} of {}", ranks.size() - have, ranks.size());
        if (clue.lines.size() < difference_lines_most) clue.lines.push_back(line);
    }
    return clue;
}

// ── Counters of devices, memory, hosts and links that differ from the last good run.

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

// The most that was used, beside the limit of that time: a limit that changes later is told apart, since
// "38.5 GiB of 24.0 GiB" was never the case.
struct Usage {
    std::int64_t most = 0, limit = 0, last_limit = 0;

    void take(std::int64_t used, std::int64_t now) {
        last_limit = now;
        if (used > now) return;  // the most since the sample before, under the limit of then
        if (used >= most || limit == 0) limit = now;
        most = std::max(most, used);
    }
    std::string text() const {
        if (limit == 0) return "limit " + gib(last_limit);
        return fmt::format("{} of {}{}", gib(most), gib(limit),
                           limit == last_limit ? "" : ", at last of " + gib(last_limit));
    }
};

ByLine memory(const Evidence& evidence) {
    std::map<Rank, std::pair<Usage, Usage>> usages;
    for (const Event* event : evidence.each<MemorySample>()) {
        const auto* what = event->as<MemorySample>();
        auto& [device, host] = usages[event->rank];
        device.take(what->used, what->limit);
        host.take(what->host_used, what->host_limit);
    }
    std::map<Rank, std::string> lines;
    for (const auto& [rank, usage] : usages)
        lines[rank] = fmt::format("device {}, host {}", usage.first.text(), usage.second.text());
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

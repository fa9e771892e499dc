// results/emitters/rank_logs.cpp — Only what c10d prints has a prefix with the time; a traceback has none.
#include <fmt/format.h>
#include <map>

#include "results/emitters/logs.h"
#include "results/emitters/processes.h"
#include "results/emitters/stamps.h"

namespace deadrank::results::emitters {

namespace {

bool from_c10d(std::string_view line) {
    return line.starts_with("[Rank ") || line.starts_with("[PG ID ") || line.starts_with("Some NCCL") ||
           line.starts_with("To avoid data");
}

std::string in_words_of(const WatchdogProfile& profile, std::string_view line) {
    WatchdogLine read;
    if (!line.starts_with("[Rank ") || !read_watchdog(line, read)) return std::string(line);
    return fmt::format(fmt::runtime(profile.timeout), fmt::arg("rank", read.rank), fmt::arg("seq", read.seq),
                       fmt::arg("op", read.op), fmt::arg("in", read.in), fmt::arg("out", read.out),
                       fmt::arg("limit", read.limit_ms), fmt::arg("ran", read.ran_ms));
}

std::string log_line(const ProcessPlace& place, const Event& event, std::string_view line) {
    if (!from_c10d(line)) return std::string(line) + "\n";
    const WatchdogProfile& profile = watchdog_profile(place.torch);
    const char level = "IWE"[std::min(event.as<RankLog>()->level, 2)];
    const std::string words = in_words_of(profile, line);
    if (!profile.c10_prefix) return fmt::format("[{} {}] {}\n", level, profile.source, words);
    return fmt::format("[rank{}]:[{}{} {}] {}\n", place.rank, level, c10_stamp(event.at), profile.source,
                       words);
}

}  // namespace

std::vector<EmittedFile> c10d_logs(const Evidence& evidence, const Snapshot& snapshot) {
    const auto places = places_of(evidence, snapshot.at);
    std::map<Rank, std::string> logs;
    for (const auto& [process, place] : places) logs[place.rank];
    for (const Event* event : evidence.each<RankLog>()) {
        const auto place = places.find(event->rank);
        const std::string_view line = evidence.text(event->as<RankLog>()->line);
        if (event->at > snapshot.at || place == places.end()) continue;
        if (line.find(" NCCL WARN ") != line.npos || line.find(" NCCL INFO ") != line.npos) continue;
        logs[place->second.rank] += log_line(place->second, *event, line);
    }
    std::vector<EmittedFile> files;
    for (auto& [rank, text] : logs) files.push_back({fmt::format("logs/rank_{}.log", rank), std::move(text)});
    return files;
}

}  // namespace deadrank::results::emitters

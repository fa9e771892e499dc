// results/analysis/lives.cpp — Built in one pass over all events; processes keep their numbers across
// restarts.
#include "results/analysis/lives.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <string>

namespace deadrank::results::analysis {

std::int64_t median(std::vector<std::int64_t> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

namespace {

// Over all processes; the first step of each is warm-up, and left out if there are others.
Time median_step_of(const Evidence& evidence) {
    std::vector<Time> began;
    std::vector<std::int64_t> first, later;
    std::vector<bool> warm;
    const auto at = [](auto& list, Rank rank) -> decltype(list[0]) {
        if (static_cast<std::size_t>(rank) >= list.size()) list.resize(static_cast<std::size_t>(rank) + 1);
        return list[static_cast<std::size_t>(rank)];
    };
    for (const Event* event : evidence.each<StepBegin>()) {
        if (event->rank >= 0) at(began, event->rank) = never;
    }
    const auto begins = evidence.each<StepBegin>();
    std::size_t next = 0;
    for (const Event* end : evidence.each<StepEnd>()) {
        while (next < begins.size() && begins[next]->at <= end->at) {
            if (begins[next]->rank >= 0) at(began, begins[next]->rank) = begins[next]->at;
            ++next;
        }
        if (end->rank < 0 || static_cast<std::size_t>(end->rank) >= began.size()) continue;
        const Time begin = at(began, end->rank);
        if (begin == never || begin > end->at) continue;
        (at(warm, end->rank) ? later : first).push_back((end->at - begin).count());
        at(warm, end->rank) = true;
    }
    return Time{median(later.empty() ? std::move(first) : std::move(later))};
}

}  // namespace

// ── Where each attempt begins: with its restart, or with the first process that the launcher told its
// number. The stamps alone do not tell. Under torchrun rank 1 may be up again before rank 0, and the restart
// is known from whichever file was read first:
//   rank 1 starts (attempt 1) at 10.2 s, the restart is stamped 10.3 s, rank 0 starts (attempt 1) at 10.3 s
// Rank 1's start is none of attempt 0, in which rank 1 was killed.

namespace {

// What torchrun tells its processes; 0 if it tells them nothing.
int stated_attempt(std::string_view environment) {
    constexpr std::string_view name = "TORCHELASTIC_RESTART_COUNT=";
    for (std::size_t at = environment.find(name); at != std::string_view::npos;
         at = environment.find(name, at + 1)) {
        if (at > 0 && environment[at - 1] != '\n') continue;
        int attempt = 0;
        std::from_chars(environment.data() + at + name.size(), environment.data() + environment.size(),
                        attempt);
        return attempt;
    }
    return 0;
}

// Whether the process took a step in between: then it was started again while the others went on.
bool trained_between(const Evidence& evidence, Rank rank, const Event* from, const Event* to) {
    const auto ends = evidence.each<StepEnd>();
    return std::any_of(ends.begin(), ends.end(),
                       [&](const Event* end) { return end->rank == rank && from < end && end < to; });
}

// The first event of each attempt but the first, in order.
std::vector<const Event*> find_openers(const Evidence& evidence) {
    std::vector<const Event*> openers;
    std::vector<int> numbers;
    for (const Event* event : evidence.each<Restart>()) {
        openers.push_back(event);
        numbers.push_back(event->as<Restart>()->attempt);
    }
    if (openers.empty()) return openers;
    for (const Event* event : evidence.each<RankStart>()) {
        const int attempt = stated_attempt(evidence.text(event->as<RankStart>()->environment));
        for (std::size_t i = 0; attempt > 0 && i < openers.size(); ++i) {
            if (numbers[i] == attempt && event < openers[i] &&
                !trained_between(evidence, event->rank, event, openers[i]))
                openers[i] = event;
        }
    }
    return openers;
}

}  // namespace

void Lives::begin_attempt(Time at) {
    begins_.push_back(at);
    started_.push_back(0);
    attempts_.emplace_back(static_cast<std::size_t>(count_));
}

Lives::Lives(const Evidence& evidence) {
    for (const Event& event : evidence.events()) count_ = std::max(count_, event.rank + 1);
    for (const Event* event : evidence.each<JobStart>()) {
        count_ = std::max(count_, std::min<Rank>(event->as<JobStart>()->world_size, 1 << 22));
    }
    node_of_.assign(static_cast<std::size_t>(count_), 0);
    begin_attempt(Time{0});
    Lines said;
    const std::vector<const Event*> openers = find_openers(evidence);
    auto next = openers.begin();
    for (const Event& event : evidence.events()) {
        for (; next != openers.end() && *next == &event; ++next) begin_attempt(event.at);
        see(event, evidence, said);
    }
    for (auto& attempt : attempts_) {
        for (std::size_t i = 0; i < attempt.size(); ++i) attempt[i].process = static_cast<Rank>(i);
    }
    for (const std::int32_t node : node_of_) nodes_ = std::max(nodes_, node + 1);
    median_step_ = median_step_of(evidence);
}

namespace {

bool digit(std::string_view line, std::size_t at) {
    return at < line.size() && std::isdigit(static_cast<unsigned char>(line[at])) != 0;
}

bool starts_with_time_unit(std::string_view rest) {
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    const auto letters =
        std::find_if(rest.begin(), rest.end(), [](unsigned char c) { return std::isalpha(c) == 0; });
    const std::string_view word = rest.substr(0, static_cast<std::size_t>(letters - rest.begin()));
    for (const std::string_view unit : {"ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins",
                                        "minute", "minutes", "h", "hour", "hours"})
        if (word == unit) return true;
    return false;
}

// "17:05:01" and "2026-11-26": a number beside another one.
bool is_part_of_time(std::string_view line, std::size_t begin, std::size_t end) {
    const auto joint = [&](std::size_t at) {
        return at < line.size() && (line[at] == ':' || line[at] == '-');
    };
    return (joint(end) && digit(line, end + 1)) || (begin > 1 && joint(begin - 1) && digit(line, begin - 2));
}

// A log line without its times, which a rank that waits may repeat for ever: "still waiting after # s". Other
// numbers stay: "evaluated 17 batches" is something new.
std::string kind_of_line(std::string_view line) {
    std::string kind;
    for (std::size_t at = 0; at < line.size();) {
        std::size_t end = at;
        while (digit(line, end) || (end > at && line.substr(end).starts_with('.') && digit(line, end + 1)))
            ++end;
        if (end == at) {
            kind += line[at++];
            continue;
        }
        const bool time = is_part_of_time(line, at, end) || starts_with_time_unit(line.substr(end));
        kind += time ? "#" : line.substr(at, end - at);
        at = end;
    }
    return kind;
}

bool is_sample(const Event& event) {
    return event.as<MemorySample>() || event.as<HostSample>() || event.as<DeviceSample>();
}

}  // namespace

void Lives::see(const Event& event, const Evidence& evidence, Lines& said) {
    if (event.rank < 0) return;
    Life& life = attempts_.back()[static_cast<std::size_t>(event.rank)];
    const bool own = !event.as<LinkSample>() && !event.as<DeviceError>() && !event.as<EvidenceLost>();
    if (own) life.last_seen = event.at;
    if (const auto* log = event.as<RankLog>()) {
        const std::string_view line = evidence.text(log->line);
        // faulthandler's heading: somebody else asked where the rank is, and it did nothing new.
        if (line.starts_with("Current thread (most recent call ") || line.starts_with("Thread 0x")) return;
        const std::string kind = kind_of_line(line);
        if (said[event.rank].insert(std::hash<std::string>()(kind)).second) life.moved = event.at;
    } else if (own && !is_sample(event)) {
        life.moved = event.at;
        if (const auto lines = said.find(event.rank); lines != said.end()) lines->second.clear();
    }
    if (const auto* start = event.as<RankStart>()) {
        see_start(event, *start, life);
    } else if (const auto* exit = event.as<RankExit>()) {
        life.ended = event.at;
        life.code = static_cast<std::int16_t>(exit->code);
        life.signal = static_cast<std::int16_t>(exit->signal);
    } else if (const auto* begin = event.as<StepBegin>()) {
        life.step = begin->step;
    } else if (const auto* end = event.as<StepEnd>()) {
        life.finished = end->step;
    }
}

void Lives::see_start(const Event& event, const RankStart& start, Life& life) {
    // An end before the start was that of the process before it, seen late: rank 0's exit is stamped 10.25 s,
    // when rank 1 had started again.
    if (!life.start && life.ended != never && attempts() > 1) {
        Life& before = attempts_[attempts_.size() - 2][static_cast<std::size_t>(event.rank)];
        if (before.start && before.ended == never) {
            before.ended = life.ended;
            before.code = life.code;
            before.signal = life.signal;
        }
        life.code = life.signal = 0;
        life.ended = never;
    }
    if (life.start) life.ended = never;  // again, while the others went on
    if (!life.start) ++started_.back();
    life.start = &start;
    life.started = event.at;
    node_of_[static_cast<std::size_t>(event.rank)] = std::max(0, start.node);
}

int Lives::attempt_at(Time time) const {
    const auto after = std::upper_bound(begins_.begin() + 1, begins_.end(), time);
    return static_cast<int>(after - begins_.begin()) - 1;
}

Time Lives::ends(int attempt) const {
    return attempt + 1 < attempts() ? begins_[static_cast<std::size_t>(attempt) + 1] : never;
}

const Life* Lives::find(int attempt, Rank process) const {
    const auto lives = of(attempt);
    if (process < 0 || static_cast<std::size_t>(process) >= lives.size()) return nullptr;
    return &lives[static_cast<std::size_t>(process)];
}

std::int32_t Lives::node_of(Rank process) const {
    const bool known = process >= 0 && static_cast<std::size_t>(process) < node_of_.size();
    return known ? node_of_[static_cast<std::size_t>(process)] : 0;
}

std::vector<Rank> Lives::on_node(std::int32_t node) const {
    std::vector<Rank> found;
    for (Rank rank = 0; rank < count_; ++rank) {
        if (node_of(rank) == node) found.push_back(rank);
    }
    return found;
}

std::vector<std::int32_t> Lives::whole_nodes(const std::vector<Rank>& processes) const {
    std::vector<Rank> here(static_cast<std::size_t>(nodes_), 0), all(static_cast<std::size_t>(nodes_), 0);
    for (Rank rank = 0; rank < count_; ++rank) ++all[static_cast<std::size_t>(node_of(rank))];
    for (const Rank rank : processes) ++here[static_cast<std::size_t>(node_of(rank))];
    std::vector<std::int32_t> nodes;
    for (std::int32_t node = 0; node < nodes_; ++node) {
        const auto i = static_cast<std::size_t>(node);
        if (here[i] == 0) continue;
        if (here[i] != all[i]) return {};
        nodes.push_back(node);
    }
    return nodes;
}

Time Lives::hang_after() const { return std::max<Time>(std::chrono::seconds(60), 3 * median_step_); }

}  // namespace deadrank::results::analysis

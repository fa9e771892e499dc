// results/judging/control_comparison.cpp — Reduces two runs to what came of them, rank by rank, and compares.
#include "results/judging/control_comparison.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace deadrank::results {

namespace {

// What came of a run, rank by rank: all events but those of calls, phases and samples of the machine, which
// show how the work was done; of these, what it cost.
struct Work {
    std::map<Rank, std::vector<std::string>> lines;
    std::map<std::string, Time> took;                             // the start, each step, the calls of a kind
    std::map<std::pair<Rank, std::size_t>, MemorySample> memory;  // by rank, in order
    std::map<CommId, std::map<Rank, std::vector<std::string>>> collectives;
    std::map<Rank, std::multiset<std::string>> messages;
    std::map<std::string_view, std::multiset<std::string>> kinds;  // all events, without their times
};

std::string call_text(const CollectiveEnter& call) {
    return fmt::format("{} {} {} {} {}", static_cast<int>(call.op), call.count, static_cast<int>(call.dtype),
                       static_cast<int>(call.reduce), call.root);
}

std::string message_text(const P2pEnter& call) {
    return fmt::format("{} {} {} {} {} {}", call.comm, static_cast<int>(call.op), call.count,
                       static_cast<int>(call.dtype), call.peer, call.tag);
}

class WorkReader {
public:
    explicit WorkReader(const Evidence& evidence) {
        for (const Event& event : evidence.events()) see(evidence, event);
        for (const auto& [kind, times] : calls_)
            work_.took[kind] = times.first / static_cast<std::int64_t>(times.second);
    }
    Work work() && { return std::move(work_); }

private:
    void see(const Evidence& evidence, const Event& event) {
        const Rank rank = event.rank;
        Event timeless = event;
        timeless.at = Time{0};
        work_.kinds[kind_name(event)].insert(to_json_line(evidence, timeless));
        if (const auto* host = event.as<HostSample>()) {  // a limit costs nothing until something meets it
            HostSample used = *host;
            used.shared_limit = used.open_files_limit = 0;
            timeless.what = used;
        }
        std::string line = to_json_line(evidence, timeless);
        if (const auto* call = event.as<CollectiveEnter>()) {
            std::string text = call_text(*call);
            entered_[{rank, call->comm, call->seq}] = {fmt::format("{} {} {}", rank, call->comm, text),
                                                       event.at};
            work_.collectives[call->comm][rank].push_back(std::move(text));
        } else if (const auto* left = event.as<CollectiveLeave>()) {
            see_leave(rank, *left, event.at);
        } else if (const auto* message = event.as<P2pEnter>()) {
            work_.messages[rank].insert(message_text(*message));
        } else if (const auto* memory = event.as<MemorySample>()) {
            work_.memory[{rank, samples_[rank]++}] = *memory;
        } else if (!event.as<P2pLeave>() && !event.as<PhaseBegin>() && !event.as<PhaseEnd>() &&
                   !event.as<DeviceSample>()) {
            if (event.as<StepBegin>()) begun_[rank] = event.at;
            if (event.as<StepBegin>()) work_.took.try_emplace(fmt::format("start {}", rank), event.at);
            if (const auto* end = event.as<StepEnd>())
                work_.took[fmt::format("step {} {}", rank, end->step)] = event.at - begun_[rank];
            work_.took[fmt::format("all {}", rank)] = event.at;
            work_.lines[rank].push_back(std::move(line));
        }
    }

    void see_leave(Rank rank, const CollectiveLeave& left, Time at) {
        const auto entered = entered_.find({rank, left.comm, left.seq});
        if (entered == entered_.end()) return;
        auto& [sum, count] = calls_[entered->second.first];
        sum += at - entered->second.second;
        ++count;
    }

    Work work_;
    std::map<Rank, Time> begun_;
    std::map<Rank, std::size_t> samples_;
    std::map<std::tuple<Rank, CommId, std::int64_t>, std::pair<std::string, Time>> entered_;
    std::map<std::string, std::pair<Time, std::size_t>> calls_;  // by rank and call: in sum, and how often
};

// A hundredth more is noise that no user would ask about.
bool speed_matches(const Work& seen, const Work& right) {
    return std::all_of(right.took.begin(), right.took.end(), [&](const auto& entry) {
        const auto beside = seen.took.find(entry.first);
        return beside != seen.took.end() && beside->second <= entry.second + entry.second / 100;
    });
}

bool memory_matches(const Work& seen, const Work& right) {
    return std::all_of(seen.memory.begin(), seen.memory.end(), [&](const auto& entry) {
        const auto beside = right.memory.find(entry.first);
        return beside != right.memory.end() && entry.second.used <= beside->second.used &&
               entry.second.host_used <= beside->second.host_used;
    });
}

// The calls of each communicator are the control's, or all of its members still make the same ones in the
// same order.
bool calls_match(const Work& seen, const Work& right) {
    return std::all_of(seen.collectives.begin(), seen.collectives.end(), [&](const auto& entry) {
        const auto beside = right.collectives.find(entry.first);
        if (beside != right.collectives.end() && beside->second == entry.second) return true;
        const auto& first = entry.second.begin()->second;
        return std::all_of(entry.second.begin(), entry.second.end(),
                           [&](const auto& member) { return member.second == first; });
    });
}

}  // namespace

std::string explain_missing_effect(const Evidence& run, const Evidence& control) {
    const Work seen = WorkReader(run).work(), right = WorkReader(control).work();
    const bool same = seen.lines == right.lines && seen.messages == right.messages &&
                      speed_matches(seen, right) && memory_matches(seen, right) && calls_match(seen, right);
    if (!same) return {};
    std::string kinds;
    for (const auto& [kind, lines] : seen.kinds) {
        const auto beside = right.kinds.find(kind);
        if (beside == right.kinds.end() || lines != beside->second)
            kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", kind);
    }
    return fmt::format(
        "the fault had no effect: every rank goes through the steps of the control, with the same results, "
        "and takes no more time or memory; only {} differ",
        kinds.empty() ? "times within a hundredth" : kinds);
}

}  // namespace deadrank::results

// results/reports/trace.cpp — Chrome's trace events as JSON, written as text: a tree in memory would take
// twenty times the space. Overlapping calls go to further threads of their rank, since slices must nest.
#include "results/reports/trace.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "results/reports/timeline.h"

namespace deadrank::results::reports {

namespace {

constexpr int threads_per_rank = 8;  // one for work, the others for calls at once
constexpr int job_process = 0;       // nodes follow

std::string micros_text(Time time) {
    return fmt::format("{}.{:03}", time.count() / 1'000, time.count() % 1'000);
}
std::string literal(std::string_view text) { return dumped(Json(text)); }

// The members of one collective, for its arrows.
struct Member {
    Rank rank;
    int thread;
    Time begin, end;
};

class Tracer {
public:
    Tracer(const Evidence& evidence, std::size_t most) : evidence_(evidence), most_(most) {
        const auto starts = evidence.each<JobStart>();
        if (!starts.empty()) per_node_ = std::max(1, starts.front()->as<JobStart>()->gpus_per_node);
        until_ = evidence.observed_until();
    }

    Trace write(const std::vector<Finding>& findings, const Truth* truth) {
        const Timeline timeline = timeline_of(evidence_);
        put(fmt::format(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":"the job"}})",
                        job_process));
        flags(findings, truth);
        losses();
        std::vector<Rank> left_out;
        std::size_t planned = events_;
        for (const Rank rank : order(timeline, findings, truth)) {
            const auto& slices = timeline.ranks[static_cast<std::size_t>(rank)];
            const std::size_t cost = cost_of(timeline, slices);
            if (planned + cost > most_) {
                left_out.push_back(rank);
            } else {
                planned += cost;
                row(timeline, rank, slices);
            }
        }
        std::sort(left_out.begin(), left_out.end());
        arrows();
        memory(left_out);
        return finish(std::move(left_out));
    }

private:
    void put(std::string_view fields) {
        text_ += events_++ == 0 ? "\n{" : ",\n{";
        text_ += fields;
        text_ += "}";
    }
    int process_of(Rank rank) const { return 1 + rank / per_node_; }
    std::string at(Rank rank, int thread) const {
        return fmt::format(R"("pid":{},"tid":{})", process_of(rank), rank * threads_per_rank + thread);
    }

    std::vector<Rank> order(const Timeline& timeline, const std::vector<Finding>& findings,
                            const Truth* truth) const {
        std::set<Rank> first;
        const auto add = [&](const Blame& blame) { first.insert(blame.ranks.begin(), blame.ranks.end()); };
        if (truth) add(truth->culprit());
        for (const Finding& finding : findings) add(finding.blame);
        std::vector<Rank> ranks;
        for (std::size_t i = 0; i < timeline.ranks.size(); ++i) ranks.push_back(static_cast<Rank>(i));
        std::stable_partition(ranks.begin(), ranks.end(), [&](Rank rank) { return first.count(rank) > 0; });
        return ranks;
    }

    // At most: names, slices, and an arrow of two events for each collective.
    static std::size_t cost_of(const Timeline& timeline, const std::vector<Slice>& slices) {
        const auto is_met = [&](const Slice& slice) {
            return timeline.kinds[slice.kind].group == SliceGroup::collective;
        };
        const auto met = static_cast<std::size_t>(std::count_if(slices.begin(), slices.end(), is_met));
        return 1 + 2 * threads_per_rank + slices.size() + 2 * met;
    }

    void row(const Timeline& timeline, Rank rank, const std::vector<Slice>& slices) {
        const int pid = process_of(rank);
        put(fmt::format(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":"node {}"}})", pid,
                        pid - 1));
        name_thread(rank, 0, fmt::format("rank {}", rank));
        std::vector<Time> free(threads_per_rank, Time{0});  // when each thread of this rank is free again
        for (const Slice& slice : slices) {
            const SliceKind& kind = timeline.kinds[slice.kind];
            const Time end = slice.end == never ? until_ : slice.end;
            int thread = 0;
            if (kind.lane == Lane::call) {
                for (thread = 1; thread + 1 < threads_per_rank && free[thread] > slice.begin;) ++thread;
                if (free[thread] == Time{0})
                    name_thread(rank, thread,
                                fmt::format("rank {} calls{}", rank, thread > 1 ? " at once" : ""));
                free[thread] = std::max(end, slice.begin + Time{1});
                if (kind.group == SliceGroup::collective)
                    meetings_[{slice.comm, slice.number}].push_back({rank, thread, slice.begin, end});
            }
            put_slice(kind, slice, rank, thread, end);
        }
    }
    void name_thread(Rank rank, int thread, const std::string& name) {
        put(fmt::format(R"("ph":"M","name":"thread_name",{},"args":{{"name":{}}})", at(rank, thread),
                        literal(name)));
        put(fmt::format(R"("ph":"M","name":"thread_sort_index",{},"args":{{"sort_index":{}}})",
                        at(rank, thread), rank * threads_per_rank + thread));
    }
    void put_slice(const SliceKind& kind, const Slice& slice, Rank rank, int thread, Time end) {
        const std::string number = kind.lane == Lane::call ? fmt::format(R"("seq":{})", slice.number)
                                                           : fmt::format(R"("step":{})", slice.number);
        const std::string args = fmt::format(R"("args":{{{},"detail":{},"ended":{}}})", number,
                                             literal(kind.detail), slice.end != never);
        if (kind.lane == Lane::instant) {
            put(fmt::format(R"("ph":"i","s":"t","name":{},"cat":"{}",{},"ts":{},{})", literal(kind.label),
                            kind.colour(), at(rank, thread), micros_text(slice.begin), args));
            return;
        }
        put(fmt::format(R"("ph":"X","name":{},"cat":"{}",{},"ts":{},"dur":{},{})",
                        literal(slice.end == never && kind.lane == Lane::call ? kind.label + " (never ended)"
                                                                              : kind.label),
                        kind.colour(), at(rank, thread), micros_text(slice.begin),
                        micros_text(end - slice.begin), args));
    }

    // From the member that came last to all that had waited for it.
    void arrows() {
        std::size_t id = 0;
        for (const auto& [what, members] : meetings_) {
            const auto last =
                std::max_element(members.begin(), members.end(),
                                 [](const Member& a, const Member& b) { return a.begin < b.begin; });
            ++id;
            for (const Member& member : members) {
                if (&member == &*last || member.begin == last->begin) continue;
                const std::string flow =
                    fmt::format(R"("cat":"collective","name":{},"id":"{}.{}")",
                                literal(fmt::format("collective {}", what.second)), id, member.rank);
                put(fmt::format(R"("ph":"s",{},{},"ts":{})", flow, at(last->rank, last->thread),
                                micros_text(last->begin)));
                put(fmt::format(
                    R"("ph":"f","bp":"e",{},{},"ts":{})", flow, at(member.rank, member.thread),
                    micros_text(std::max(member.begin, std::min(member.end - Time{1}, last->end)))));
            }
        }
    }

    void flags(const std::vector<Finding>& findings, const Truth* truth) {
        const auto flag = [&](Time time, std::string_view name, std::string_view says) {
            put(fmt::format(R"("ph":"i","s":"g","name":{},"pid":{},"tid":0,"ts":{},"args":{{"says":{}}})",
                            literal(name), job_process, micros_text(time), literal(says)));
        };
        if (truth) {
            for (const Mark& mark : truth->marks) {
                if (is_about_a_fault(mark.kind)) flag(mark.at, name_of(mark.kind), mark.says);
            }
        }
        for (const Finding& finding : findings) flag(finding.at, "alarm: " + finding.symptom, finding.says);
    }

    void counter(std::string_view name, int pid, Time time, double value) {
        if (!std::isfinite(value)) return;
        put(fmt::format(R"("ph":"C","name":{},"pid":{},"ts":{},"args":{{"value":{}}})", literal(name), pid,
                        micros_text(time), value));
    }
    void losses() {
        Rank first = no_rank;
        for (const Event* event : evidence_.each<StepEnd>()) {
            if (first == no_rank) first = event->rank;
            if (event->rank == first)
                counter(fmt::format("loss of rank {}", first), job_process, event->at,
                        event->as<StepEnd>()->loss);
        }
    }
    void memory(const std::vector<Rank>& left_out) {
        for (const Event* event : evidence_.each<MemorySample>()) {
            if (events_ >= most_) return;
            if (std::binary_search(left_out.begin(), left_out.end(), event->rank)) continue;
            counter(fmt::format("device memory of rank {}", event->rank), process_of(event->rank), event->at,
                    static_cast<double>(event->as<MemorySample>()->used));
        }
    }

    Trace finish(std::vector<Rank> left_out) {
        Trace trace;
        trace.events = events_;
        if (!left_out.empty()) {
            trace.left_out =
                fmt::format("ranks {} ({} of {}) did not fit into {} events", ranges_text(left_out),
                            left_out.size(), evidence_.world_size(), most_);
        }
        trace.json = fmt::format(
            "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"tool\":\"deadrank\",\"left_out\":{}}},\n"
            "\"traceEvents\":[{}\n]}}\n",
            literal(trace.left_out), text_);
        return trace;
    }

    const Evidence& evidence_;
    const std::size_t most_;
    int per_node_ = 1;
    Time until_{0};
    std::string text_;
    std::size_t events_ = 0;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<Member>> meetings_;
};

}  // namespace

Trace trace_of(const Evidence& evidence, const std::vector<Finding>& findings, const Truth* truth,
               std::size_t events_most) {
    return Tracer(evidence, events_most).write(findings, truth);
}

}  // namespace deadrank::results::reports

// sim/framework_parts/device_streams.cpp — Which entry starts or ends next, and how the host lets time pass
// until then.
#include "sim/framework_parts/device_streams.h"

#include <algorithm>
#include <utility>

#include "results/record/time.h"

namespace deadrank::sim {

namespace {

using State = StreamEntry::State;

constexpr std::size_t most_queued = 1024;  // the host waits where more than that is in a stream's queue

bool is_over(const DeviceStreams::Entry& entry) { return !entry || entry->state == State::over; }

}  // namespace

int DeviceStreams::make() {
    streams_.emplace_back();
    return static_cast<int>(streams_.size()) - 1;
}

DeviceStreams::Entry DeviceStreams::queue(int stream, StreamEntry what) {
    catch_up();
    if (const Stream& full = streams_[static_cast<std::size_t>(stream)]; full.entries.size() >= most_queued)
        wait(Entry(full.entries.front()));
    auto entry = std::make_shared<StreamEntry>(std::move(what));
    entry->ready = world_.device().clock();
    entry->number = ++queued_;
    std::erase_if(entry->after, is_over);
    streams_[static_cast<std::size_t>(stream)].entries.push_back(entry);
    catch_up();
    return entry;
}

DeviceStreams::Entry DeviceStreams::last(int stream) const {
    const auto& entries = streams_[static_cast<std::size_t>(stream)].entries;
    return entries.empty() ? nullptr : entries.back();
}

// Of the stream's first entry, which has not begun: when it does, if that is known.
bool DeviceStreams::starts(const Stream& stream, Time& when) const {
    const StreamEntry& entry = *stream.entries.front();
    when = std::max(entry.ready, stream.free);
    for (const Entry& before : entry.after) {
        if (!is_over(before)) return false;
        when = std::max(when, before->ended);
    }
    return true;
}

// The earliest start or end that is known. At one time ends come first, then what the host queued first.
bool DeviceStreams::next_change(Time& when, int& which) {
    std::pair<bool, std::uint64_t> first;
    which = -1;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        if (streams_[i].entries.empty()) continue;
        StreamEntry& entry = *streams_[i].entries.front();
        Time at = entry.began + entry.length;
        if (entry.state == State::waiting && !starts(streams_[i], at)) continue;
        if (entry.work) {
            if (!entry.work->wait_for(Time{0}, {})) continue;
            at = world_.device().clock();
        }
        const std::pair<bool, std::uint64_t> order{entry.state == State::waiting, entry.number};
        if (which >= 0 && std::pair(when, first) <= std::pair(at, order)) continue;
        when = at;
        first = order;
        which = static_cast<int>(i);
    }
    return which >= 0;
}

void DeviceStreams::begin(StreamEntry& entry, Time when) {
    entry.state = State::running;
    entry.began = when;
    if (entry.begin) std::exchange(entry.begin, {})();
    if (entry.call) entry.work = std::exchange(entry.call, {})();
}

void DeviceStreams::change(int which, Time when) {
    Stream& stream = streams_[static_cast<std::size_t>(which)];
    const Entry entry = stream.entries.front();
    if (entry->state == State::waiting) return begin(*entry, when);
    stream.entries.pop_front();
    stream.free = entry->ended = when;
    entry->state = State::over;
    entry->after.clear();
    if (const auto work = std::move(entry->work)) work->wait();
    if (entry->end) std::exchange(entry->end, {})();
}

void DeviceStreams::catch_up() {
    Time when{0};
    int which = -1;
    while (next_change(when, which) && when <= world_.device().clock()) change(which, when);
}

// Until the next change that is known, or a call among ranks is done, or the time given.
void DeviceStreams::let_pass(Time until) {
    Time when{0};
    int which = -1;
    if (next_change(when, which)) until = std::min(until, when);
    std::vector<Work*> calls;
    for (const Stream& stream : streams_)
        if (!stream.entries.empty() && stream.entries.front()->work)
            calls.push_back(stream.entries.front()->work.get());
    if (calls.empty() && until == results::never)
        throw RankFailure("RuntimeError: CUDA error: a stream waits for what was never queued");
    const Time patience = until == results::never ? until : until - world_.device().clock();
    if (calls.empty()) return world_.timer().sleep(patience);
    const auto another = [&] {
        return std::any_of(calls.begin() + 1, calls.end(),
                           [](Work* call) { return call->wait_for(Time{0}, {}); });
    };
    calls.front()->wait_for(patience, another);
}

void DeviceStreams::sleep(Time duration) {
    const Time until = world_.device().clock() + duration;
    for (catch_up(); world_.device().clock() < until; catch_up()) let_pass(until);
}

void DeviceStreams::wait(const Entry& entry) {
    for (catch_up(); !is_over(entry); catch_up()) let_pass(results::never);
}

void DeviceStreams::wait_for_stream(int stream) { wait(last(stream)); }

void DeviceStreams::wait_for_all() {
    for (std::size_t i = 0; i < streams_.size(); ++i) wait_for_stream(static_cast<int>(i));
}

void DeviceStreams::settle() {
    Time when{0};
    int which = -1;
    for (catch_up(); next_change(when, which); catch_up()) let_pass(results::never);
}

}  // namespace deadrank::sim

// inject/standin/device/capture.cpp — Which stream is captured into which graph, and how streams join and part.
#include "inject/standin/device/capture.h"

#include <algorithm>
#include <utility>

#include "inject/standin/device/captured_work.h"
#include "inject/standin/device/standin_memory.h"

namespace deadrank::inject::standin {

struct Captures::Capture {
    struct Branch {
        std::size_t steps = 0, joined = 0;  // how many it has, and how many of them another stream has waited for
    };
    std::uint64_t id = 0;
    bool valid = true;
    const Stream* origin = nullptr;
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    std::map<const Stream*, Branch> branches;
    std::vector<std::function<void()>> at_end;
};

Captures& Captures::of_this_process() {
    static Captures& all = *new Captures;
    return all;
}

std::shared_ptr<Captures::Capture> Captures::of(const Stream& stream) const {
    const auto found = captures_.find(&stream);
    return found == captures_.end() ? nullptr : found->second;
}

std::optional<Captures::State> Captures::state(const Stream& stream) const {
    if (!any()) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto capture = of(stream);
    if (!capture) return std::nullopt;
    return State{.id = capture->id, .valid = capture->valid};
}

bool Captures::begin(Stream& stream) {
    const std::lock_guard lock(mutex_);
    auto capture = std::make_shared<Capture>();
    if (!captures_.try_emplace(&stream, capture).second) return false;
    capture->id = ++last_id_;
    capture->origin = &stream;
    capture->branches[&stream];
    ++open_;
    return true;
}

Captures::End Captures::end(Stream& stream) {
    std::shared_ptr<Capture> capture;
    Outcome outcome = Outcome::done;
    {
        const std::lock_guard lock(mutex_);
        capture = of(stream);
        if (!capture) return {Outcome::not_capturing, nullptr};
        if (capture->origin != &stream) return {Outcome::unmatched, nullptr};
        for (const auto& [branch, steps] : capture->branches) {
            if (branch != &stream && steps.joined < steps.steps) outcome = Outcome::unjoined;
            captures_.erase(branch);
            --open_;
        }
        std::erase_if(marks_, [&](const auto& mark) { return mark.second.capture.lock() == capture; });
    }
    for (const auto& action : capture->at_end) action();
    if (!capture->valid) outcome = Outcome::invalidated;
    return {outcome, outcome == Outcome::done ? capture->graph : nullptr};
}

bool Captures::spoil(const Stream& stream) {
    if (!any()) return false;
    const std::lock_guard lock(mutex_);
    const auto capture = of(stream);
    if (capture) capture->valid = false;
    return capture != nullptr;
}

bool Captures::spoil_device(int device) {
    if (!any()) return false;
    const std::lock_guard lock(mutex_);
    bool found = false;
    for (const auto& [stream, capture] : captures_) {
        if (stream->device != device) continue;
        capture->valid = false;
        found = true;
    }
    return found;
}

bool Captures::add(Stream& stream, Graph::Step step) {
    if (!any()) return false;
    const std::lock_guard lock(mutex_);
    const auto capture = of(stream);
    if (!capture) return false;
    capture->graph->add(std::move(step));
    ++capture->branches[&stream].steps;
    return true;
}

bool Captures::at_end(Stream& stream, std::function<void()> action) {
    const std::lock_guard lock(mutex_);
    const auto capture = of(stream);
    if (capture) capture->at_end.push_back(std::move(action));
    return capture != nullptr;
}

bool Captures::record(const Event& event, Stream& stream) {
    if (!any()) return false;
    const std::lock_guard lock(mutex_);
    const auto capture = of(stream);
    if (capture)
        marks_[&event] = {.capture = capture, .stream = &stream, .steps = capture->branches[&stream].steps};
    else
        marks_.erase(&event);
    return capture != nullptr;
}

bool Captures::is_captured(const Event& event) const {
    if (!any()) return false;
    const std::lock_guard lock(mutex_);
    const auto mark = marks_.find(&event);
    return mark != marks_.end();
}

void Captures::forget(const Event& event) {
    if (!any()) return;
    const std::lock_guard lock(mutex_);
    marks_.erase(&event);
}

Captures::Wait Captures::wait(Stream& stream, const Event& event) {
    if (!any()) return Wait::not_captured;
    const std::lock_guard lock(mutex_);
    const auto mine = of(stream);
    const auto mark = marks_.find(&event);
    const auto theirs = mark == marks_.end() ? nullptr : mark->second.capture.lock();
    if (!theirs) return mine ? Wait::isolated : Wait::not_captured;
    if (mine && mine != theirs) return Wait::isolated;
    if (!mine) {
        captures_[&stream] = theirs;
        theirs->branches[&stream];
        ++open_;
    }
    if (mark->second.stream != &stream) {
        Capture::Branch& branch = theirs->branches[mark->second.stream];
        branch.joined = std::max(branch.joined, mark->second.steps);
        ++theirs->branches[&stream].steps;  // who waits is behind, and has to be waited for in turn
    }
    return Wait::joined;
}

}  // namespace deadrank::inject::standin

using namespace deadrank::inject::standin;

namespace {

using Drop = void (*)(void*);

// What was not captured is dropped with the last copy of the step.
int add_step(void* handle, Graph::Step step) {
    Stream* stream = Devices::of_this_process().stream(handle);
    return stream && Captures::of_this_process().add(*stream, std::move(step)) ? 0 : -1;
}

}  // namespace

extern "C" {

int deadrank_captures_open(void) { return Captures::of_this_process().any() ? 1 : 0; }

int deadrank_stream_is_captured(void* handle) {
    const Stream* stream = Devices::of_this_process().stream(handle);
    return stream && Captures::of_this_process().state(*stream) ? 1 : 0;
}

int deadrank_graph_add(void* handle, void (*play)(void*), Drop drop, void* data, int64_t ns) {
    return add_step(handle, [play, kept = std::shared_ptr<void>(data, drop), ns](Stream& stream) {
        Devices::of_this_process().push(stream, [play, kept] { play(kept.get()); });
        stream.charge(ns);
    });
}

int deadrank_graph_add_call(void* handle, void (*call)(void*), Drop drop, void* data) {
    return add_step(handle, [call, kept = std::shared_ptr<void>(data, drop)](Stream&) { call(kept.get()); });
}

int deadrank_capture_at_end(void* handle, void (*action)(void*), void* data) {
    Stream* stream = Devices::of_this_process().stream(handle);
    return stream && Captures::of_this_process().at_end(*stream, [=] { action(data); }) ? 0 : -1;
}
}

// inject/standin/device/capture.h — A graph: what is enqueued while a stream is captured, in the order of the calls. To
// launch it is to enqueue all of it again, in one stream.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "inject/standin/device/stream.h"

namespace deadrank::inject::standin {

class Graph {
public:
    // Called by the thread that launches the graph, with the stream that it is launched in.
    using Step = std::function<void(Stream&)>;

    void add(Step step) { steps_.push_back(std::move(step)); }
    std::size_t size() const { return steps_.size(); }
    void launch(Stream& stream) const {
        for (const Step& step : steps_) step(stream);
    }

private:
    std::vector<Step> steps_;
};

// What is being captured, by stream. A stream joins the capture of an event that it waits for.
class Captures {
public:
    enum class Outcome { done, not_capturing, unmatched, unjoined, invalidated };
    struct State {
        std::uint64_t id = 0;
        bool valid = true;
    };

    static Captures& of_this_process();

    // Asked before each piece of work, so it costs one load.
    bool any() const { return open_.load(std::memory_order_relaxed) > 0; }
    std::optional<State> state(const Stream& stream) const;  // none: the stream is not captured

    bool begin(Stream& stream);  // false: it is captured already
    struct End {
        Outcome outcome;
        std::shared_ptr<Graph> graph;  // null unless done
    };
    End end(Stream& stream);
    // What a captured stream must not be asked spoils the capture. False: the stream is not captured.
    bool spoil(const Stream& stream);
    bool spoil_device(int device);

    // False: the stream is not captured, and the step is left.
    bool add(Stream& stream, Graph::Step step);
    bool at_end(Stream& stream, std::function<void()> action);

    // False: the stream is not captured, so that the event is recorded as any other.
    bool record(const Event& event, Stream& stream);
    bool is_captured(const Event& event) const;
    void forget(const Event& event);
    enum class Wait { not_captured, joined, isolated };  // isolated: a captured stream waits for what is not
    Wait wait(Stream& stream, const Event& event);

private:
    struct Capture;
    struct Mark {
        std::weak_ptr<Capture> capture;
        const Stream* stream = nullptr;
        std::size_t steps = 0;  // of the stream, when the event was recorded
    };
    std::shared_ptr<Capture> of(const Stream& stream) const;  // with the lock

    mutable std::mutex mutex_;
    std::atomic<int> open_{0};
    std::uint64_t last_id_ = 0;
    std::map<const Stream*, std::shared_ptr<Capture>> captures_;
    std::map<const Event*, Mark> marks_;
};

}  // namespace deadrank::inject::standin

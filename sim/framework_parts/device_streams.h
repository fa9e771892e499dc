// sim/framework_parts/device_streams.h — The streams of a rank's device. What is queued on one of them runs
// in its order, beside the host and beside other streams; only an event makes one stream wait for another.
// The rank plays it as its time goes on, so one program always gives one order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "sim/world/world.h"

namespace deadrank::sim {

// A kernel, a copy, a call among ranks, or a mark that an event left.
struct StreamEntry {
    enum class State : std::uint8_t { waiting, running, over };

    Time length{0};
    std::vector<std::shared_ptr<StreamEntry>> after = {};  // entries of other streams that it waits for
    std::function<void()> begin = {};                      // what it reads
    std::function<void()> end = {};                        // what it writes
    std::function<std::unique_ptr<Work>()> call = {};      // it lasts until this is done

    State state = State::waiting;
    Time ready{0}, began{0}, ended{0};
    std::uint64_t number = 0;  // in the order of the host's calls
    std::unique_ptr<Work> work = {};
};

class DeviceStreams {
public:
    using Entry = std::shared_ptr<StreamEntry>;

    explicit DeviceStreams(World& world) : world_(world) {}

    int make();  // 0 is the default stream, which is there from the start
    Entry queue(int stream, StreamEntry what);
    Entry last(int stream) const;  // nullptr where nothing is under way

    // Plays all that has happened by now. Whatever looks at memory asks for this first.
    void catch_up();
    void sleep(Time duration);  // the host does nothing that long, and the device goes on
    void wait(const Entry& entry);
    void wait_for_stream(int stream);
    void wait_for_all();
    // Before the host waits for somebody else: until nothing is left that only this rank's time decides.
    void settle();

private:
    struct Stream {
        std::deque<Entry> entries;
        Time free{0};  // its last entry ended then
    };

    bool starts(const Stream& stream, Time& when) const;
    bool next_change(Time& when, int& which);
    void change(int which, Time when);
    void begin(StreamEntry& entry, Time when);
    void let_pass(Time until);

    World& world_;
    std::vector<Stream> streams_ = std::vector<Stream>(1);
    std::uint64_t queued_ = 0;
};

}  // namespace deadrank::sim

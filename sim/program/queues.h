// sim/program/queues.h — Tensors of a program that has streams. An operation on what lies on a device is
// queued on the current stream: it reads when its turn comes, and what it makes is there when it has ended.
// Whatever needs a number waits for the current stream first, and for no other one, as item() does in torch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/framework_parts/device_streams.h"
#include "sim/framework_parts/memory_pool.h"
#include "sim/program/builtins.h"

namespace deadrank::sim::program {

// What a Stream and an Event of the program hold.
struct StreamHeld final : Object {
    int stream = 0;
};
struct EventHeld final : Object {
    DeviceStreams::Entry at;  // nullptr until it is recorded
    bool timed = false;
};

class Queues {
public:
    explicit Queues(Interpreter& rank);

    using Does = std::function<Value(Arguments&)>;
    using Changes = std::function<void(const Value& target, Arguments&)>;
    using Calls = std::function<std::unique_ptr<Work>(const std::vector<std::shared_ptr<Tensor>>&)>;

    // What an operation gives: a view and a number at once, the latter when the stream is there.
    Value result(Arguments operands, const Does& does);
    // … where the elements decide on the shape, so that the host has to wait.
    Value by_content(Arguments operands, const Does& does);
    // Into a tensor that is there. `at_once`: its elements are not copied first, so that others are left
    // alone.
    void change(const Value& target, Arguments operands, const Changes& changes, bool at_once = false);
    void copy(const Value& target, const Value& source, bool host_goes_on);
    Value moved(const Value& source, Value made, bool host_goes_on);
    Value called(int builtin, Arguments& arguments);

    void look(const Value& value);  // the host reads it
    void kernel(Time length);
    // A call among ranks: after what the current stream has, beside it until somebody waits. nullptr where
    // the host moves the data itself, and has waited for the stream.
    std::shared_ptr<Handle> call(Comm& comm, std::vector<std::shared_ptr<Tensor>> held, const Calls& calls);
    void wait(Handle& handle);  // the current stream does, not the host

    void use_on(const Value& tensor, int stream);  // record_stream
    int current() const { return current_; }
    int choose(int stream) { return std::exchange(current_, stream); }
    DeviceStreams& streams() { return streams_; }
    void wait_for_current() { streams_.wait_for_stream(current_); }

private:
    void adopt(Tensor& made);
    void fill_unwritten(Tensor& made);
    std::shared_ptr<Tensor> pinned(const Tensor& tensor) const;
    Value pinned(const Value& value, bool host_too = true) const;
    Arguments pinned(const Arguments& operands) const;

    Interpreter& rank_;
    DeviceStreams streams_;
    std::shared_ptr<MemoryPool> pool_;
    std::map<const Comm*, int> of_groups_;
    int current_ = 0;
};

bool on_device(const Value& value, int depth = 0);

}  // namespace deadrank::sim::program

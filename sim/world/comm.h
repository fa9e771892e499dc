// sim/world/comm.h — A communicator as NCCL gives it: collectives and point-to-point on real values, numbered
// per communicator. It has no time-out of its own; asynchronous errors show only when polled; matching is by
// order of calls, not by intent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "results/record/codes.h"
#include "results/record/time.h"

namespace deadrank::sim {

using results::Code;
using results::CommId;
using results::Dtype;
using results::Op;
using results::Rank;
using results::ReduceOp;
using results::Time;

// Values on the wire. Gradients, shards and activations are integers or fixed point, so that a wrong shard is
// a wrong number.
using Number = std::int64_t;

// An operation under way. wait() blocks the rank; ready() asks without blocking.
class Work {
public:
    virtual ~Work() = default;
    virtual bool ready() = 0;
    virtual void wait() = 0;
    virtual Rank source() const { return -1; }  // of a message that was taken: its sender's place
    // Waits no longer than that, or until `enough` (which may be empty) says so; whether it is over. A
    // backend without it waits for the end.
    virtual bool wait_for(Time /*patience*/, const std::function<bool()>& /*enough*/) {
        wait();
        return true;
    }
};

// A collective on the memory of a real program, where the element type alone says what the bytes mean. `in`
// and `out` may be the same memory. Sizes of `in` and `out` relate as in Comm; gather: the root's out holds
// size × in, scatter: the root's in holds size × out.
struct ByteCall {
    Op op = Op::none;
    Dtype dtype = Dtype::none;
    ReduceOp reduce = ReduceOp::none;
    Rank root = -1;
    std::int64_t count = 0;  // elements that the call names, as NCCL counts them
    std::span<const std::byte> in = {};
    std::span<std::byte> out = {};
    // Bytes to and from each member of an all_to_all with unequal parts; empty: equal parts.
    std::vector<std::int64_t> sent = {}, received = {};
};

inline constexpr Rank any_source = -1;  // of a recv: whoever sent first

class Comm {
public:
    virtual ~Comm() = default;

    virtual CommId id() const = 0;
    virtual const std::string& name() const = 0;  // world, dp, tp, pp, …
    virtual Rank rank() const = 0;                // in this communicator
    virtual Rank size() const = 0;
    virtual const std::vector<Rank>& members() const = 0;    // world ranks, in order
    virtual bool moves_host_memory() const { return true; }  // or the memory of devices alone, as NCCL

    // All block until the rank's own part is done, as a call followed by a stream synchronisation would.
    // Sizes: all_gather out = size × in; reduce_scatter in = size × out; all_to_all in == out, size equal
    // parts.
    virtual void all_reduce(std::span<Number> data, ReduceOp reduce = ReduceOp::sum,
                            Dtype dtype = Dtype::f32) = 0;
    virtual void broadcast(std::span<Number> data, Rank root, Dtype dtype = Dtype::f32) = 0;
    virtual void reduce(std::span<Number> data, Rank root, ReduceOp reduce = ReduceOp::sum,
                        Dtype dtype = Dtype::f32) = 0;
    virtual void all_gather(std::span<const Number> in, std::span<Number> out, Dtype dtype = Dtype::f32) = 0;
    virtual void reduce_scatter(std::span<const Number> in, std::span<Number> out,
                                ReduceOp reduce = ReduceOp::sum, Dtype dtype = Dtype::f32) = 0;
    virtual void all_to_all(std::span<const Number> in, std::span<Number> out, Dtype dtype = Dtype::f32) = 0;
    virtual void barrier() = 0;
    virtual void send(std::span<const Number> data, Rank peer, int tag = 0, Dtype dtype = Dtype::f32) = 0;
    virtual void recv(std::span<Number> data, Rank peer, int tag = 0, Dtype dtype = Dtype::f32) = 0;

    // Overlapping forms. The buffers must stay alive and untouched until wait(): a fault may make a rank read
    // too early.
    virtual std::unique_ptr<Work> all_reduce_async(std::span<Number> data, ReduceOp reduce = ReduceOp::sum,
                                                   Dtype dtype = Dtype::f32) = 0;
    virtual std::unique_ptr<Work> all_gather_async(std::span<const Number> in, std::span<Number> out,
                                                   Dtype dtype = Dtype::f32) = 0;
    virtual std::unique_ptr<Work> reduce_scatter_async(std::span<const Number> in, std::span<Number> out,
                                                       ReduceOp reduce = ReduceOp::sum,
                                                       Dtype dtype = Dtype::f32) = 0;
    virtual std::unique_ptr<Work> send_async(std::span<const Number> data, Rank peer, int tag = 0,
                                             Dtype dtype = Dtype::f32) = 0;
    virtual std::unique_ptr<Work> recv_async(std::span<Number> data, Rank peer, int tag = 0,
                                             Dtype dtype = Dtype::f32) = 0;

    // Of these a backend may know only the form that waits: then they are done at once, and no work is left.
    virtual std::unique_ptr<Work> broadcast_async(std::span<Number> data, Rank root,
                                                  Dtype dtype = Dtype::f32) {
        broadcast(data, root, dtype);
        return nullptr;
    }
    virtual std::unique_ptr<Work> reduce_async(std::span<Number> data, Rank root,
                                               ReduceOp reduction = ReduceOp::sum, Dtype dtype = Dtype::f32) {
        reduce(data, root, reduction, dtype);
        return nullptr;
    }
    virtual std::unique_ptr<Work> all_to_all_async(std::span<const Number> in, std::span<Number> out,
                                                   Dtype dtype = Dtype::f32) {
        all_to_all(in, out, dtype);
        return nullptr;
    }

    virtual std::unique_ptr<Work> barrier_async() {
        barrier();
        return nullptr;
    }

    // The same on bytes, always asynchronous. A backend that has only numbers throws RankFailure. A call in which no
    // member brings memory moves no values, and takes the time of its `count`.
    virtual std::unique_ptr<Work> collective(const ByteCall& /*call*/) { refuse_bytes(); }
    virtual std::unique_ptr<Work> send_bytes(std::span<const std::byte>, Rank /*peer*/, int /*tag*/, Dtype) {
        refuse_bytes();
    }
    virtual std::unique_ptr<Work> recv_bytes(std::span<std::byte>, Rank /*peer*/, int /*tag*/, Dtype) {
        refuse_bytes();
    }

    // A message of `count` elements without values. The transfer takes its simulated time, and no memory.
    virtual std::unique_ptr<Work> send_size(std::int64_t /*count*/, Rank /*peer*/, int /*tag*/, Dtype) {
        refuse_bytes();
    }
    virtual std::unique_ptr<Work> recv_size(std::int64_t /*count*/, Rank /*peer*/, int /*tag*/, Dtype) {
        refuse_bytes();
    }

    // Between these, calls do not block; group_end waits for all of them together.
    virtual void group_start() = 0;
    virtual void group_end() = 0;
    // Sends and receives between these are one kernel, where the library makes one of them: it begins after
    // the one before it, and waits for nobody else.
    virtual void batch_start() {}
    virtual void batch_end() {}
    // What a call between them reads or writes lives at least until they are over.
    virtual void keep(std::shared_ptr<const void> /*buffer*/) {}

    virtual Code async_error() = 0;  // only when polled
    virtual void abort() = 0;        // own calls under way end with Code::aborted
    virtual void destroy() {}        // waits until the library lets go of it

private:
    [[noreturn]] static void refuse_bytes();
};

}  // namespace deadrank::sim

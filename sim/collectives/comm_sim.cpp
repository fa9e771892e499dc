// sim/collectives/comm_sim.cpp — A communicator of the simulated cluster as one rank holds it.
#include "sim/collectives/comm_sim.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "scenarios/model/error.h"
#include "sim/collectives/bootstrap.h"
#include "sim/collectives/fabric.h"
#include "sim/collectives/library_texts.h"

namespace deadrank::sim {

using results::Op;

namespace {

Offer offer_of(Op op, std::span<const Number> in, std::span<Number> out, std::int64_t count, Dtype dtype,
               ReduceOp reduce, Rank root) {
    Offer offer;
    offer.op = op;
    offer.in = in.data();
    offer.in_size = static_cast<std::int64_t>(in.size());
    offer.out = out.data();
    offer.out_size = static_cast<std::int64_t>(out.size());
    offer.count = count;
    offer.dtype = dtype;
    offer.reduce = reduce;
    offer.root = root;
    return offer;
}

std::int64_t length(std::span<const Number> data) { return static_cast<std::int64_t>(data.size()); }

const std::vector<Rank> nobody_at_all;

}  // namespace

SimComm::SimComm(Fabric& machine, Process& process, Communicator* comm, Rank index, CommId id,
                 std::string name)
    : machine_(machine), process_(process), comm_(comm), index_(index), id_(id), name_(std::move(name)) {}

SimComm::~SimComm() {
    if (!comm_) return;
    comm_->close_member(index_);
    machine_.hosts.give_back(process_.node, shared_segment, sockets);
}

Rank SimComm::size() const { return comm_ ? comm_->size() : 0; }
const std::vector<Rank>& SimComm::members() const { return comm_ ? comm_->ranks() : nobody_at_all; }
bool SimComm::moves_host_memory() const { return !comm_ || comm_->over_gloo(); }

void SimComm::all_reduce(std::span<Number> data, ReduceOp reduce, Dtype dtype) {
    run(offer_of(Op::all_reduce, data, data, length(data), dtype, reduce, -1));
}

void SimComm::broadcast(std::span<Number> data, Rank root, Dtype dtype) {
    run(offer_of(Op::broadcast, data, data, length(data), dtype, ReduceOp::none, root));
}

void SimComm::reduce(std::span<Number> data, Rank root, ReduceOp reduce, Dtype dtype) {
    run(offer_of(Op::reduce, data, data, length(data), dtype, reduce, root));
}

void SimComm::all_gather(std::span<const Number> in, std::span<Number> out, Dtype dtype) {
    run(offer_of(Op::all_gather, in, out, length(in), dtype, ReduceOp::none, -1));
}

void SimComm::reduce_scatter(std::span<const Number> in, std::span<Number> out, ReduceOp reduce,
                             Dtype dtype) {
    run(offer_of(Op::reduce_scatter, in, out, length(out), dtype, reduce, -1));
}

void SimComm::all_to_all(std::span<const Number> in, std::span<Number> out, Dtype dtype) {
    run(offer_of(Op::all_to_all, in, out, length(in) / std::max<Rank>(size(), 1), dtype, ReduceOp::none, -1));
}

void SimComm::barrier() { run(offer_of(Op::barrier, {}, {}, 1, Dtype::i32, ReduceOp::none, -1)); }

std::unique_ptr<Work> SimComm::barrier_async() {
    return start(offer_of(Op::barrier, {}, {}, 1, Dtype::i32, ReduceOp::none, -1));
}

std::unique_ptr<Work> SimComm::all_reduce_async(std::span<Number> data, ReduceOp reduce, Dtype dtype) {
    return start(offer_of(Op::all_reduce, data, data, length(data), dtype, reduce, -1));
}

std::unique_ptr<Work> SimComm::all_gather_async(std::span<const Number> in, std::span<Number> out,
                                                Dtype dtype) {
    return start(offer_of(Op::all_gather, in, out, length(in), dtype, ReduceOp::none, -1));
}

std::unique_ptr<Work> SimComm::reduce_scatter_async(std::span<const Number> in, std::span<Number> out,
                                                    ReduceOp reduce, Dtype dtype) {
    return start(offer_of(Op::reduce_scatter, in, out, length(out), dtype, reduce, -1));
}

std::unique_ptr<Work> SimComm::broadcast_async(std::span<Number> data, Rank root, Dtype dtype) {
    return start(offer_of(Op::broadcast, data, data, length(data), dtype, ReduceOp::none, root));
}

std::unique_ptr<Work> SimComm::reduce_async(std::span<Number> data, Rank root, ReduceOp reduction,
                                            Dtype dtype) {
    return start(offer_of(Op::reduce, data, data, length(data), dtype, reduction, root));
}

std::unique_ptr<Work> SimComm::all_to_all_async(std::span<const Number> in, std::span<Number> out,
                                                Dtype dtype) {
    return start(
        offer_of(Op::all_to_all, in, out, length(in) / std::max<Rank>(size(), 1), dtype, ReduceOp::none, -1));
}

void SimComm::check(Op op) {
    if (!comm_) {
        throw LibraryError(
            Code::invalid_argument,
            nccl_exception(Code::invalid_argument, machine_.environment.version(process_, "nccl"),
                           fmt::format("{} : comm argument is NULL", nccl_function(op))));
    }
    check_usable(machine_, process_, *comm_, index_);
    machine_.devices.check(process_);
}

// As the framework does before it calls the library: another operation needs other buffers.
void SimComm::check_sizes(const Offer& offer, Op op) const {
    const std::int64_t ranks = size();
    if (op == Op::all_gather && offer.out_size != offer.in_size * ranks)
        throw RankFailure(
            "RuntimeError: output tensor size must be equal to world_size times input tensor size");
    if (op == Op::reduce_scatter && offer.in_size != offer.out_size * ranks)
        throw RankFailure("RuntimeError: input tensor must be the same size as output size times world size");
}

SimComm::Answer SimComm::intercept_call(Offer& offer) {
    return process_.armed ? call_interceptor(offer) : Answer::go_on;
}

SimComm::Answer SimComm::call_interceptor(Offer& offer) {
    Call call{.kind = CallKind::collective};
    call.comm = name_;
    call.name = results::name_of(offer.op);
    call.seq = comm_->member(index_).called + 1;
    call.count = offer.count;
    call.dtype = offer.dtype;
    call.op = offer.op;
    call.reduce = offer.reduce;
    call.root = offer.root;
    machine_.gate.pass(process_, call);
    if (call.op != offer.op) check_sizes(offer, call.op);
    if (call.answer == Code::remote_error) machine_.hosts[process_.node].card_failed = true;
    if (call.answer != Code::ok) refuse_call(call.answer, offer.op);
    offer.count = std::clamp<std::int64_t>(call.count, 0, count_max);
    offer.dtype = call.dtype;
    offer.op = call.op;
    offer.reduce = call.reduce;
    offer.root = call.root;
    offer.flip_bit = call.flip_bit;
    offer.flip_received = call.flip_received;
    offer.stuck = call.never_completes;
    if (call.skip) return Answer::skip;
    return call.hold && !held_ ? Answer::hold : Answer::go_on;
}

// A call that a fault answers instead of the library.
void SimComm::refuse_call(Code code, Op op) {
    if (!comm_->over_gloo()) refuse(code, fmt::format("{} failed", nccl_function(op)));
    const Process& next = machine_.processes[comm_->member((index_ + 1) % size()).process];
    const std::string host = machine_.topology.host_name(next.node);
    const std::string text = code == Code::remote_error ? gloo_closed_text(host)
                             : code == Code::timeout ? gloo_timeout_text(machine_.settings.collective_timeout)
                                                     : gloo_read_text(host);
    machine_.recorder.record(process_.id, results::CommError{id_, code, machine_.recorder.text(text)});
    throw LibraryError(code, text);
}

void SimComm::refuse(Code code, std::string_view last_error) {
    Recorder& recorder = machine_.recorder;
    recorder.record(process_.id, results::CommError{id_, code, recorder.text(last_error)});
    throw LibraryError(code,
                       nccl_exception(code, machine_.environment.version(process_, "nccl"), last_error));
}

std::int64_t SimComm::issue(const Offer& offer) {
    const bool rooted = offer.op == Op::broadcast || offer.op == Op::reduce;
    CHECK(!comm_->has_crowd() || rooted || offer.op == Op::all_reduce || offer.op == Op::barrier);
    if (rooted && (offer.root < 0 || offer.root >= size())) {
        refuse(Code::invalid_argument, fmt::format("{} : invalid root {} (root should be in the 0..{} range)",
                                                   nccl_function(offer.op), offer.root, size()));
    }
    const std::int64_t seq = comm_->member(index_).called + 1;
    machine_.recorder.record(process_.id, results::CollectiveEnter{id_, seq, offer.count, offer.root,
                                                                   offer.op, offer.dtype, offer.reduce});
    comm_->enter(index_, offer);
    return seq;
}

void SimComm::run(Offer offer) {
    if (group_depth_ > 0) {
        group_.push_back(start(offer));
        return;
    }
    check(offer.op);
    const Answer answer = intercept_call(offer);
    if (answer == Answer::skip) return;
    if (answer == Answer::hold) return hold(offer);
    offer.waiting = true;
    const std::int64_t seq = issue(offer);
    if (held_) release_held();
    // However this wait ends, the buffer must not be read or written after it.
    struct Withdrawal {
        Communicator& comm;
        std::int64_t seq;
        Rank index;
        ~Withdrawal() { comm.withdraw(index, seq, true); }
    } withdrawal{*comm_, seq, index_};
    if (comm_->detail()) check_fingerprint(seq);
    machine_.wait(process_, {.kind = WaitKind::collective, .comm = comm_, .number = seq},
                  [&] { return comm_->completed(index_, seq) || comm_->is_over_for(index_); });
    const Code result = comm_->completed(index_, seq) ? Code::ok : completion_code(*comm_, index_);
    machine_.recorder.record(process_.id, results::CollectiveLeave{id_, seq, offer.op, result});
    if (result != Code::ok) check_usable(machine_, process_, *comm_, index_);
}

std::unique_ptr<Work> SimComm::start(Offer offer) {
    check(offer.op);
    return start(offer, std::make_unique<SimWork>(machine_, process_, *comm_, index_, offer.op));
}

std::unique_ptr<Work> SimComm::collective(const ByteCall& call) {
    check(call.op);
    auto work = std::make_unique<SimWork>(machine_, process_, *comm_, index_, call.op);
    Offer offer = offer_of(call.op, {}, {}, call.count, call.dtype, call.reduce, call.root);
    offer.bytes = &work->own(call);
    offer.wants_bytes = true;
    return start(offer, std::move(work));
}

std::unique_ptr<Work> SimComm::start(Offer offer, std::unique_ptr<SimWork> work) {
    const Answer answer = intercept_call(offer);
    if (answer == Answer::hold) hold(offer);
    if (answer != Answer::go_on) return work;  // never bound: waiting for it returns at once
    offer.work = work.get();
    work->bind(issue(offer));
    if (held_) release_held();
    return work;
}

void SimComm::hold(const Offer& offer) { held_ = std::make_unique<Held>(offer); }

// The call that was held back goes out after this one. Its caller has gone on, so it works on a copy and
// reports to nobody.
void SimComm::release_held() {
    const std::unique_ptr<Held> held = std::move(held_);
    auto work = std::make_unique<SimWork>(machine_, process_, *comm_, index_, held->offer.op);
    if (held->offer.bytes) held->offer.bytes = &work->own(held->bytes, held->byte_copy);
    held->offer.work = work.get();
    work->bind(issue(held->offer));
    orphans_.push_back(std::move(work));
    orphan_buffers_.push_back(std::move(held->copy));
}

void SimComm::group_end() {
    if (group_depth_ == 0) refuse(Code::invalid_usage, "ncclGroupEnd: not in a group call.");
    if (--group_depth_ > 0) return;
    const auto buffers = std::exchange(buffers_, {});
    const auto calls = std::exchange(group_, {});
    for (const auto& call : calls) call->wait();
}

void SimComm::keep(std::shared_ptr<const void> buffer) {
    if (group_depth_ > 0) buffers_.push_back(std::move(buffer));
}

Code SimComm::async_error() {
    if (!comm_) return Code::invalid_argument;
    Member& mine = comm_->member(index_);
    if (mine.async_error != Code::ok && !std::exchange(mine.error_shown, true)) {
        machine_.recorder.record(
            process_.id, results::CommError{id_, mine.async_error, machine_.recorder.text(mine.error_text)});
    }
    return mine.async_error;
}

void SimComm::abort() {
    if (!comm_ || comm_->member(index_).aborted) return;
    machine_.recorder.record(process_.id, results::CommAbort{id_});
    comm_->abort(index_);
}

// What torch has done since 2.6 where ranks destroy a group: the rank's own kernels come to their end, then
// NCCL frees what devices of one node share, for which all of its members there have to come. Texts:
// torch 2.11.
void SimComm::destroy() {
    if (!comm_ || comm_->over_gloo() || comm_->has_crowd() || comm_->is_over_for(index_)) return;
    const auto log_line = [&](std::string_view words) {
        machine_.recorder.log(process_.id, 0, group_prefix(*comm_, index_) + std::string(words));
    };
    log_line("Starting to destroy process group, flushing operations.");
    comm_->destroy(index_);
    machine_.wait(process_, {.kind = WaitKind::destroy, .comm = comm_},
                  [&] { return comm_->may_be_freed(index_) || comm_->is_over_for(index_); });
    log_line("Operations flushed, joining watchdog thread.");
}

// ProcessGroupWrapper: all compare what they are about to call, and rank 0 counts who came, before anything
// is launched.
void SimComm::check_fingerprint(std::int64_t seq) {
    const Time timeout = comm_->call_timeout(index_), deadline = machine_.engine.now() + timeout;
    const auto all_came = [&] {
        const PendingCollective* pending = comm_->pending(seq);
        return comm_->failed() || !pending || pending->arrived == comm_->size() ||
               comm_->member(index_).aborted;
    };
    const WaitNote note{.kind = WaitKind::collective, .comm = comm_, .number = seq};
    const bool came = machine_.wait_until(process_, note, deadline, all_came);
    if (came && !comm_->failed()) return;
    const PendingCollective& pending = *comm_->pending(came ? comm_->last_completed() + 1 : seq);
    throw RankFailure(came ? fingerprint_mismatch(pending, index_)
                           : monitored_barrier_failure(pending, index_, timeout));
}

}  // namespace deadrank::sim

// inject/shims/profiler/watcher.cpp — Events come from the program's threads and from NCCL's own.
#include "inject/shims/profiler/watcher.h"

#include <array>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "inject/shims/core/session.h"

namespace deadrank::inject::shims {

namespace {

using results::Dtype;
using results::Op;

// As NCCL spells its functions and types in these events.
Op op_called(const char* function) {
    static constexpr std::array<std::pair<std::string_view, Op>, 10> known = {
        {{"AllReduce", Op::all_reduce},
         {"Broadcast", Op::broadcast},
         {"Reduce", Op::reduce},
         {"AllGather", Op::all_gather},
         {"ReduceScatter", Op::reduce_scatter},
         {"AlltoAll", Op::all_to_all},
         {"Gather", Op::gather},
         {"Scatter", Op::scatter},
         {"Send", Op::send},
         {"Recv", Op::recv}}};
    std::string_view name = function ? function : "";
    if (name.starts_with("nccl")) name.remove_prefix(4);
    for (const auto& [word, op] : known) {
        if (word == name) return op;
    }
    return Op::none;
}

Dtype dtype_called(const char* dtype) {
    static constexpr std::array<std::pair<std::string_view, Dtype>, 10> known = {
        {{"ncclInt8", Dtype::i8},
         {"ncclUint8", Dtype::i8},
         {"ncclInt32", Dtype::i32},
         {"ncclUint32", Dtype::i32},
         {"ncclInt64", Dtype::i64},
         {"ncclUint64", Dtype::i64},
         {"ncclFloat16", Dtype::f16},
         {"ncclBfloat16", Dtype::bf16},
         {"ncclFloat32", Dtype::f32},
         {"ncclFloat64", Dtype::f64}}};
    const std::string_view name = dtype ? dtype : "";
    for (const auto& [word, known_dtype] : known) {
        if (word == name) return known_dtype;
    }
    return Dtype::none;
}

// NCCL names root 0 where there is none.
bool has_root(Op op) {
    return op == Op::broadcast || op == Op::reduce || op == Op::gather || op == Op::scatter;
}

Session& session() {
    static Session* const one = new Session([](RankSession&) {});
    return *one;
}

}  // namespace

std::uint64_t wanted_events() {
    if (!Session::wanted() || ::dlsym(RTLD_DEFAULT, "deadrank_nccl_interposer")) return 0;
    const std::uint64_t calls = event_coll_api | event_p2p_api;
    return session().evidence() ? calls | event_coll | event_p2p | event_kernel_channel : calls;
}

WatchedComm* watch_comm(const char* name, int ranks, int rank) {
    static std::mutex guard;
    static std::map<results::Rank, results::CommId> made;
    RankSession& mine = session().rank(rank);
    const std::lock_guard lock(guard);
    const results::CommId number = ++made[mine.rank];
    std::string words = name ? name : "";
    if (words.empty()) words = number == 1 ? "world" : "group" + std::to_string(number - 1);
    return new WatchedComm(mine, number, words, ranks, rank);
}

WatchedComm::WatchedComm(RankSession& rank, results::CommId number, std::string name, int ranks,
                         int rank_in_comm)
    : rank_(rank), number_(number), name_(std::move(name)) {
    Line line("comm.init.enter", rank_.rank);
    line.add("comm", number_).add("size", ranks).add("rank_in_comm", rank_in_comm).add("name", name_);
    const std::string all = ranks > 1 ? "0-" + std::to_string(ranks - 1) : "0";
    rank_.evidence.write(line.add("members", number_ == 1 ? all : ""));
}

// NCCL does not say when a communicator is ready; its first use shows that it is.
void WatchedComm::alive() {
    if (std::exchange(made_, true)) return;
    Line line("comm.init.leave", rank_.rank);
    rank_.evidence.write(line.add("comm", number_).add("result", "ok").add("transport", ""));
}

void WatchedComm::called(const char* function) {
    const Decision decision = rank_.faults.at(results::name_of(op_called(function)), name_);
    if (!decision.any) return;
    sleep_for(decision.alteration.delay.count());
    if (decision.alteration.never_completes) sleep_forever();
    if (decision.alteration.delay.count() == 0) {
        rank_.faults.refuse(decision.fault,
                            "a profiler can delay a call and nothing else: preload libdeadrank-nccl.so");
    }
}

WatchedEvent* WatchedComm::start(const Coll& coll) {
    const std::lock_guard lock(guard_);
    alive();
    auto event = std::make_unique<WatchedEvent>();
    *event = {this, nullptr, false, ++collectives_, op_called(coll.function), -1, coll.channels, 0, false};
    Line line("collective.enter", rank_.rank);
    line.add("comm", number_).add("seq", event->number).add("count", static_cast<std::int64_t>(coll.count));
    line.add("root", has_root(event->op) ? coll.root : -1).add("op", results::name_of(event->op));
    rank_.evidence.write(line.add("dtype", results::name_of(dtype_called(coll.dtype))));
    return event.release();
}

WatchedEvent* WatchedComm::start(const P2p& p2p) {
    const std::lock_guard lock(guard_);
    alive();
    auto event = std::make_unique<WatchedEvent>();
    *event = {this, nullptr, true, ++messages_, op_called(p2p.function), p2p.peer, p2p.channels, 0, false};
    Line line("p2p.enter", rank_.rank);
    line.add("comm", number_).add("seq", event->number).add("count", static_cast<std::int64_t>(p2p.count));
    line.add("peer", p2p.peer).add("op", results::name_of(event->op));
    rank_.evidence.write(line.add("dtype", results::name_of(dtype_called(p2p.dtype))));
    return event.release();
}

WatchedEvent* WatchedComm::start_kernel(WatchedEvent* parent) {
    return parent ? new WatchedEvent{.comm = parent->comm, .parent = parent} : nullptr;
}

void WatchedComm::stop(WatchedEvent* event) {
    if (!event) return;
    WatchedComm& comm = *event->comm;
    const std::lock_guard lock(comm.guard_);
    if (WatchedEvent* const parent = event->parent) {
        delete event;
        ++parent->finished;
        return comm.land_if_over(parent);
    }
    event->enqueued = true;
    comm.land_if_over(event);
}

void WatchedComm::land_if_over(WatchedEvent* event) {
    if (!event->enqueued || event->finished < event->channels) return;
    Line line(event->message ? "p2p.leave" : "collective.leave", rank_.rank);
    line.add("comm", number_).add("seq", event->number);
    if (event->message) line.add("peer", event->peer);
    rank_.evidence.write(line.add("op", results::name_of(event->op)).add("result", "ok"));
    delete event;
}

}  // namespace deadrank::inject::shims

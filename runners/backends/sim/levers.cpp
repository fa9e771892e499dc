// runners/backends/sim/levers.cpp — Every lever there is: the simulator refuses only what names nothing.
#include "runners/backends/sim/levers.h"

#include <fmt/format.h>
#include <limits>

namespace deadrank::runners {

namespace {

tl::unexpected<scenarios::Error> refuse(std::string what, std::string remedy = {}) {
    return scenarios::refuse(scenarios::ErrorCode::bad_input, std::move(what), std::move(remedy));
}

sim::StorageTrouble trouble_named(std::string_view name) {
    using sim::StorageTrouble;
    static const std::map<std::string_view, StorageTrouble> troubles = {
        {"flip", StorageTrouble::flip},     {"truncate", StorageTrouble::truncate},
        {"tear", StorageTrouble::tear},     {"lose", StorageTrouble::lose},
        {"stale", StorageTrouble::stale},   {"swap", StorageTrouble::swap},
        {"delete", StorageTrouble::remove}, {"slow", StorageTrouble::slow},
        {"full", StorageTrouble::full},     {"read_only", StorageTrouble::read_only}};
    const auto found = troubles.find(name);
    return found == troubles.end() ? StorageTrouble::none : found->second;
}

bool communicates(const sim::Call& call) {
    return call.kind == sim::CallKind::collective || call.kind == sim::CallKind::send ||
           call.kind == sim::CallKind::recv;
}

bool alters_message(const inject::Alteration& alteration) {
    return alteration.hold || alteration.count_change != 0 || alteration.count_set >= 0 ||
           alteration.dtype != results::Dtype::none || alteration.op != results::Op::none ||
           alteration.reduce != results::ReduceOp::none || alteration.root >= 0 || alteration.flip_bit >= 0;
}

}  // namespace

void SimLevers::shape(sim::Call& call) const {
    const auto shape = shaped_.find(call.rank);
    if (shape == shaped_.end()) return;
    if (call.kind == sim::CallKind::block) {
        if (shape->second.left_out.count(call.name) > 0) call.skip = true;
    } else if (call.kind == sim::CallKind::seam) {
        const auto bend = shape->second.bends.find(call.name);
        if (bend != shape->second.bends.end()) call.count = bent(call.count, bend->second);
    }
}

SimLevers::Shape& SimLevers::shape_of(Rank rank) {
    cluster_.arm(rank);  // its seams and blocks must ask from now on
    return shaped_[rank];
}

Result<Done> SimLevers::on_rank(Rank rank) const {
    if (rank >= 0 && rank < ranks() && cluster_.in_crowd(rank)) {
        return refuse(fmt::format("rank {} is played as one of a crowd", rank),
                      "aim the fault at it from the start, or leave out 'individuals'");
    }
    if (rank >= 0 && rank < ranks()) return Done{};
    return refuse(fmt::format("there is no rank {}", rank), fmt::format("ranks are 0 to {}", ranks() - 1));
}

Result<Done> SimLevers::on_process(Rank rank) const {
    if (const auto there = on_rank(rank); !there || cluster_.alive(rank)) return there;
    return refuse(fmt::format("rank {} has no process at that moment", rank),
                  "let `when` name a step that it lives to see");
}

Result<Done> SimLevers::on_node(int node) const {
    const int nodes = cluster_.settings().nodes;
    if (node >= 0 && node < nodes) return Done{};
    return refuse(fmt::format("there is no node {}", node), fmt::format("nodes are 0 to {}", nodes - 1));
}

Result<Done> SimLevers::set_env(Rank rank, std::string_view name, std::string_view value) {
    return on_rank(rank).map([&](Done done) { return cluster_.set_env(rank, name, value), done; });
}
Result<Done> SimLevers::unset_env(Rank rank, std::string_view name) {
    return on_rank(rank).map([&](Done done) { return cluster_.unset_env(rank, name), done; });
}
Result<Done> SimLevers::set_version(Rank rank, std::string_view package, std::string_view version) {
    return on_rank(rank).map([&](Done done) { return cluster_.set_version(rank, package, version), done; });
}
Result<Done> SimLevers::swap_ranks(Rank a, Rank b) {
    if (const auto other = on_rank(b); !other) return other;
    return on_rank(a).map([&](Done done) { return cluster_.swap_ranks(a, b), done; });
}
Result<Done> SimLevers::break_package(Rank rank, std::string_view package, std::string_view problem) {
    return on_rank(rank).map([&](Done done) { return cluster_.break_package(rank, package, problem), done; });
}
Result<Done> SimLevers::take_port(int node, std::string_view port, bool mute) {
    return on_node(node).map([&](Done done) { return cluster_.take_port(node, port, mute), done; });
}
Result<Done> SimLevers::break_name(Rank rank, std::string_view host, std::string_view how) {
    const auto trouble = how == "unroutable" ? sim::NameTrouble::unroutable : sim::NameTrouble::unresolvable;
    return on_rank(rank).map([&](Done done) { return cluster_.break_name(rank, host, trouble), done; });
}
Result<Done> SimLevers::add_interface(int node, std::string_view name, bool routable, bool sorts_first) {
    return on_node(node).map(
        [&](Done done) { return cluster_.add_interface(node, name, routable, sorts_first), done; });
}

Result<Done> SimLevers::kill(Rank rank, int signal) {
    return on_process(rank).map([&](Done done) { return cluster_.kill(rank, signal), done; });
}
Result<Done> SimLevers::exit(Rank rank, int code, std::string_view says) {
    return on_process(rank).map([&](Done done) { return cluster_.exit(rank, code, says), done; });
}
Result<Done> SimLevers::stop(Rank rank) {
    return on_process(rank).map([&](Done done) { return cluster_.stop(rank), done; });
}
Result<Done> SimLevers::resume(Rank rank) {
    return on_rank(rank).map([&](Done done) { return cluster_.resume(rank), done; });
}

Result<Done> SimLevers::change_device(Rank rank, const inject::DeviceChange& change) {
    if (const auto there = on_rank(rank); !there) return there;
    cluster_.change_device(rank, {.slow_permille = change.slow_permille,
                                  .memory_limit = change.memory_limit,
                                  .leak_per_step = change.leak_per_step,
                                  .throttle = change.throttle,
                                  .off_bus = change.off_bus,
                                  .xid = change.xid,
                                  .ecc_uncorrected = change.ecc_uncorrected,
                                  .ecc_corrected = change.ecc_corrected});
    return Done{};
}

Result<Done> SimLevers::change_host(int node, const inject::HostChange& change) {
    if (const auto there = on_node(node); !there) return there;
    cluster_.change_host(node, {.host_memory_limit = change.host_memory_limit,
                                .shared_memory_limit = change.shared_memory_limit,
                                .open_files_limit = change.open_files_limit,
                                .leak_per_step = change.leak_per_step,
                                .clock_drift_ppb = change.clock_drift_ppb,
                                .clock_step = change.clock_step,
                                .down = change.down});
    return Done{};
}

Result<Done> SimLevers::change_link(const inject::LinkChange& change) {
    for (const int node : {change.from, change.to}) {
        if (const auto there = on_node(node); node != -1 && !there) return there;
    }
    cluster_.change_link({.from = change.from,
                          .to = change.to,
                          .one_way = change.one_way,
                          .down = change.down,
                          .reset = change.reset,
                          .bandwidth_permille = change.bandwidth_permille,
                          .extra_latency = change.extra_latency,
                          .loss_ppb = change.loss_ppb});
    return Done{};
}

Result<Done> SimLevers::change_storage(const inject::StorageChange& change) {
    const sim::StorageTrouble trouble = trouble_named(change.what);
    if (trouble == sim::StorageTrouble::none)
        return refuse(fmt::format("storage knows no trouble '{}'", change.what));
    cluster_.change_storage(
        {.path = change.path, .what = trouble, .amount = change.amount, .end = change.end});
    return Done{};
}

// The simulated store exchanges words, not bytes.
Result<Done> SimLevers::change_store(Rank rank, const inject::StoreChange& change) {
    static const std::map<std::string_view, sim::StoreTrouble> troubles = {
        {"", sim::StoreTrouble::none},
        {"mute", sim::StoreTrouble::mute},
        {"refuse", sim::StoreTrouble::refuse},
        {"cut", sim::StoreTrouble::cut},
        {"late", sim::StoreTrouble::late}};
    const auto found = troubles.find(change.how);
    if (found == troubles.end() || (change.how == "cut" && change.amount > 0)) {
        return scenarios::refuse(scenarios::ErrorCode::unsupported,
                                 fmt::format("the simulated store has no bytes to {}",
                                             change.how == "cut" ? "be counted" : change.how),
                                 "play this scenario with --runner local");
    }
    return on_rank(rank).map(
        [&](Done done) { return cluster_.change_store(rank, found->second, change.late), done; });
}

Result<Done> SimLevers::preempt(std::string_view reason) {
    cluster_.preempt(reason);
    return Done{};
}

Result<Done> SimLevers::alter_call(Rank rank, const inject::Alteration& alteration) {
    if (!call_ || call_->rank != rank) {
        return refuse(fmt::format("no call of rank {} is under way", rank),
                      "let `when` name a call with `before`, not a time");
    }
    if (alters_message(alteration) && !communicates(*call_)) {
        return refuse(fmt::format("{} carries no message that could be altered", call_->name),
                      "let `before` name a collective, send or recv");
    }
    if (alteration.flip_on_the_way) {
        return scenarios::refuse(scenarios::ErrorCode::unsupported,
                                 "a simulated message has no bytes below its call",
                                 "flip what is sent or received, or play this scenario with --runner local");
    }
    call_->skip |= alteration.skip;
    call_->hold |= alteration.hold;
    call_->delay += alteration.delay;
    call_->count += alteration.count_change;
    if (alteration.count_set >= 0) call_->count = alteration.count_set;
    if (call_->count < 0) call_->count = 0;
    if (alteration.dtype != results::Dtype::none) call_->dtype = alteration.dtype;
    if (alteration.op != results::Op::none) call_->op = alteration.op;
    if (alteration.reduce != results::ReduceOp::none) call_->reduce = alteration.reduce;
    if (alteration.root >= 0) call_->root = alteration.root;
    if (alteration.answer != results::Code::ok) call_->answer = alteration.answer;
    if (alteration.flip_bit >= 0) call_->flip_bit = alteration.flip_bit;
    call_->flip_received |= alteration.flip_received;
    call_->never_completes |= alteration.never_completes;
    return Done{};
}

Result<Done> SimLevers::bend(Rank rank, std::string_view seam, const inject::Bend& bend) {
    if (bend.divide == 0) return refuse("`divide` is 0", "divide by anything else");
    return on_rank(rank).map([&](Done done) { return shape_of(rank).bends[std::string(seam)] = bend, done; });
}
Result<Done> SimLevers::unbend(Rank rank, std::string_view seam) {
    return on_rank(rank).map([&](Done done) { return shape_of(rank).bends.erase(std::string(seam)), done; });
}
Result<Done> SimLevers::skip_block(Rank rank, std::string_view block, bool skip) {
    if (const auto there = on_rank(rank); !there) return there;
    auto& left_out = shape_of(rank).left_out;
    if (skip) left_out.insert(std::string(block));
    if (!skip) left_out.erase(std::string(block));
    return Done{};
}

}  // namespace deadrank::runners

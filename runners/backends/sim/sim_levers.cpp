// runners/backends/sim/sim_levers.cpp — Every lever there is. Refuses targets that do not exist, and what
// needs real bytes.
#include "runners/backends/sim/sim_levers.h"

#include <fmt/format.h>

namespace deadrank::runners {

namespace {

using results::StoreTrouble;
using scenarios::ErrorCode;

tl::unexpected<scenarios::Error> refuse(std::string what, std::string remedy = {}) {
    return scenarios::refuse(ErrorCode::bad_input, std::move(what), std::move(remedy));
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

tl::unexpected<scenarios::Error> SimLevers::missing(const inject::Lever& lever) const {
    return scenarios::refuse(ErrorCode::unsupported,
                             fmt::format("the simulated cluster has no lever to {}", lever.does));
}

void SimLevers::shape(sim::Call& call) {
    const auto points = bent_.find(call.rank);
    if (points != bent_.end()) points->second.shape(call);
}

std::optional<bool> SimLevers::was_requested(const inject::Subject& subject) const {
    const auto points = bent_.find(subject.rank);
    return (points != bent_.end() && points->second.asked.contains(subject.name)) ||
           cluster_.has_requested(subject.rank, subject.name);
}

sim::BentPoints& SimLevers::points_of(Rank rank) {
    cluster_.arm(rank);  // its seams and blocks must ask from now on
    return bent_[rank];
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
                  "let `when` name a step that it reaches");
}

Result<Done> SimLevers::on_node(int node) const {
    const int nodes = cluster_.settings().nodes;
    if (node >= 0 && node < nodes) return Done{};
    return refuse(fmt::format("there is no node {}", node), fmt::format("nodes are 0 to {}", nodes - 1));
}

Result<Done> SimLevers::carry_out(const inject::SetEnv& pull) {
    return on_rank(pull.rank).map(
        [&](Done done) { return cluster_.set_env(pull.rank, pull.name, pull.value), done; });
}
Result<Done> SimLevers::carry_out(const inject::UnsetEnv& pull) {
    if (const auto there = on_rank(pull.rank); !there) return there;
    if (!cluster_.has_env(pull.rank, pull.name)) {
        return refuse(fmt::format("{} is not set on rank {}", pull.name, pull.rank),
                      "take away a variable that the launcher or [cluster] environment sets");
    }
    cluster_.unset_env(pull.rank, pull.name);
    return Done{};
}
Result<Done> SimLevers::carry_out(const inject::SetVersion& pull) {
    return on_rank(pull.rank).map(
        [&](Done done) { return cluster_.set_version(pull.rank, pull.package, pull.version), done; });
}
Result<Done> SimLevers::carry_out(const inject::SwapRanks& pull) {
    if (const auto other = on_rank(pull.b); !other) return other;
    return on_rank(pull.a).map([&](Done done) { return cluster_.swap_ranks(pull.a, pull.b), done; });
}
Result<Done> SimLevers::carry_out(const inject::PatchProgram& pull) {
    if (const auto there = on_rank(pull.rank); !there) return there;
    if (patch_) return patch_(pull.rank, pull.patch);
    return scenarios::refuse(ErrorCode::unsupported, "this workload has no text that a patch could change",
                             "say kind = \"python\" in [workload]");
}
Result<Done> SimLevers::carry_out(const inject::BreakPackage& pull) {
    return on_rank(pull.rank).map([&](Done done) {
        return cluster_.break_package(pull.rank, pull.package, pull.problem, pull.shadowed, pull.built_for),
               done;
    });
}
Result<Done> SimLevers::carry_out(const inject::TakePort& pull) {
    return on_node(pull.node).map(
        [&](Done done) { return cluster_.take_port(pull.node, pull.port, pull.mute), done; });
}
Result<Done> SimLevers::carry_out(const inject::BreakName& pull) {
    return on_rank(pull.rank).map(
        [&](Done done) { return cluster_.break_name(pull.rank, pull.host, pull.how), done; });
}
Result<Done> SimLevers::carry_out(const inject::ShareStore& pull) {
    if (cluster_.share_store(pull.run_id, pull.ranks)) return Done{};
    return refuse("the store lives in rank 0, so that no other job meets there",
                  "say store = \"service\", or \"agent\", in [cluster]");
}
Result<Done> SimLevers::carry_out(const inject::AddInterface& pull) {
    if (pull.name == "lo" && cluster_.settings().library == sim::LibraryKind::gloo)
        return refuse(
            "gloo does not choose among the interfaces, and each node has lo",
            "say kind = \"break_name\", host = \"own\", how = \"loopback\": gloo gives its peers the "
            "address that its host's own name leads to");
    return on_node(pull.node).map([&](Done done) {
        const sim::Interface added{std::string(pull.name), pull.routable, pull.bandwidth};
        return cluster_.add_interface(pull.node, added, pull.sorts_first), done;
    });
}
Result<Done> SimLevers::carry_out(const inject::RenameInterface& pull) {
    if (const auto there = on_node(pull.node); !there) return there;
    if (cluster_.rename_interface(pull.node, pull.name, pull.new_name)) return Done{};
    return refuse(fmt::format("node {} has no interface {}", pull.node, pull.name),
                  "name one of [cluster] interfaces, or of its node_interfaces");
}

Result<Done> SimLevers::carry_out(const inject::Kill& pull) {
    return on_process(pull.rank).map([&](Done done) { return cluster_.kill(pull.rank, pull.signal), done; });
}
Result<Done> SimLevers::carry_out(const inject::Exit& pull) {
    return on_process(pull.rank).map(
        [&](Done done) { return cluster_.exit(pull.rank, pull.code, pull.says), done; });
}
Result<Done> SimLevers::carry_out(const inject::Stop& pull) {
    return on_process(pull.rank).map([&](Done done) { return cluster_.stop(pull.rank), done; });
}
Result<Done> SimLevers::carry_out(const inject::Resume& pull) {
    return on_rank(pull.rank).map([&](Done done) { return cluster_.resume(pull.rank), done; });
}

Result<Done> SimLevers::carry_out(const inject::ChangeDevice& pull) {
    return on_rank(pull.rank).map(
        [&](Done done) { return cluster_.change_device(pull.rank, pull.change), done; });
}
Result<Done> SimLevers::carry_out(const inject::ChangeHost& pull) {
    return on_node(pull.node).map(
        [&](Done done) { return cluster_.change_host(pull.node, pull.change), done; });
}
Result<Done> SimLevers::carry_out(const inject::ChangeLink& pull) {
    for (const int node : {pull.change.from, pull.change.to}) {
        if (const auto there = on_node(node); node != -1 && !there) return there;
    }
    cluster_.change_link(pull.change);
    return Done{};
}
Result<Done> SimLevers::carry_out(const inject::ChangeStorage& pull) {
    if (pull.change.what == results::StorageTrouble::none) return refuse("no trouble of storage is named");
    cluster_.change_storage(pull.change);
    return Done{};
}

// The simulated store exchanges messages, not bytes.
Result<Done> SimLevers::carry_out(const inject::ChangeStore& pull) {
    const results::StoreChange& change = pull.change;
    const bool counts = change.how == StoreTrouble::cut && change.amount > 0;
    if (counts || change.how == StoreTrouble::narrow || change.how == StoreTrouble::flip) {
        return scenarios::refuse(ErrorCode::unsupported,
                                 fmt::format("the simulated store has no bytes to {}",
                                             counts ? "be counted" : name_of(change.how)),
                                 "write it in a scenario, and play that with `deadrank run SCENARIO --runner local`");
    }
    return on_rank(pull.rank).map(
        [&](Done done) { return cluster_.change_store(pull.rank, change.how, change.late), done; });
}

Result<Done> SimLevers::carry_out(const inject::Preempt& pull) {
    cluster_.preempt(pull.reason);
    return Done{};
}

Result<Done> SimLevers::carry_out(const inject::AlterCall& pull) {
    if (!call_ || call_->rank != pull.rank) {
        return refuse(fmt::format("no call of rank {} is under way", pull.rank),
                      "let `when` name a call with `before`, not a time");
    }
    if (alters_message(pull.change) && !communicates(*call_)) {
        return refuse(fmt::format("{} carries no message that could be altered", call_->name),
                      "let `before` name a collective, send or recv");
    }
    if (pull.change.flip_on_the_way) {
        return scenarios::refuse(ErrorCode::unsupported, "a simulated message has no bytes below its call",
                                 "flip what is sent or received; `deadrank run SCENARIO --runner local` has bytes");
    }
    alter(*call_, pull.change);
    return Done{};
}

Result<Done> SimLevers::carry_out(const inject::BendValue& pull) {
    if (pull.bend.divide == 0) return refuse("`divide` is 0", "divide by anything else");
    return on_rank(pull.rank).map(
        [&](Done done) { return points_of(pull.rank).seams[std::string(pull.seam)] = pull.bend, done; });
}
Result<Done> SimLevers::carry_out(const inject::Unbend& pull) {
    return on_rank(pull.rank).map(
        [&](Done done) { return points_of(pull.rank).seams.erase(std::string(pull.seam)), done; });
}
Result<Done> SimLevers::carry_out(const inject::SkipBlock& pull) {
    return on_rank(pull.rank).map(
        [&](Done done) { return points_of(pull.rank).skip(pull.block, pull.skip), done; });
}
Result<Done> SimLevers::carry_out(const inject::CheckValue& pull) {
    return on_rank(pull.rank).map([&](Done done) {
        auto& checks = points_of(pull.rank).checks;
        if (pull.check) checks[std::string(pull.seam)] = *pull.check;
        if (!pull.check) checks.erase(std::string(pull.seam));
        return done;
    });
}

}  // namespace deadrank::runners

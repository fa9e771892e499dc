// runners/backends/ranks/rank_levers.cpp — The levers of a job of our own rank programs, and why some do not
// work in an MPI job or a GPU job.
#include "runners/backends/ranks/rank_levers.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

namespace deadrank::runners {

using inject::Done;
using inject::StorageTrouble;
using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

// Missing in every backend with real ranks on one machine, and why.
const std::map<std::string_view, std::string_view> lacked_by_all = {
    {inject::BreakPackage::lever.name, "its ranks import nothing"},
    {inject::BreakName::lever.name, "all ranks are on one host"},
    {inject::ShareStore::lever.name, "its ranks do not meet through one"},
    {inject::AddInterface::lever.name, "all ranks are on one host"},
    {inject::RenameInterface::lever.name, "all ranks are on one host"},
    {inject::ChangeStore::lever.name, "its ranks do not meet through one"},
    {inject::ChangeHost::lever.name, "it is the one that we are on"},
};

}  // namespace

tl::unexpected<scenarios::Error> RealLevers::missing(const inject::Lever& lever) const {
    for (const auto* reasons : {&reach_.lacked, &lacked_by_all}) {
        const auto why = reasons->find(lever.name);
        if (why != reasons->end()) return missing(lever.does, why->second);
    }
    return missing(lever.does, "it is not implemented");
}

tl::unexpected<scenarios::Error> RealLevers::missing(std::string_view what, std::string_view why) const {
    return refuse(ErrorCode::unsupported, fmt::format("{} has no lever to {}: {}", reach_.job, what, why),
                  "play this scenario with --runner sim");
}

RealLevers::RealLevers(const Reach& reach, Rank ranks, Rank ranks_per_node, Rank own)
    : reach_(reach), ranks_(ranks), ranks_per_node_(ranks_per_node > 0 ? ranks_per_node : ranks), own_(own) {}

std::vector<std::string> RealLevers::names(const Reach& reach) {
    std::vector<std::string_view> lacked;
    for (const auto& [name, why] : reach.lacked) lacked.push_back(name);
    if (reach.claimed.empty()) lacked.push_back(inject::SetVersion::lever.name);
    return LeversOf::names(lacked);
}

inject::Result<bool> RealLevers::means_us(Rank rank) const {
    if (rank < 0 || rank >= ranks_) {
        return refuse(ErrorCode::bad_input, fmt::format("there is no rank {}", rank),
                      fmt::format("ranks are 0 to {}", ranks_ - 1));
    }
    if (rank == own_) return true;
    if (starting_ || own_ == results::no_rank) return false;
    return refuse(ErrorCode::unsupported,
                  fmt::format("rank {} would act on rank {}, which a real process cannot", own_, rank),
                  "aim the fault at the rank that it acts on");
}

RealLevers::Answer RealLevers::end_with(Rank rank, RealEnd end) {
    return means_us(rank).map([&](bool us) {
        if (us) state_.end = std::move(end);
        return Done{};
    });
}

bool RealLevers::ignores(std::string_view variable) const {
    const auto& known = reach_.understood;
    return variable.starts_with("NCCL_") && !reach_.variables.empty() &&
           std::find(known.begin(), known.end(), variable) == known.end();
}

RealLevers::Answer RealLevers::carry_out(const inject::SetEnv& pull) {
    if (ignores(pull.name)) return missing(fmt::format("set {}", pull.name), reach_.variables);
    return means_us(pull.rank).map([&](bool us) {
        if (us) state_.environment.insert_or_assign(std::string(pull.name), std::string(pull.value));
        return Done{};
    });
}

RealLevers::Answer RealLevers::carry_out(const inject::UnsetEnv& pull) {
    if (ignores(pull.name)) return missing(fmt::format("unset {}", pull.name), reach_.variables);
    return means_us(pull.rank).map([&](bool us) {
        if (us) state_.environment.insert_or_assign(std::string(pull.name), std::nullopt);
        return Done{};
    });
}

RealLevers::Answer RealLevers::carry_out(const inject::SetVersion& pull) {
    if (reach_.claimed.empty() || pull.package != reach_.claimed)
        return missing(fmt::format("give a rank another {}", pull.package), reach_.packages);
    const auto& real = reach_.releases;
    if (!reach_.claim_obstacle.empty() && std::find(real.begin(), real.end(), pull.version) == real.end())
        return missing(fmt::format("give a rank {} {}", pull.package, pull.version), reach_.claim_obstacle);
    return means_us(pull.rank).map([&](bool us) {
        if (us) state_.versions.insert_or_assign(std::string(pull.package), std::string(pull.version));
        return Done{};
    });
}

RealLevers::Answer RealLevers::carry_out(const inject::SwapRanks& pull) {
    if (own_ == pull.a) state_.claims = pull.b;
    if (own_ == pull.b) state_.claims = pull.a;
    return Done{};
}

RealLevers::Answer RealLevers::carry_out(const inject::Kill& pull) {
    return end_with(pull.rank, {RealEnd::How::killed, pull.signal, {}});
}
RealLevers::Answer RealLevers::carry_out(const inject::Exit& pull) {
    return end_with(pull.rank, {RealEnd::How::exits, pull.code, std::string(pull.says)});
}
RealLevers::Answer RealLevers::carry_out(const inject::Stop& pull) {
    return end_with(pull.rank, {RealEnd::How::stops, SIGSTOP, {}});
}

// A stopped rank cannot resume itself: its keeper sends the signal, and this is called afterwards.
RealLevers::Answer RealLevers::carry_out(const inject::Resume&) { return Done{}; }

RealLevers::Answer RealLevers::carry_out(const inject::Preempt& pull) {
    state_.end = {RealEnd::How::preempted, SIGTERM, std::string(pull.reason)};
    return Done{};
}

RealLevers::Answer RealLevers::carry_out(const inject::ChangeDevice& pull) {
    const inject::DeviceChange& change = pull.change;
    const bool memory = change.memory_limit || change.leak_per_step;
    if (memory && lacks(inject::ChangeDevice::memory)) return missing(inject::ChangeDevice::memory);
    if (!memory && !change.slow_permille) return missing(inject::ChangeDevice::fault);
    return means_us(pull.rank).map([&](bool us) {
        if (!us) return Done{};
        state_.slow_permille = change.slow_permille.value_or(state_.slow_permille);
        state_.memory_limit = change.memory_limit.value_or(state_.memory_limit);
        state_.leak_per_step = change.leak_per_step.value_or(state_.leak_per_step);
        return Done{};
    });
}

RealLevers::Answer RealLevers::carry_out(const inject::ChangeStorage& pull) {
    if (pull.change.what == StorageTrouble::stale || pull.change.what == StorageTrouble::swap)
        return missing(fmt::format("make storage '{}'", name_of(pull.change.what)),
                       "its files are real ones");
    state_.storage.push_back(pull.change);
    return Done{};
}

RealLevers::Answer RealLevers::carry_out(const inject::AlterCall& pull) {
    if (!call_ || call_->rank != pull.rank) {
        return refuse(ErrorCode::bad_input, fmt::format("no call of rank {} is under way", pull.rank),
                      "let `when` name a call with `before`, not a time");
    }
    const bool exchanges =
        pull.change.op != results::Op::none || pull.change.reduce != results::ReduceOp::none;
    if (exchanges && lacks(inject::AlterCall::operation)) return missing(inject::AlterCall::operation);
    if (pull.change.flip_on_the_way)
        return missing("flip a bit on the way to a peer", "the library's connections are its own");
    alter(*call_, pull.change);
    return Done{};
}

RealLevers::Answer RealLevers::carry_out(const inject::BendValue& pull) {
    if (pull.bend.divide == 0)
        return refuse(ErrorCode::bad_input, "`divide` is 0", "divide by anything else");
    return means_us(pull.rank).map([&](bool us) {
        if (us) state_.bent.seams[std::string(pull.seam)] = pull.bend;
        return Done{};
    });
}

RealLevers::Answer RealLevers::carry_out(const inject::Unbend& pull) {
    return means_us(pull.rank).map([&](bool us) {
        if (us) state_.bent.seams.erase(std::string(pull.seam));
        return Done{};
    });
}

RealLevers::Answer RealLevers::carry_out(const inject::SkipBlock& pull) {
    return means_us(pull.rank).map([&](bool us) {
        if (us) state_.bent.skip(pull.block, pull.skip);
        return Done{};
    });
}

}  // namespace deadrank::runners

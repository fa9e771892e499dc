// runners/backends/ranks/levers.cpp — What real ranks have levers for: their processes, calls, environment
// and files.
#include "runners/backends/ranks/levers.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

namespace deadrank::runners {

using inject::Done;
using scenarios::ErrorCode;
using scenarios::refuse;

tl::unexpected<scenarios::Error> RealLevers::missing(std::string_view what, std::string_view why) const {
    return refuse(ErrorCode::unsupported, fmt::format("{} has no lever to {}: {}", reach_.job, what, why),
                  "play this scenario with --runner sim");
}

RealLevers::RealLevers(const Reach& reach, Rank ranks, Rank ranks_per_node, Rank own)
    : reach_(reach), ranks_(ranks), ranks_per_node_(ranks_per_node > 0 ? ranks_per_node : ranks), own_(own) {}

std::vector<std::string> RealLevers::names(const Reach& reach) {
    std::vector<std::string> known = {"set_env",
                                      "unset_env",
                                      "swap_ranks",
                                      "kill",
                                      "exit",
                                      "stop",
                                      "change_device.slow",
                                      "change_storage",
                                      "preempt",
                                      "alter_call.answer",
                                      "alter_call.count",
                                      "alter_call.delay",
                                      "alter_call.dtype",
                                      "alter_call.flip",
                                      "alter_call.hang",
                                      "alter_call.hold",
                                      "alter_call.root",
                                      "alter_call.skip",
                                      "bend",
                                      "skip_block"};
    if (reach.memory.empty()) {
        known.emplace_back("change_device.leak");
        known.emplace_back("change_device.memory");
    }
    if (!reach.claimed.empty()) known.emplace_back("set_version");
    if (reach.operations.empty()) {
        known.emplace_back("alter_call.op");
        known.emplace_back("alter_call.reduce");
    }
    return known;
}

void RealLevers::shape(sim::Call& call) const {
    if (call.kind == sim::CallKind::block) {
        call.skip |= state_.left_out.contains(call.name);
    } else if (call.kind == sim::CallKind::seam) {
        const auto bend = state_.bends.find(call.name);
        if (bend != state_.bends.end()) call.count = bent(call.count, bend->second);
    }
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

RealLevers::Answer RealLevers::set_env(Rank rank, std::string_view name, std::string_view value) {
    if (ignores(name)) return missing(fmt::format("set {}", name), reach_.variables);
    return means_us(rank).map([&](bool us) {
        if (us) state_.environment.insert_or_assign(std::string(name), std::string(value));
        return Done{};
    });
}

RealLevers::Answer RealLevers::unset_env(Rank rank, std::string_view name) {
    if (ignores(name)) return missing(fmt::format("unset {}", name), reach_.variables);
    return means_us(rank).map([&](bool us) {
        if (us) state_.environment.insert_or_assign(std::string(name), std::nullopt);
        return Done{};
    });
}

RealLevers::Answer RealLevers::set_version(Rank rank, std::string_view package, std::string_view version) {
    if (reach_.claimed.empty() || package != reach_.claimed)
        return missing(fmt::format("give a rank another {}", package), reach_.packages);
    const auto& real = reach_.releases;
    if (!reach_.unheard.empty() && std::find(real.begin(), real.end(), version) == real.end())
        return missing(fmt::format("give a rank {} {}", package, version), reach_.unheard);
    return means_us(rank).map([&](bool us) {
        if (us) state_.versions.insert_or_assign(std::string(package), std::string(version));
        return Done{};
    });
}

RealLevers::Answer RealLevers::swap_ranks(Rank a, Rank b) {
    if (own_ == a) state_.claims = b;
    if (own_ == b) state_.claims = a;
    return Done{};
}

RealLevers::Answer RealLevers::break_package(Rank, std::string_view package, std::string_view) {
    return missing(fmt::format("break {}", package), "its ranks import nothing");
}
RealLevers::Answer RealLevers::take_port(int, std::string_view, bool) {
    return missing("take a port", reach_.ports);
}
RealLevers::Answer RealLevers::break_name(Rank, std::string_view, std::string_view) {
    return missing("break a host name", "all ranks are on one host");
}
RealLevers::Answer RealLevers::add_interface(int, std::string_view, bool, bool) {
    return missing("add a network interface", "all ranks are on one host");
}
RealLevers::Answer RealLevers::change_link(const inject::LinkChange&) {
    return missing("change a link", reach_.links);
}
RealLevers::Answer RealLevers::change_store(Rank, const inject::StoreChange&) {
    return missing("change the way to a store", "its ranks do not meet through one");
}
RealLevers::Answer RealLevers::change_host(int, const inject::HostChange&) {
    return missing("change a host", "it is the one that we are on");
}

RealLevers::Answer RealLevers::kill(Rank rank, int signal) {
    return end_with(rank, {RealEnd::How::killed, signal, {}});
}
RealLevers::Answer RealLevers::exit(Rank rank, int code, std::string_view says) {
    return end_with(rank, {RealEnd::How::exits, code, std::string(says)});
}
RealLevers::Answer RealLevers::stop(Rank rank) { return end_with(rank, {RealEnd::How::stops, SIGSTOP, {}}); }

// Whoever is stopped cannot go on by itself; the rank's keeper sends the signal, and this is called after it.
RealLevers::Answer RealLevers::resume(Rank) { return Done{}; }

RealLevers::Answer RealLevers::preempt(std::string_view reason) {
    state_.end = {RealEnd::How::preempted, SIGTERM, std::string(reason)};
    return Done{};
}

RealLevers::Answer RealLevers::change_device(Rank rank, const inject::DeviceChange& change) {
    const bool memory = change.memory_limit || change.leak_per_step;
    if (memory && !reach_.memory.empty()) return missing("limit a device's memory", reach_.memory);
    if (!memory && !change.slow_permille) return missing("break a device", reach_.devices);
    return means_us(rank).map([&](bool us) {
        if (!us) return Done{};
        state_.slow_permille = change.slow_permille.value_or(state_.slow_permille);
        state_.memory_limit = change.memory_limit.value_or(state_.memory_limit);
        state_.leak_per_step = change.leak_per_step.value_or(state_.leak_per_step);
        return Done{};
    });
}

RealLevers::Answer RealLevers::change_storage(const inject::StorageChange& change) {
    if (change.what == "stale" || change.what == "swap")
        return missing(fmt::format("make storage '{}'", change.what), "its files are real ones");
    state_.storage.push_back(change);
    return Done{};
}

RealLevers::Answer RealLevers::alter_call(Rank rank, const inject::Alteration& change) {
    if (!call_ || call_->rank != rank) {
        return refuse(ErrorCode::bad_input, fmt::format("no call of rank {} is under way", rank),
                      "let `when` name a call with `before`, not a time");
    }
    const bool exchanges = change.op != results::Op::none || change.reduce != results::ReduceOp::none;
    if (exchanges && !reach_.operations.empty())
        return missing("exchange an operation for another", reach_.operations);
    if (change.flip_on_the_way)
        return missing("flip a bit on the way to a peer", "the library's connections are its own");
    if (change.op != results::Op::none) call_->op = change.op;
    if (change.reduce != results::ReduceOp::none) call_->reduce = change.reduce;
    call_->skip |= change.skip;
    call_->hold |= change.hold;
    call_->delay += change.delay;
    call_->count += change.count_change;
    if (change.count_set >= 0) call_->count = change.count_set;
    call_->count = std::max<std::int64_t>(0, call_->count);
    if (change.dtype != results::Dtype::none) call_->dtype = change.dtype;
    if (change.root >= 0) call_->root = change.root;
    if (change.answer != results::Code::ok) call_->answer = change.answer;
    if (change.flip_bit >= 0) call_->flip_bit = change.flip_bit;
    call_->flip_received |= change.flip_received;
    call_->never_completes |= change.never_completes;
    return Done{};
}

RealLevers::Answer RealLevers::bend(Rank rank, std::string_view seam, const inject::Bend& bend) {
    if (bend.divide == 0) return refuse(ErrorCode::bad_input, "`divide` is 0", "divide by anything else");
    return means_us(rank).map([&](bool us) {
        if (us) state_.bends[std::string(seam)] = bend;
        return Done{};
    });
}

RealLevers::Answer RealLevers::unbend(Rank rank, std::string_view seam) {
    return means_us(rank).map([&](bool us) {
        if (us) state_.bends.erase(std::string(seam));
        return Done{};
    });
}

RealLevers::Answer RealLevers::skip_block(Rank rank, std::string_view block, bool skip) {
    return means_us(rank).map([&](bool us) {
        if (us && skip) state_.left_out.insert(std::string(block));
        if (us && !skip) state_.left_out.erase(std::string(block));
        return Done{};
    });
}

}  // namespace deadrank::runners

// runners/backends/local/local_levers.cpp — What each lever becomes: a variable, a directory on the path, or
// a line for the hook.
#include "runners/backends/local/local_levers.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/record/text_file.h"
#include "runners/backends/local/namespaces.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"

namespace deadrank::runners {

using inject::StorageTrouble;
using nlohmann::json;
using scenarios::ErrorCode;
using scenarios::refuse;
using Time = results::Time;

namespace {

tl::unexpected<scenarios::Error> missing(std::string_view what) {
    return refuse(ErrorCode::unsupported,
                  fmt::format("real processes on one machine have no lever to {}", what),
                  "play this scenario with --runner sim");
}

tl::unexpected<scenarios::Error> no_shim(std::string_view name) {
    return refuse(ErrorCode::unsupported, fmt::format("{} is not beside this program", name),
                  "build it: it belongs to the whole build, but not under sanitizers");
}

// As the hook reads it.
std::string line(std::string_view lever, json pull) {
    pull["lever"] = lever;
    return pull.dump();
}
std::string line(const inject::Lever& lever, json pull = json::object()) {
    return line(lever.name, std::move(pull));
}

}  // namespace

LocalLevers::LocalLevers(Rank ranks, Rank ranks_per_node, std::filesystem::path scratch)
    : ranks_(ranks),
      ranks_per_node_(ranks_per_node > 0 ? ranks_per_node : ranks),
      scratch_(std::move(scratch)) {}

tl::unexpected<scenarios::Error> LocalLevers::missing(const inject::Lever& lever) const {
    return runners::missing(lever.does);
}

// Excluded levers: there is no device, and the host and its clock are our own.
std::vector<std::string> LocalLevers::names() {
    return LeversOf::names({inject::ChangeDevice::fault.name, inject::ChangeDevice::leak.name,
                            inject::ChangeDevice::memory.name, inject::ChangeHost::clock.name,
                            inject::ChangeHost::direct.name, inject::ChangeHost::down.name,
                            inject::ChangeHost::firewall.name, inject::ChangeHost::peers.name});
}

std::vector<HookPull> LocalLevers::take() { return std::exchange(pulls_, {}); }

LocalLevers::Answer LocalLevers::keep(Rank rank, std::string text) {
    pulls_.push_back({rank, std::move(text)});
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::only_before_start(const inject::Lever& lever) const {
    if (starting_) return inject::Done{};
    return refuse(ErrorCode::unsupported, fmt::format("{} works only before the job starts", lever.name),
                  "leave `when` out, or play this scenario with --runner sim");
}

LocalLevers::Answer LocalLevers::carry_out(const inject::SetEnv& pull) {
    if (!starting_) return keep(pull.rank, line(pull.lever, {{"name", pull.name}, {"value", pull.value}}));
    settings_[pull.rank].set[std::string(pull.name)] = pull.value;
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::carry_out(const inject::UnsetEnv& pull) {
    if (!starting_) return keep(pull.rank, line(pull.lever, {{"name", pull.name}}));
    settings_[pull.rank].unset.emplace_back(pull.name);
    return inject::Done{};
}

// A version is real here: the rank runs under a Python that has it. One that no Python has cannot be played.
LocalLevers::Answer LocalLevers::carry_out(const inject::SetVersion& pull) {
    if (auto may = only_before_start(pull.lever); !may) return may;
    const auto overlay = overlays_.find(fmt::format("{}=={}", pull.package, pull.version));
    if (overlay != overlays_.end()) {
        settings_[pull.rank].path.insert(settings_[pull.rank].path.begin(), overlay->second);
        return inject::Done{};
    }
    if (pull.package != "torch") return runners::missing(fmt::format("give a rank another {}", pull.package));
    auto python = python_with_torch(pull.version);
    if (!python) return tl::unexpected(python.error());
    settings_[pull.rank].python = python->program.string();
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::carry_out(const inject::SwapRanks& pull) {
    if (auto may = only_before_start(pull.lever); !may) return may;
    settings_[pull.a].set["RANK"] = std::to_string(pull.b);
    settings_[pull.b].set["RANK"] = std::to_string(pull.a);
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::carry_out(const inject::BreakPackage& pull) {
    if (auto may = only_before_start(pull.lever); !may) return may;
    const auto shadow = scratch_ / fmt::format("rank{}", pull.rank);
    const auto place = results::path_below(shadow, fmt::format("{}.py", pull.package));
    if (!place) return tl::unexpected(place.error());
    const std::string text = fmt::format("raise ImportError({})\n", json(pull.problem).dump());
    if (auto written = results::write_text(text, *place); !written) return tl::unexpected(written.error());
    settings_[pull.rank].path.push_back(shadow.string());
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::carry_out(const inject::TakePort& pull) {
    if (auto may = only_before_start(pull.lever); !may) return may;
    if (pull.node > 0) {
        return refuse(
            ErrorCode::unsupported,
            fmt::format("real processes share one host, so that node {} has no port of its own", pull.node),
            "aim at the first node, where the job meets");
    }
    port_taken_ = true;  // the job meets at one port, whatever its number is today
    port_mute_ = pull.mute;
    return inject::Done{};
}

// The hook of the node's first rank sets firewall rules in the node's namespace.
LocalLevers::Answer LocalLevers::change_network(const inject::LinkChange& change) {
    const std::vector<Rank> there = ranks_of(change.from);
    if (there.empty() || change.to > node_of(ranks_ - 1)) {
        return refuse(ErrorCode::bad_input,
                      fmt::format("there is no link between the nodes {} and {}", change.from, change.to),
                      fmt::format("nodes are 0 to {}", node_of(ranks_ - 1)));
    }
    network_changed_ = true;
    json pull{{"peer", change.to < 0 ? std::string() : Namespaces::address(change.to)},
              {"one_way", change.one_way}};
    if (change.down) {
        pull["down"] = *change.down;
        pull["reset"] = change.reset;
    }
    if (change.loss_ppb) pull["loss"] = *change.loss_ppb;
    return keep(there.front(), line("change_network", pull));
}

// Each rank sends through our library. It cannot tell peers apart, so the link must be the only one between
// ranks; and the loopback's real bandwidth is unknown, so it cannot be divided by a factor.
LocalLevers::Answer LocalLevers::carry_out(const inject::ChangeLink& pull) {
    const inject::LinkChange& change = pull.change;
    if (change.from == change.to) return runners::missing("change a link within a node");
    const bool cuts = change.down || change.loss_ppb;
    if (cuts && network_missing_.empty()) return change_network(change);
    if (change.loss_ppb) {
        return refuse(ErrorCode::unsupported,
                      "packets are lost only in a network of our own: " + network_missing_,
                      "play this scenario with --runner sim");
    }
    if (ranks_ != 2 || ranks_per_node_ != 1) {
        const std::string why = cuts ? ": " + network_missing_ : std::string();
        return refuse(ErrorCode::unsupported,
                      "this link can be changed only between two nodes with one rank each" + why,
                      "add --ranks 2, or play this scenario with --runner sim");
    }
    if (change.bandwidth_permille.value_or(1000) < 1000 &&
        change.extra_latency.value_or(Time(0)).count() == 0)
        return refuse(ErrorCode::unsupported, "real processes have no lever to narrow a link",
                      "state a latency instead of a factor, or play this scenario with --runner sim");
    if (sockets_shim().empty()) return no_shim("libdeadrank-sockets.so");
    link_changed_ = true;
    const std::string text = line(pull.lever, {{"down", change.down.value_or(false)},
                                               {"reset", change.reset},
                                               {"late", change.extra_latency.value_or(Time(0)).count()}});
    for (Rank rank = 0; rank < ranks_; ++rank) {
        if (!change.one_way || node_of(rank) == change.from) (void)keep(rank, text);
    }
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::carry_out(const inject::Kill& pull) {
    return keep(pull.rank, line(pull.lever, {{"signal", pull.signal}}));
}
LocalLevers::Answer LocalLevers::carry_out(const inject::Exit& pull) {
    return keep(pull.rank, line(pull.lever, {{"code", pull.code}, {"says", pull.says}}));
}
LocalLevers::Answer LocalLevers::carry_out(const inject::Stop& pull) {
    return keep(pull.rank, line(pull.lever));
}
LocalLevers::Answer LocalLevers::carry_out(const inject::Resume& pull) {
    return keep(pull.rank, line(pull.lever));
}

LocalLevers::Answer LocalLevers::carry_out(const inject::ChangeDevice& pull) {
    if (!pull.change.slow_permille) return runners::missing("break a device that is not there");
    return keep(pull.rank, line(pull.lever, {{"slow_permille", *pull.change.slow_permille}}));
}

// Limits apply to a process here, not to a node: each rank of the node gets its own.
LocalLevers::Answer LocalLevers::carry_out(const inject::ChangeHost& pull) {
    const auto& memory = pull.change.host_memory_limit;
    const auto& files = pull.change.open_files_limit;
    if (!memory && !files) return runners::missing("change that of a host");
    json limits = json::object();
    if (memory) limits["host_memory_limit"] = *memory;
    if (files) limits["open_files_limit"] = *files;
    for (const Rank rank : ranks_of(pull.node)) (void)keep(rank, line(pull.lever, limits));
    return inject::Done{};
}

// Lasting trouble acts at each writer's system calls; damage to one file is left to the hook, which knows
// what has been written.
LocalLevers::Answer LocalLevers::carry_out(const inject::ChangeStorage& pull) {
    const auto& [path, what, amount, end] = pull.change;
    const bool lasts =
        what == StorageTrouble::slow || what == StorageTrouble::full || what == StorageTrouble::read_only;
    if (lasts && files_shim().empty()) return no_shim("libdeadrank-files.so");
    storage_changed_ |= lasts;
    return keep(
        results::no_rank,
        line(pull.lever, {{"path", path}, {"what", name_of(what)}, {"amount", amount}, {"end", end}}));
}

// The rank reaches the store through our proxy from its start on, whenever the trouble begins.
LocalLevers::Answer LocalLevers::carry_out(const inject::ChangeStore& pull) {
    behind_proxy_.insert(pull.rank);
    const auto& [how, late, amount] = pull.change;
    return keep(pull.rank,
                line(pull.lever, {{"how", name_of(how)}, {"late", late.count()}, {"amount", amount}}));
}

LocalLevers::Answer LocalLevers::carry_out(const inject::Preempt& pull) {
    return keep(results::no_rank, line(pull.lever, {{"reason", pull.reason}}));
}

LocalLevers::Answer LocalLevers::carry_out(const inject::AlterCall& pull) {
    const inject::Alteration& how = pull.change;
    if (how.flip_on_the_way) {
        if (sockets_shim().empty()) return no_shim("libdeadrank-sockets.so");
        link_changed_ = true;
    }
    return keep(pull.rank, line(pull.lever, {{"skip", how.skip},
                                             {"hold", how.hold},
                                             {"delay", how.delay.count()},
                                             {"count_change", how.count_change},
                                             {"count_set", how.count_set},
                                             {"dtype", name_of(how.dtype)},
                                             {"op", name_of(how.op)},
                                             {"reduce", name_of(how.reduce)},
                                             {"root", how.root},
                                             {"answer", name_of(how.answer)},
                                             {"flip_bit", how.flip_bit},
                                             {"flip_received", how.flip_received},
                                             {"flip_on_the_way", how.flip_on_the_way},
                                             {"never_completes", how.never_completes}}));
}

LocalLevers::Answer LocalLevers::carry_out(const inject::BendValue& pull) {
    const auto& [set_it, set, add, multiply, divide] = pull.bend;
    return keep(pull.rank, line(pull.lever, {{"seam", pull.seam},
                                             {"set_it", set_it},
                                             {"set", set},
                                             {"add", add},
                                             {"multiply", multiply},
                                             {"divide", divide}}));
}
LocalLevers::Answer LocalLevers::carry_out(const inject::Unbend& pull) {
    return keep(pull.rank, line(pull.lever, {{"seam", pull.seam}}));
}
LocalLevers::Answer LocalLevers::carry_out(const inject::SkipBlock& pull) {
    return keep(pull.rank, line(pull.lever, {{"block", pull.block}, {"skip", pull.skip}}));
}

}  // namespace deadrank::runners

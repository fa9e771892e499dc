// runners/backends/local/levers.cpp — What each lever becomes: a variable, a directory on the path, or a line
// for the hook.
#include "runners/backends/local/levers.h"

#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runners/backends/local/namespaces.h"
#include "runners/backends/process/home.h"
#include "runners/backends/process/python.h"

namespace deadrank::runners {

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

}  // namespace

LocalLevers::LocalLevers(Rank ranks, Rank ranks_per_node, std::filesystem::path scratch)
    : ranks_(ranks),
      ranks_per_node_(ranks_per_node > 0 ? ranks_per_node : ranks),
      scratch_(std::move(scratch)) {}

std::vector<std::string> LocalLevers::names() {
    return {"set_env",
            "unset_env",
            "set_version",
            "swap_ranks",
            "break_package",
            "take_port",
            "kill",
            "exit",
            "stop",
            "change_device.slow",
            "change_host.limits",
            "change_link.down",
            "change_link.loss",
            "change_link.slow",
            "change_storage",
            "change_store",
            "preempt",
            "alter_call.answer",
            "alter_call.count",
            "alter_call.delay",
            "alter_call.dtype",
            "alter_call.flip",
            "alter_call.hang",
            "alter_call.hold",
            "alter_call.operation",
            "alter_call.root",
            "alter_call.skip",
            "bend",
            "skip_block"};
}

std::vector<Pull> LocalLevers::take() { return std::exchange(pulls_, {}); }

LocalLevers::Answer LocalLevers::keep(Rank rank, std::string text) {
    pulls_.push_back({rank, std::move(text)});
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::only_before_start(std::string_view lever) const {
    if (starting_) return inject::Done{};
    return refuse(ErrorCode::unsupported, fmt::format("{} works only before the job starts", lever),
                  "leave `when` out, or play this scenario with --runner sim");
}

LocalLevers::Answer LocalLevers::set_env(Rank rank, std::string_view name, std::string_view value) {
    if (!starting_) return keep(rank, json{{"lever", "set_env"}, {"name", name}, {"value", value}}.dump());
    settings_[rank].set[std::string(name)] = value;
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::unset_env(Rank rank, std::string_view name) {
    if (!starting_) return keep(rank, json{{"lever", "unset_env"}, {"name", name}}.dump());
    settings_[rank].unset.emplace_back(name);
    return inject::Done{};
}

// A version is real here: another torch's interpreter. What no interpreter has cannot be played.
LocalLevers::Answer LocalLevers::set_version(Rank rank, std::string_view package, std::string_view version) {
    if (auto may = only_before_start("set_version"); !may) return may;
    if (package != "torch") return missing(fmt::format("give a rank another {}", package));
    auto python = python_with_torch(version);
    if (!python) return tl::unexpected(python.error());
    settings_[rank].python = python->program.string();
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::swap_ranks(Rank a, Rank b) {
    if (auto may = only_before_start("swap_ranks"); !may) return may;
    settings_[a].set["RANK"] = std::to_string(b);
    settings_[b].set["RANK"] = std::to_string(a);
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::break_package(Rank rank, std::string_view package,
                                               std::string_view problem) {
    if (auto may = only_before_start("break_package"); !may) return may;
    const auto shadow = scratch_ / fmt::format("rank{}", rank);
    std::error_code error;
    std::filesystem::create_directories(shadow, error);
    std::ofstream(shadow / fmt::format("{}.py", package))
        << fmt::format("raise ImportError({})\n", json(problem).dump());
    settings_[rank].path.push_back(shadow.string());
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::take_port(int node, std::string_view, bool mute) {
    if (auto may = only_before_start("take_port"); !may) return may;
    if (node > 0) {
        return refuse(
            ErrorCode::unsupported,
            fmt::format("real processes share one host, so that node {} has no port of its own", node),
            "aim at the first node, where the job meets");
    }
    port_taken_ = true;  // the job meets at one port, whatever its number is today
    port_mute_ = mute;
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::break_name(Rank, std::string_view, std::string_view) {
    return missing("break a host name");
}
LocalLevers::Answer LocalLevers::add_interface(int, std::string_view, bool, bool) {
    return missing("add a network interface");
}

// Rules in the namespace of the node, by the hook of the first rank there.
LocalLevers::Answer LocalLevers::change_network(const inject::LinkChange& change) {
    const std::vector<Rank> there = ranks_of(change.from);
    if (there.empty() || change.to > node_of(ranks_ - 1)) {
        return refuse(ErrorCode::bad_input,
                      fmt::format("there is no link between the nodes {} and {}", change.from, change.to),
                      fmt::format("nodes are 0 to {}", node_of(ranks_ - 1)));
    }
    network_changed_ = true;
    json pull{{"lever", "change_network"},
              {"peer", change.to < 0 ? std::string() : Namespaces::address(change.to)},
              {"one_way", change.one_way}};
    if (change.down) {
        pull["down"] = *change.down;
        pull["reset"] = change.reset;
    }
    if (change.loss_ppb) pull["loss"] = *change.loss_ppb;
    return keep(there.front(), pull.dump());
}

// Each rank's own sending goes through a library of ours. It cannot tell one peer from another, so that the
// link must be all there is between ranks; and what the loopback really carries is not ours to divide by a
// factor.
LocalLevers::Answer LocalLevers::change_link(const inject::LinkChange& change) {
    if (change.from == change.to) return missing("change a link within a node");
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
    const json pull{{"lever", "change_link"},
                    {"down", change.down.value_or(false)},
                    {"reset", change.reset},
                    {"late", change.extra_latency.value_or(Time(0)).count()}};
    for (Rank rank = 0; rank < ranks_; ++rank) {
        if (!change.one_way || node_of(rank) == change.from) (void)keep(rank, pull.dump());
    }
    return inject::Done{};
}

LocalLevers::Answer LocalLevers::kill(Rank rank, int signal) {
    return keep(rank, json{{"lever", "kill"}, {"signal", signal}}.dump());
}

LocalLevers::Answer LocalLevers::exit(Rank rank, int code, std::string_view says) {
    return keep(rank, json{{"lever", "exit"}, {"code", code}, {"says", says}}.dump());
}

LocalLevers::Answer LocalLevers::stop(Rank rank) { return keep(rank, json{{"lever", "stop"}}.dump()); }
LocalLevers::Answer LocalLevers::resume(Rank rank) { return keep(rank, json{{"lever", "resume"}}.dump()); }

LocalLevers::Answer LocalLevers::change_device(Rank rank, const inject::DeviceChange& change) {
    if (!change.slow_permille) return missing("break a device that is not there");
    return keep(rank, json{{"lever", "change_device"}, {"slow_permille", *change.slow_permille}}.dump());
}

// Limits are of a process here, not of a node: each rank of the node gets its own.
LocalLevers::Answer LocalLevers::change_host(int node, const inject::HostChange& change) {
    if (!change.host_memory_limit && !change.open_files_limit) return missing("change that of a host");
    json pull{{"lever", "change_host"}};
    if (change.host_memory_limit) pull["host_memory_limit"] = *change.host_memory_limit;
    if (change.open_files_limit) pull["open_files_limit"] = *change.open_files_limit;
    for (const Rank rank : ranks_of(node)) (void)keep(rank, pull.dump());
    return inject::Done{};
}

// What lasts, each writer meets at its own system calls; damage to one file is the hook's, which then knows
// what had been written.
LocalLevers::Answer LocalLevers::change_storage(const inject::StorageChange& change) {
    const bool below = change.what == "slow" || change.what == "full" || change.what == "read_only";
    if (below && files_shim().empty()) return no_shim("libdeadrank-files.so");
    storage_changed_ |= below;
    return keep(results::no_rank, json{{"lever", "change_storage"},
                                       {"path", change.path},
                                       {"what", change.what},
                                       {"amount", change.amount},
                                       {"end", change.end}}
                                      .dump());
}

// The rank's way to the store leads through a door of ours from its start on, whenever its trouble begins.
LocalLevers::Answer LocalLevers::change_store(Rank rank, const inject::StoreChange& change) {
    behind_proxy_.insert(rank);
    return keep(rank, json{{"lever", "change_store"},
                           {"how", change.how},
                           {"late", change.late.count()},
                           {"amount", change.amount}}
                          .dump());
}

LocalLevers::Answer LocalLevers::preempt(std::string_view reason) {
    return keep(results::no_rank, json{{"lever", "preempt"}, {"reason", reason}}.dump());
}

LocalLevers::Answer LocalLevers::alter_call(Rank rank, const inject::Alteration& alteration) {
    if (alteration.flip_on_the_way) {
        if (sockets_shim().empty()) return no_shim("libdeadrank-sockets.so");
        link_changed_ = true;
    }
    json pull{{"lever", "alter_call"}};
    pull["skip"] = alteration.skip;
    pull["hold"] = alteration.hold;
    pull["delay"] = alteration.delay.count();
    pull["count_change"] = alteration.count_change;
    pull["count_set"] = alteration.count_set;
    pull["dtype"] = results::name_of(alteration.dtype);
    pull["op"] = results::name_of(alteration.op);
    pull["reduce"] = results::name_of(alteration.reduce);
    pull["root"] = alteration.root;
    pull["answer"] = results::name_of(alteration.answer);
    pull["flip_bit"] = alteration.flip_bit;
    pull["flip_received"] = alteration.flip_received;
    pull["flip_on_the_way"] = alteration.flip_on_the_way;
    pull["never_completes"] = alteration.never_completes;
    return keep(rank, pull.dump());
}

LocalLevers::Answer LocalLevers::bend(Rank rank, std::string_view seam, const inject::Bend& bend) {
    return keep(rank, json{{"lever", "bend"},
                           {"seam", seam},
                           {"set_it", bend.set_it},
                           {"set", bend.set},
                           {"add", bend.add},
                           {"multiply", bend.multiply},
                           {"divide", bend.divide}}
                          .dump());
}

LocalLevers::Answer LocalLevers::unbend(Rank rank, std::string_view seam) {
    return keep(rank, json{{"lever", "unbend"}, {"seam", seam}}.dump());
}

LocalLevers::Answer LocalLevers::skip_block(Rank rank, std::string_view block, bool skip) {
    return keep(rank, json{{"lever", "skip_block"}, {"block", block}, {"skip", skip}}.dump());
}

}  // namespace deadrank::runners

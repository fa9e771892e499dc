// sim/machine/launcher_nodes.cpp — torchrun's agents under --nnodes=MIN:MAX: one on each node, which meet,
// end their ranks when a node leaves or comes, and start as many as there is room for, numbered anew.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/machine/launcher.h"
#include "sim/machine/machine.h"

namespace deadrank::sim {

namespace {

constexpr Time keep_alive{15'000'000'000};  // three of an agent's signs of life, five seconds apart
constexpr Time rejoin_interval{1'000'000'000};

}  // namespace

bool Launcher::is_elastic() const { return machine_.settings.nodes_min > 0; }

void Launcher::note_lost(int node) {
    if (!is_elastic()) return;
    const Time now = machine_.engine.now();
    noticed_ = std::min(noticed_, now + keep_alive);
    const Time after = machine_.settings.node_returns_after;
    const bool known =
        std::any_of(back_.begin(), back_.end(), [&](const auto& due) { return due.second == node; });
    if (after > Time{0} && !known) back_.emplace_back(now + after, node);
}

Time Launcher::next_change() const {
    Time next = noticed_;
    for (const auto& [when, node] : back_) next = std::min(next, when);
    return next;
}

// All ranks end, and as many begin as the nodes have that are there.
bool Launcher::change_nodes() {
    const ClusterSettings& settings = machine_.settings;
    const Time now = machine_.engine.now();
    const bool left = now >= noticed_;
    restart_reason_ = left ? fmt::format("nodes {} left", fmt::join(machine_.hosts.lost(), ", ")) : "";
    for (const auto& [when, node] : back_) {
        if (now < when) continue;
        machine_.replace_node(node);
        restart_reason_ =
            fmt::format("{}{}node {} came back", restart_reason_, restart_reason_.empty() ? "" : ", ", node);
    }
    std::erase_if(back_, [&](const auto& due) { return now >= due.first; });
    const bool enough = can_run_without_lost();
    machine_.recorder.log(
        results::no_rank, 1,
        fmt::format("{}: the workers of {} of {} nodes start again", restart_reason_,
                    settings.nodes - static_cast<int>(machine_.hosts.lost().size()), settings.nodes));
    end_others();
    if (enough) {
        machine_.engine.sleep(rejoin_interval);
        return true;
    }
    const bool met_there = settings.store == StoreLife::agent && machine_.hosts[0].down;
    machine_.recorder.log(
        results::no_rank, 2,
        met_there
            ? "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the "
              "C10d store has failed."
            : "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError");
    stop_job(1, restart_reason_);
    return false;
}

// What is lost is lost for this attempt: those that are left are enough, and still have a place to meet.
bool Launcher::can_run_without_lost() const {
    const ClusterSettings& settings = machine_.settings;
    const int left = settings.nodes - static_cast<int>(machine_.hosts.lost().size());
    const bool meets = settings.store != StoreLife::agent || !machine_.hosts[0].down;
    return is_elastic() && meets && left >= settings.nodes_min;
}

bool Launcher::may_start_again() {
    const int restarts_max = machine_.settings.restarts_max;
    const int taken = is_elastic() ? failures_ : machine_.attempt;
    ++failures_;
    failures_on_.resize(static_cast<std::size_t>(machine_.settings.nodes), 0);
    ++failures_on_[static_cast<std::size_t>(machine_.processes[first_failure_].node)];
    if (taken >= restarts_max) return false;
    return take_spare_nodes() || can_run_without_lost();
}

// Ranks are counted over the nodes that are there, in their order; as at first where none is missing.
void Launcher::number_ranks() {
    const std::vector<int> lost = is_elastic() ? machine_.hosts.lost() : std::vector<int>();
    noticed_ = results::never;
    if (lost.empty() && !numbered_) return;
    numbered_ = true;
    node_lost_ = false;
    Rank next = 0;
    int first = -1;
    for (Process& process : machine_.processes.all()) {
        if (machine_.hosts[process.node].down) continue;
        if (first < 0) first = process.node;
        process.given_rank = next++;
    }
    machine_.environment.set_world(next, machine_.topology.host_name(std::max(first, 0)));
}

}  // namespace deadrank::sim

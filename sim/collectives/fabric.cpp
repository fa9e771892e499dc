// sim/collectives/fabric.cpp — The machines and what communicates over them: all communicators of the job,
// their bootstrap, and each process's watchdog.
#include "sim/collectives/fabric.h"

#include <utility>

namespace deadrank::sim {

// ── Keeping them, and telling all when links change.

Communicator& Communicators::add(results::CommId id, std::string name, std::vector<Rank> ranks,
                                 std::vector<Rank> processes) {
    all_.push_back(std::make_unique<Communicator>(machine_, id, std::move(name), std::move(ranks),
                                                  std::move(processes)));
    return *all_.back();
}

void Communicators::links_changed(const LinkChange* reset) {
    for (const auto& comm : all_) comm->links_changed(reset);
}

void Communicators::shares_changed(const Ports& ports) {
    for (const auto& comm : all_) comm->shares_changed(ports);
}

void Communicators::clear() {
    for (auto& comm : all_) past_.push_back(std::move(comm));
    all_.clear();
}

// ── Passes on what happens to processes and links.

Fabric::Fabric(Engine& engine_of_stage, const ClusterSettings& cluster, Seed drawn, results::EventSink& sink)
    : Machine(engine_of_stage, cluster, drawn, sink),
      communicators(*this),
      bootstrap(*this),
      watchdog(*this) {}

void Fabric::links_changed(const LinkChange* reset) { communicators.links_changed(reset); }

void Fabric::process_gone(Process& process) {
    for (const Membership& membership : process.comms) communicators.member_gone(membership);
    bootstrap.process_gone(process);
}

void Fabric::process_stopped(Process& process) {
    for (const Membership& membership : process.comms) membership.comm->member_stopped();
}

void Fabric::process_resumed(Process& process) { watchdog.resumed(process); }

void Fabric::forget_communicators() {
    communicators.clear();
    bootstrap.clear();
}

}  // namespace deadrank::sim

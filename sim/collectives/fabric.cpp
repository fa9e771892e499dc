// sim/collectives/fabric.cpp — Passes on what happens to processes and links.
#include "sim/collectives/fabric.h"

namespace deadrank::sim {

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

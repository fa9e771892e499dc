// sim/collectives/communicators.cpp — Keeping them, and telling all when links change.
#include "sim/collectives/communicators.h"

#include <utility>

#include "sim/collectives/fabric.h"

namespace deadrank::sim {

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

}  // namespace deadrank::sim

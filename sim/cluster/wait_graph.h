// sim/cluster/wait_graph.h — Who waits for whom, in words, when nothing can happen any more. Truth, never
// evidence.
#pragma once

#include <string>
#include <vector>

namespace deadrank::sim {

struct Fabric;

std::vector<std::string> wait_graph(const Fabric& machine);

}  // namespace deadrank::sim

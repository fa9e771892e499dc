// sim/cluster/wait_graph.h — Who waits for whom, in words, when nothing can happen any more. Truth, never evidence.
#pragma once

#include <string>
#include <vector>

namespace deadrank::sim {

struct Machine;

std::vector<std::string> wait_graph(const Machine& machine);

}  // namespace deadrank::sim

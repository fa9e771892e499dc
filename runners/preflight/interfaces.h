// runners/preflight/interfaces.h — The network interfaces of this machine, in the system's order.
#pragma once

#include <vector>

#include "results/preflight/snapshot.h"

namespace deadrank::runners {

std::vector<results::preflight::Interface> interfaces_here();

}  // namespace deadrank::runners

// sim/parts/release_breaks.h — Where one package calls another and what it gets depends on which release of
// each is installed: an argument that was taken away, a default that changed, a module that moved.
#pragma once

#include "sim/world/world.h"

namespace deadrank::sim {

enum class Calling { start, load };  // when the call is made

// Makes the calls of this moment between the packages that are installed on this rank. Throws RankFailure
// with the words that the callee answers with where the caller does not know its release yet.
void call_across_releases(World& world, Calling moment);

}  // namespace deadrank::sim

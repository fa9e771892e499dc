// sim/world/numbers.cpp — A digest that depends on order.
#include "sim/world/numbers.h"

namespace deadrank::sim {

// The digest by which replicas and checkpoints are compared (splitmix64 finaliser, chained).
std::uint64_t digest_of(std::span<const Number> numbers) {
    std::uint64_t hash = 0x9e3779b97f4a7c15ull ^ numbers.size();
    for (const Number number : numbers) {
        hash ^= static_cast<std::uint64_t>(number);
        hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
        hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
        hash ^= hash >> 31;
    }
    return hash;
}

}  // namespace deadrank::sim

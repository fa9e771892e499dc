// sim/machine/recorder.cpp — The digest of an event is folded from its kind and its fields in their written
// order.
#include "sim/machine/recorder.h"

#include <bit>
#include <type_traits>
#include <variant>

namespace deadrank::sim {

namespace {

template <class T>
std::uint64_t bits_of(const T& field) {
    if constexpr (std::is_same_v<T, double>) {
        return std::bit_cast<std::uint64_t>(field);
    } else {
        return static_cast<std::uint64_t>(field);
    }
}

template <class P>
std::uint64_t payload_digest(const P& payload, std::uint64_t kind) {
    std::uint64_t digest = mix(kind + 1);
    P::fields(payload, [&](std::string_view, const auto& field) {
        digest = (std::rotl(digest, 23) ^ bits_of(field)) * golden_ratio;
    });
    return digest;
}

}  // namespace

void Recorder::record(Rank rank, const results::Payload& what) {
    if (closed_) return;
    const ActorId target = rank == no_rank ? nobody : static_cast<ActorId>(rank);
    const auto kind = static_cast<std::uint64_t>(what.index());
    std::visit(
        [&]<class P>(const P& payload) {
            engine_.note({target, payload_digest(payload, kind), P::kind.data()});
        },
        what);
    last_ = engine_.now();
    sink_.record({last_, rank, what});
}

void Recorder::log(Rank rank, int level, std::string_view line) {
    if (!closed_) record(rank, results::RankLog{level, text(line)});
}

}  // namespace deadrank::sim

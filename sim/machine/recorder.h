// sim/machine/recorder.h — Everything that a rank, launcher or machine shows passes here: it is hashed into
// the trace, then goes to the sink; and the samples that exporters would scrape.
#pragma once

#include <bit>
#include <string_view>
#include <type_traits>

#include "results/record/event.h"
#include "sim/engine/engine.h"

namespace deadrank::sim {

using results::no_rank;
using results::Rank;
using results::TextId;

// What identifies a payload in the trace, folded from its kind and its fields in their written order.
template <class P>
std::uint64_t digest_of_payload(const P& payload) {
    constexpr std::uint64_t kind = results::Payload(P{}).index();
    std::uint64_t digest = mix(kind + 1);
    P::fields(payload, [&](std::string_view, const auto& field) {
        if constexpr (std::is_same_v<decltype(field), const double&>) {
            digest = (std::rotl(digest, 23) ^ std::bit_cast<std::uint64_t>(field)) * golden_ratio;
        } else {
            digest = (std::rotl(digest, 23) ^ static_cast<std::uint64_t>(field)) * golden_ratio;
        }
    });
    return digest;
}

class Recorder {
public:
    Recorder(Engine& engine, results::EventSink& sink) : engine_(engine), sink_(sink) {}

    template <class P>
    void record(Rank rank, const P& what) {
        if (closed_) return;
        last_ = engine_.now();
        // Written before the hash is taken: the sink's copy would wait for what is not yet in the cache.
        const results::Event event{last_, rank, what};
        engine_.note(
            {rank == no_rank ? nobody : static_cast<ActorId>(rank), digest_of_payload(what), P::kind.data()});
        sink_.record(event);
    }
    // For who does not know which of the payloads it has.
    void record(Rank rank, const results::Payload& what);
    void log(Rank rank, int level, std::string_view line);
    TextId text(std::string_view words) { return words.empty() ? TextId::none : sink_.text(words); }

    Time last() const { return last_; }
    void close() { closed_ = true; }  // what unwinds after the end shows nothing

private:
    Engine& engine_;
    results::EventSink& sink_;
    Time last_{0};
    bool closed_ = false;
};

struct Machine;
struct Process;

// What exporters would scrape: memory and device of each rank at each step, ports and host of each node now
// and then.
class Samples {
public:
    explicit Samples(Machine& machine) : machine_(machine) {}
    void step(Process& process);

private:
    void node(int node);

    Machine& machine_;
};

}  // namespace deadrank::sim

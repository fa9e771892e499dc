// tests/sim/ring.h — The all-active ring: every rank sends to its right, then waits for its left. One event
// is one delivery. Its trace hashes are known, so it tests the engine and measures it with the same code.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.h"

namespace deadrank::sim::rig {

class Ring {
public:
    Ring(Engine& engine, std::uint32_t ranks, std::uint64_t rounds, std::uint64_t seed = 42)
        : engine_(engine), ranks_(ranks), rounds_(rounds), seed_(seed), mailboxes_(ranks) {}

    void spawn() {
        for (ActorId rank = 0; rank < ranks_; ++rank) engine_.spawn(rank, [this, rank] { live(rank); });
    }

    void live(ActorId rank) {
        std::uint64_t value = rank;
        for (std::uint64_t round = 0; round < rounds_; ++round) {
            send(rank, value + round);
            while (mailboxes_[rank].count == 0)
                engine_.block({.what = "message", .on = rank == 0 ? ranks_ - 1 : rank - 1});
            value = take(rank);
        }
    }

    void send(ActorId from, std::uint64_t value) {
        const std::uint64_t number = sent_++;
        const Time latency(1000 + draw(seed_, from, number) % 1000);
        const ActorId to = from + 1 == ranks_ ? 0 : from + 1;
        engine_.call_after(latency, {to, value, "message"}, [this, to, value] {
            Mailbox& box = mailboxes_[to];
            if (box.count++ == 0) {
                box.first = value;
            } else {
                box.more.push_back(value);
            }
            engine_.wake(to);
        });
    }

    bool has_mail(ActorId rank) const { return mailboxes_[rank].count > 0; }

    std::uint64_t take(ActorId rank) {
        Mailbox& box = mailboxes_[rank];
        const std::uint64_t value = box.first;
        if (--box.count > 0) {
            box.first = box.more.front();
            box.more.erase(box.more.begin());
        }
        return value;
    }

    std::uint64_t messages() const { return sent_; }
    std::uint64_t rounds() const { return rounds_; }

private:
    struct Mailbox {
        std::uint64_t first = 0;
        std::size_t count = 0;
        std::vector<std::uint64_t> more;
    };

    Engine& engine_;
    std::uint32_t ranks_;
    std::uint64_t rounds_;
    std::uint64_t seed_;
    std::uint64_t sent_ = 0;
    std::vector<Mailbox> mailboxes_;
};

}  // namespace deadrank::sim::rig

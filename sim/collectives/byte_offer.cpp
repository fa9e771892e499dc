// sim/collectives/byte_offer.cpp — Collectives on the memory of real programs: what each member brings, and
// what each gets, by the types and the operation of the call.
#include "sim/collectives/byte_offer.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "sim/collectives/element_reduction.h"

namespace deadrank::sim {

namespace {

using results::Op;

std::size_t element_bytes(const Offer& offer) {
    return static_cast<std::size_t>(std::max<std::int64_t>(1, results::size_of(offer.dtype)));
}

// What a member contributes, with its flipped bit.
class Contribution {
public:
    explicit Contribution(const Offer& offer) : bytes_(offer.bytes->in) {
        if (offer.flip_bit < 0 || offer.flip_received) return;
        altered_.assign(bytes_.begin(), bytes_.end());
        flip_bit_of(altered_, element_bytes(offer), offer.flip_bit);
        bytes_ = altered_;
    }
    Contribution(const Contribution&) = delete;
    Contribution& operator=(const Contribution&) = delete;

    std::span<const std::byte> bytes() const { return bytes_; }
    // [begin, begin + size), as far as there is so much.
    std::span<const std::byte> part(std::size_t begin, std::size_t size) const {
        begin = std::min(begin, bytes_.size());
        return bytes_.subspan(begin, std::min(size, bytes_.size() - begin));
    }

private:
    std::span<const std::byte> bytes_;
    std::vector<std::byte> altered_;
};

// Appends `size` bytes: those that are there, then zeros.
void append(std::vector<std::byte>& to, std::span<const std::byte> from, std::size_t size) {
    const std::size_t begin = to.size();
    to.resize(begin + size);
    std::copy_n(from.begin(), std::min(size, from.size()), to.begin() + static_cast<std::ptrdiff_t>(begin));
}

// Bytes that one member sends to another in an all_to_all.
std::size_t sent_to(const Offer& offer, std::size_t receiver, std::size_t members) {
    const ByteCall& call = *offer.bytes;
    if (call.sent.empty()) return call.in.size() / members;
    return static_cast<std::size_t>(call.sent[receiver]);
}

std::size_t sent_before(const Offer& offer, std::size_t receiver, std::size_t members) {
    const ByteCall& call = *offer.bytes;
    if (call.sent.empty()) return call.in.size() / members * receiver;
    return static_cast<std::size_t>(std::accumulate(
        call.sent.begin(), call.sent.begin() + static_cast<std::ptrdiff_t>(receiver), std::int64_t{0}));
}

void exchange(PendingCollective& pending) {
    const auto members = static_cast<std::size_t>(pending.members);
    for (std::size_t receiver = 0; receiver < members; ++receiver) {
        pending.byte_starts.push_back(static_cast<std::int64_t>(pending.byte_result.size()));
        for (const Offer& sender : pending.offers) {
            const std::size_t size = sent_to(sender, receiver, members);
            append(pending.byte_result,
                   Contribution(sender).part(sent_before(sender, receiver, members), size), size);
        }
    }
}

// One part of equal size for each receiver.
void divide(PendingCollective& pending, std::size_t part) {
    for (Rank receiver = 0; receiver < pending.members; ++receiver)
        pending.byte_starts.push_back(static_cast<std::int64_t>(part) * receiver);
}

void reduce_all(PendingCollective& pending, std::size_t bytes) {
    const Offer& first = pending.offers.front();
    pending.byte_result.assign(bytes, std::byte{0});
    ElementReduction reduction(first.dtype, first.reduce, pending.byte_result);
    for (const Offer& offer : pending.offers) reduction.take(Contribution(offer).part(0, bytes));
    reduction.finish(pending.members);
}

}  // namespace

bool bytes_fit(const Offer& offer, const Offer& other) {
    if (offer.op != other.op || offer.root != other.root) return false;
    if (!offer.bytes->sent.empty() || !other.bytes->sent.empty()) return offer.op == Op::all_to_all;
    return bytes_of(offer) == bytes_of(other);
}

bool parts_meet(const PendingCollective& pending) {
    const auto members = static_cast<std::size_t>(pending.members);
    for (std::size_t receiver = 0; receiver < pending.offers.size(); ++receiver) {
        const Offer& offer = pending.offers[receiver];
        if (offer.op != Op::all_to_all || !offer.bytes || offer.bytes->received.empty()) continue;
        for (std::size_t sender = 0; sender < pending.offers.size(); ++sender) {
            const Offer& peer = pending.offers[sender];
            if (!peer.bytes || peer.op != Op::all_to_all) continue;
            if (static_cast<std::int64_t>(sent_to(peer, receiver, members)) != offer.bytes->received[sender])
                return false;
        }
    }
    return true;
}

void compute_bytes(PendingCollective& pending) {
    pending.byte_result.clear();
    pending.byte_starts.clear();
    const bool without_values = std::all_of(pending.offers.begin(), pending.offers.end(), [](const Offer& offer) {
        return offer.bytes->in.empty() && offer.bytes->out.empty();
    });
    if (without_values) return;
    const Offer& first = pending.offers.front();
    const auto bytes = static_cast<std::size_t>(bytes_of(first));
    const auto members = static_cast<std::size_t>(pending.members);
    switch (first.op) {
        case Op::all_reduce:
        case Op::reduce:
            return reduce_all(pending, bytes);
        case Op::reduce_scatter:
            reduce_all(pending, bytes * members);
            return divide(pending, bytes);
        case Op::broadcast:
            return append(pending.byte_result, Contribution(offer_at(pending, first.root)).bytes(), bytes);
        case Op::scatter:
            append(pending.byte_result, Contribution(offer_at(pending, first.root)).bytes(), bytes * members);
            return divide(pending, bytes);
        case Op::all_gather:
        case Op::gather:
            for (const Offer& offer : pending.offers)
                append(pending.byte_result, Contribution(offer).bytes(), bytes);
            return;
        case Op::all_to_all:
            return exchange(pending);
        default:
            return;
    }
}

void deliver_bytes(const PendingCollective& pending, const Offer& mine) {
    if (!mine.wants_bytes || mine.op == Op::barrier) return;
    if ((mine.op == Op::reduce || mine.op == Op::gather) && mine.root != mine.place) return;
    std::span<const std::byte> came(pending.byte_result);
    if (!pending.byte_starts.empty()) {
        const auto place = static_cast<std::size_t>(mine.place);
        const auto begin = static_cast<std::size_t>(pending.byte_starts[place]);
        const std::size_t end = place + 1 < pending.byte_starts.size()
                                    ? static_cast<std::size_t>(pending.byte_starts[place + 1])
                                    : came.size();
        came = came.subspan(begin, end - begin);
    }
    const std::span<std::byte> out = mine.bytes->out;
    std::copy_n(came.begin(), std::min(came.size(), out.size()), out.begin());
    if (mine.flip_bit >= 0 && mine.flip_received) flip_bit_of(out, element_bytes(mine), mine.flip_bit);
}

void flip_bit_of(std::span<std::byte> bytes, std::size_t element, std::int64_t flip_bit) {
    const auto bit = static_cast<std::size_t>(flip_bit % 64) % (element * 8);
    const std::size_t at = static_cast<std::size_t>(flip_bit / 64) * element + bit / 8;
    if (at < bytes.size()) bytes[at] ^= std::byte{1} << (bit % 8);
}

void keep_bytes(PendingCollective& pending, Offer& offer, bool data_is_there) {
    auto kept = std::make_unique<PendingCollective::KeptBytes>();
    kept->call = *offer.bytes;
    if (data_is_there && pending.state == PendingCollective::State::gathering)
        kept->data.assign(offer.bytes->in.begin(), offer.bytes->in.end());
    kept->call.in = kept->data;
    kept->call.out = {};
    offer.bytes = &kept->call;
    offer.wants_bytes = false;
    pending.kept_bytes.push_back(std::move(kept));
}

}  // namespace deadrank::sim

// sim/collectives/offer.cpp — The arithmetic of collectives. Sizes are those of the buffers: a call that
// names more elements reads zeros.
#include "sim/collectives/offer.h"

#include <algorithm>
#include <limits>

#include "sim/collectives/byte_offer.h"
#include "sim/collectives/dtype_bits.h"
#include "sim/world/numbers.h"

namespace deadrank::sim {

namespace {

using results::Op;
using results::ReduceOp;

// Signed overflow wraps, as integer kernels do.
Number add(Number a, Number b) {
    return static_cast<Number>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
Number multiply(Number a, Number b) {
    return static_cast<Number>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

Number combine(Number a, Number b, ReduceOp reduce) {
    switch (reduce) {
        case ReduceOp::max:
            return std::max(a, b);
        case ReduceOp::min:
            return std::min(a, b);
        case ReduceOp::prod:
            return multiply(a, b);
        default:
            return add(a, b);
    }
}

Number element(const Offer& offer, std::int64_t at) {
    Number value = at < offer.in_size ? offer.in[at] : 0;
    if (offer.flip_bit >= 0 && !offer.flip_received && offer.flip_bit / 64 == at) {
        value =
            static_cast<Number>(static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << offer.flip_bit % 64);
    }
    return value;
}

// What that many members who bring the same value add up to.
Number repeated(Number value, Rank weight, ReduceOp reduce) {
    if (weight == 1 || reduce == ReduceOp::max || reduce == ReduceOp::min) return value;
    if (reduce != ReduceOp::prod) return multiply(value, weight);
    Number power = 1;
    for (Rank i = 0; i < weight && power != 0; ++i) power = multiply(power, value);
    return power;
}

bool reduces(Op op) { return op == Op::all_reduce || op == Op::reduce || op == Op::reduce_scatter; }

// A call may name far more elements than there are; the rest can never be seen.
std::int64_t visible_part(const PendingCollective& pending) {
    std::int64_t there = 0;
    for (const Offer& offer : pending.offers) there = std::max({there, offer.in_size, offer.out_size});
    return std::min(pending.offers.front().count, there);
}

bool alike(const PendingCollective& pending) {
    const Offer& first = pending.offers.front();
    return std::all_of(pending.offers.begin(), pending.offers.end(), [&](const Offer& offer) {
        return offer.dtype == first.dtype && offer.reduce == first.reduce;
    });
}

// Whether one of the numbers was infinite, or none: then the sums are not to be trusted. The three highest
// bits of others are alike.
bool add_plain(std::vector<Number>& result, const Number* in, std::int64_t size) {
    std::uint64_t seen = 0;
    for (std::int64_t at = 0; at < size; ++at) {
        Number& sum = result[static_cast<std::size_t>(at)];
        const auto bits = static_cast<std::uint64_t>(in[at]), below = bits - 1;
        seen |= (bits ^ (bits << 1)) | (below ^ (below << 1));
        sum = add(sum, in[at]);
    }
    return (seen >> 62) != 0;
}

bool is_decimal(Dtype dtype) {
    return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

bool is_special(Number number) { return number >= infinite || number <= -infinite; }

// As floating point does it: an infinity stays one, two that differ in sign make no number, and no number
// makes no number.
Number sum_of_decimals(Number a, Number b) {
    if (a == not_a_number || b == not_a_number) return not_a_number;
    if (is_special(a) && is_special(b) && (a < 0) != (b < 0)) return not_a_number;
    return is_special(a) ? saturate(a) : is_special(b) ? saturate(b) : plus(a, b);
}

void add_decimals(PendingCollective& pending, std::int64_t size) {
    std::fill(pending.result.begin(), pending.result.end(), 0);
    for (const Offer& offer : pending.offers) {
        for (std::int64_t at = 0; at < size; ++at) {
            Number& sum = pending.result[static_cast<std::size_t>(at)];
            const Number value = element(offer, at);
            sum = sum_of_decimals(sum,
                                  is_special(value) ? value : repeated(value, offer.weight, ReduceOp::sum));
        }
    }
}

void reduce_alike(PendingCollective& pending, std::int64_t size) {
    const ReduceOp reduce = pending.offers.front().reduce;
    const bool sums = reduce == ReduceOp::sum || reduce == ReduceOp::avg || reduce == ReduceOp::none;
    bool first = true, special = false;
    for (const Offer& offer : pending.offers) {
        const bool plain = offer.flip_bit < 0 && offer.in_size >= size;
        if (plain && sums && offer.weight == 1) {  // as nearly all are; the sum begins with 0
            special |= add_plain(pending.result, offer.in, size);
            first = false;
            continue;
        }
        for (std::int64_t at = 0; at < size; ++at) {
            const Number value = repeated(plain ? offer.in[at] : element(offer, at), offer.weight, reduce);
            Number& sum = pending.result[static_cast<std::size_t>(at)];
            sum = first ? value : combine(sum, value, reduce);
        }
        first = false;
    }
    special = special && is_decimal(pending.offers.front().dtype);
    if (special) add_decimals(pending, size);
    if (reduce != ReduceOp::avg) return;
    for (Number& sum : pending.result)
        if (!special || !is_special(sum)) sum /= static_cast<Number>(pending.members);
}

// Each chunk is reduced by one member, by its own operation and in its own type; what others sent are bits to
// it.
void reduce_by_owners(PendingCollective& pending, std::int64_t size) {
    const std::int64_t members = pending.members;
    for (std::int64_t at = 0; at < size; ++at) {
        const Offer& owner = offer_at(pending, at * members / size);
        Number sum = 0;
        bool first = true;
        for (const Offer& offer : pending.offers) {
            const Number value = offer.dtype == owner.dtype
                                     ? element(offer, at)
                                     : decode(encode(element(offer, at), offer.dtype), owner.dtype);
            const Number brought = repeated(value, offer.weight, owner.reduce);
            sum = first ? brought : combine(sum, brought, owner.reduce);
            first = false;
        }
        pending.result[static_cast<std::size_t>(at)] = owner.reduce == ReduceOp::avg ? sum / members : sum;
    }
}

void put(const Offer& offer, std::int64_t at, Number value, Dtype from) {
    if (!offer.out || at >= offer.out_size) return;
    if (from != offer.dtype) value = decode(encode(value, from), offer.dtype);
    if (offer.flip_bit >= 0 && offer.flip_received && offer.flip_bit / 64 == at) {
        value =
            static_cast<Number>(static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << offer.flip_bit % 64);
    }
    offer.out[at] = value;
}

}  // namespace

std::int64_t bytes_of(const Offer& offer) {
    return offer.count * std::max<std::int64_t>(1, results::size_of(offer.dtype));
}

bool fits(const Offer& offer, const Offer& other) {
    if (offer.bytes && other.bytes) return bytes_fit(offer, other);
    return offer.op == other.op && bytes_of(offer) == bytes_of(other) && offer.root == other.root;
}

void compute(PendingCollective& pending) {
    if (pending.offers.front().bytes) return compute_bytes(pending);
    const Offer& first = pending.offers.front();
    const Rank members = pending.members;
    pending.part = visible_part(pending);
    pending.one_type = std::all_of(pending.offers.begin(), pending.offers.end(),
                                   [&](const Offer& offer) { return offer.dtype == first.dtype; });
    if (reduces(first.op)) {
        const std::int64_t size = first.op == Op::reduce_scatter ? pending.part * members : pending.part;
        pending.result.assign(static_cast<std::size_t>(size), 0);
        alike(pending) ? reduce_alike(pending, size) : reduce_by_owners(pending, size);
        return;
    }
    pending.result.clear();
    const auto take = [&](const Offer& offer, std::int64_t count) {
        for (std::int64_t at = 0; at < count; ++at) pending.result.push_back(element(offer, at));
    };
    if (first.op == Op::broadcast) {
        take(offer_at(pending, first.root), pending.part);
    } else if (first.op == Op::all_gather) {
        for (const Offer& offer : pending.offers) take(offer, pending.part);
    } else if (first.op == Op::all_to_all) {
        for (const Offer& offer : pending.offers) take(offer, pending.part * members);
    }
}

const Offer& offer_at(const PendingCollective& pending, std::int64_t place) {
    const Counted<Offer>& offers = pending.offers;
    if (offers.size() == static_cast<std::size_t>(pending.members))
        return offers[static_cast<std::size_t>(place)];
    const auto crowd = std::max_element(offers.begin(), offers.end(),
                                        [](const Offer& a, const Offer& b) { return a.weight < b.weight; });
    const auto found =
        std::find_if(offers.begin(), offers.end(), [&](const Offer& offer) { return offer.place == place; });
    return found == offers.end() ? *crowd : *found;
}

void deliver(const PendingCollective& pending, const Offer& mine) {
    if (mine.bytes) return deliver_bytes(pending, mine);
    const Rank index = mine.place;
    if (!mine.out || mine.op == Op::barrier) return;
    if (mine.op == Op::reduce && mine.root != index) return;
    const std::int64_t members = pending.members;
    const std::int64_t part = pending.part;
    const auto size = static_cast<std::int64_t>(pending.result.size());
    // Counts may differ where types do; what is not there reads as 0.
    const auto result = [&](std::int64_t at) {
        return at < size ? pending.result[static_cast<std::size_t>(at)] : 0;
    };
    // What comes to this member in a piece, where nothing about it is to be altered.
    const bool reduced = mine.op == Op::all_reduce || mine.op == Op::reduce;
    if (pending.one_type && mine.flip_bit < 0 &&
        (reduced || mine.op == Op::broadcast || mine.op == Op::all_gather)) {
        std::copy_n(pending.result.begin(), std::min(size, mine.out_size), mine.out);
        return;
    }
    const auto dtype = [&](std::int64_t member) {
        return offer_at(pending, std::min(member, members - 1)).dtype;
    };
    switch (mine.op) {
        case Op::all_reduce:
        case Op::reduce:
            for (std::int64_t at = 0; at < size; ++at) put(mine, at, result(at), dtype(at * members / size));
            break;
        case Op::reduce_scatter:
            for (std::int64_t at = 0; at < part; ++at) put(mine, at, result(index * part + at), dtype(index));
            break;
        case Op::broadcast:
            for (std::int64_t at = 0; at < size; ++at) put(mine, at, result(at), dtype(mine.root));
            break;
        case Op::all_gather:
            for (std::int64_t at = 0; at < size; ++at)
                put(mine, at, result(at), dtype(at / std::max<std::int64_t>(part, 1)));
            break;
        case Op::all_to_all:
            for (std::int64_t from = 0; from < members; ++from) {
                for (std::int64_t at = 0; at < part; ++at) {
                    put(mine, from * part + at, result((from * members + index) * part + at), dtype(from));
                }
            }
            break;
        default:
            break;
    }
}

}  // namespace deadrank::sim

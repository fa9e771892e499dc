// sim/collectives/byte_offer.h — Collectives on the memory of real programs: what each member brings, and
// what each gets, by the types and the operation of the call.
#pragma once

#include "sim/collectives/offer.h"

namespace deadrank::sim {

// Whether NCCL's kernels would fit together, the parts of an all_to_all aside.
bool bytes_fit(const Offer& offer, const Offer& other);

// Whether each member of an all_to_all sends what its peer expects. Where one does not, NCCL waits for ever.
// True for every other call. All members have come.
bool parts_meet(const PendingCollective& pending);

// The result of a call whose members have all come. Reductions run in rank order, in the type of the first
// member. Elements that a member does not have count as zero.
void compute_bytes(PendingCollective& pending);
void deliver_bytes(const PendingCollective& pending, const Offer& mine);

// Flips bit `flip_bit % 64` of element `flip_bit / 64`, if it is there; the bit wraps within the element.
void flip_bit_of(std::span<std::byte> bytes, std::size_t element, std::int64_t flip_bit);

// For a caller that stops waiting: the call continues with a copy of its data, or with zeros.
void keep_bytes(PendingCollective& pending, Offer& offer, bool data_is_there);

}  // namespace deadrank::sim

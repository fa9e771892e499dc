// sim/collectives/library_texts.h — The words of NCCL, and of gloo under torch.distributed, in their
// releases.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/collectives/offer.h"

namespace deadrank::sim {

// ── The words of NCCL 2.28 and torch.distributed 2.11 around a communicator. One place, so that they stay
// exact.

std::string_view nccl_function(results::Op op);  // AllReduce, as NCCL's own messages call it
std::string_view op_type(results::Op op);        // ALLREDUCE, as c10d's work objects do

// "torch.distributed.DistBackendError: NCCL error in: …, invalid usage …, NCCL
// version 2.28.9\nncclInvalidUsage: …\nLast error:\n…"
std::string nccl_exception(Code code, std::string_view version, std::string_view last_error);
std::string nccl_error_lines(Code code, std::string_view version, std::string_view last_error);

std::string retries_exceeded_text(std::string_view peer);
// A card was turned away from the memory of its own device, or of the peer's.
std::string access_denied_text(std::string_view peer, bool own);
// What a receiver says of a message of another size than it expects, over sockets or over InfiniBand.
std::string wrong_chunk_text(std::string_view peer, std::int64_t expected, std::int64_t sent, bool socket);
std::string connection_closed_text(std::string_view peer);

// TORCH_DISTRIBUTED_DEBUG=DETAIL: what ProcessGroupWrapper raises on each rank.
bool differ_in_fingerprint(const PendingCollective& pending);
std::string fingerprint_mismatch(const PendingCollective& pending, Rank mine);
std::string monitored_barrier_failure(const PendingCollective& pending, Rank mine, Time timeout);

// ── The words of gloo under torch.distributed 2.11, where it notices what NCCL does not.

// What a rank's next or pending call raises when the peer is gone.
std::string gloo_closed_text(std::string_view peer);

// An error of the system while the rank reads from its peer.
std::string gloo_read_text(std::string_view peer);

std::string gloo_timeout_text(Time after);

// What a rank logs, line by line, when it aborts because it receives more than its buffer holds.
std::string gloo_terminate_text();
std::string gloo_too_long_text(std::int64_t came, std::int64_t room);

}  // namespace deadrank::sim

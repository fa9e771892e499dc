// sim/collectives/gloo_texts.h — The words of gloo under torch.distributed 2.11, where it notices what NCCL
// does not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deadrank::sim {

// What a rank's next or pending call raises when the peer is gone.
std::string gloo_closed_text(std::string_view peer);

// What ends a rank that gets more than it has room for, line by line.
std::string gloo_terminate_text();
std::string gloo_too_long_text(std::int64_t came, std::int64_t room);

}  // namespace deadrank::sim

// sim/collectives/gloo_texts.cpp — As real runs printed them, file and line included.
#include "sim/collectives/gloo_texts.h"

#include <fmt/format.h>

namespace deadrank::sim {

std::string gloo_closed_text(std::string_view peer) {
    return fmt::format(
        "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [{}]:7874",
        peer);
}

std::string gloo_terminate_text() {
    return "terminate called after throwing an instance of 'gloo::EnforceNotMet'";
}

std::string gloo_too_long_text(std::int64_t came, std::int64_t room) {
    return fmt::format(
        "  what():  [enforce fail at /pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:456] "
        "op.preamble.length <= op.nbytes. {} vs {}. Received data size doesn't match expected size. Is there "
        "a distributed collective mismatch in your code?",
        came, room);
}

}  // namespace deadrank::sim

// tests/fuzz/channel_fuzz.cpp — Promise: packets of a managed rank are messages of the size that their head
// names, or end the run as a trouble of this machine.
#include <algorithm>
#include <sys/socket.h>

#include "sim/managed/channel.h"
#include "sim/managed/trouble.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace deadrank::fuzz {
namespace {

// The text as packets: the first byte of each names its size.
void send_packets(std::string_view text, int socket) {
    constexpr int packets_most = 8;  // so that a socket holds them all
    for (int i = 0; i < packets_most && !text.empty(); ++i) {
        const auto packet = text.substr(1, static_cast<unsigned char>(text[0]));
        if (!packet.empty()) CHECK(::send(socket, packet.data(), packet.size(), 0) == std::ssize(packet));
        text.remove_prefix(1 + packet.size());
    }
}

}  // namespace
}  // namespace deadrank::fuzz

FUZZ_TARGET(channel) {
    namespace managed = sim::managed;
    int ends[2] = {};
    CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    const MemoryFile nothing("");
    managed::Channel channel{managed::Descriptor(ends[0]), managed::Descriptor(::dup(nothing.descriptor())),
                             managed::Descriptor(::dup(nothing.descriptor())), [](bool, std::string_view) {}};
    send_packets(text, ends[1]);
    ::close(ends[1]);
    try {
        bool accepted = false;
        while (const auto request = channel.receive(std::chrono::milliseconds(100))) {
            CHECK(request->body.size() == request->head.size);
            accepted = true;
        }
        return accepted;
    } catch (const managed::HostTrouble& trouble) {
        CHECK(trouble.what()[0] != '\0');
        return false;
    }
}

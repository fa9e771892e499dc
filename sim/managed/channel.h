// sim/managed/channel.h — The socket between a rank's process and its proxy, and the pipes that the process
// prints to. Reading is the only thing in a simulation that waits in real time, and it has a limit.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "sim/managed/descriptor.h"
#include "sim/managed/wire.h"

namespace deadrank::sim::managed {

struct Request {
    RequestHead head;
    std::string body;
};

// The process whose message is awaited. `pid` 0 and `rank` -1: not known.
struct Sender {
    pid_t pid = 0;
    int rank = -1;
};

class Channel {
public:
    using Print = std::function<void(bool error, std::string_view line)>;

    // `socket`: SEQPACKET. `print` gets each line, without its end, as soon as it is read.
    Channel(Descriptor socket, Descriptor out, Descriptor err, Print print);

    // The next message; nullopt: the process closed its end. Prints what came meanwhile. Throws HostTrouble
    // if nothing came within `limit`, if `stop` became true, or if what came is no message. Time in which the
    // sender was ready and had no processor does not count, up to nine times the limit. A Python process
    // whose limit is over prints its stacks first.
    std::optional<Request> receive(std::chrono::milliseconds limit, const std::function<bool()>& stop = {},
                                   const Sender& sender = {});
    // A process that is gone is no error: receive() tells.
    void reply(Status status, std::int64_t now, std::string_view body, std::uint16_t flags = 0);
    // Asks for a copy of the process, which is to have these files. It answers with Kind::forked.
    void request_copy(std::int64_t now, int socket, int out, int err, int arena);
    // Opens a debugger over these files. `obstacle`: why it has no way back; empty: it has one.
    void open_debugger(std::int64_t now, std::string_view obstacle, int in, int out);
    // From now on the other end is the copy.
    void use(Descriptor socket, Descriptor out, Descriptor err);
    void print_rest();  // after the process has ended
    // What the process prints is lost from now on.
    void mute() { print_ = [](bool, std::string_view) {}; }

private:
    struct Pipe {
        Descriptor file;
        std::string begun;
        bool error = false;
        std::size_t printed = 0;  // bytes
        bool cut = false;
    };
    void drain(Pipe& pipe);
    void print_stacks(pid_t process);
    void print(Pipe& pipe, std::string_view line);

    Descriptor socket_;
    std::array<Pipe, 2> pipes_;
    Print print_;
};

}  // namespace deadrank::sim::managed

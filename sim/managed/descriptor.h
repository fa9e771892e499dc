// sim/managed/descriptor.h — A file descriptor that is closed with its owner.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace deadrank::sim::managed {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() { close(); }

    int get() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }
    void close() {
        if (number_ >= 0) ::close(std::exchange(number_, -1));
    }

private:
    int number_ = -1;
};

// Two ends each, closed when a program is executed. They throw HostTrouble.
std::array<Descriptor, 2> pipe_pair();       // to read from, to write to
std::array<Descriptor, 2> packet_sockets();  // SEQPACKET, with room for messages of the wire

// Sends `text` with at most four descriptors over a socket. False: errno says why.
bool send_with(int socket, std::string_view text, std::initializer_list<int> descriptors);

}  // namespace deadrank::sim::managed

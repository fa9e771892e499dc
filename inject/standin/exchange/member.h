// inject/standin/exchange/member.h — One rank's connection to the coordinator.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "inject/standin/exchange/exchange_wire.h"
#include "results/record/codes.h"

namespace deadrank::inject::standin {

// ── Unix sockets in the abstract namespace: they have no file that could be left behind, and nothing
// outside this machine reaches them.

// A file descriptor that is closed once.
class Socket {
public:
    explicit Socket(int handle = -1) : handle_(handle) {}
    Socket(Socket&& other) noexcept : handle_(other.release()) {}
    Socket& operator=(Socket&& other) noexcept;
    ~Socket();

    int handle() const { return handle_; }
    explicit operator bool() const { return handle_ >= 0; }
    int release();
    void shut();  // wakes the reader

    bool write(std::string_view bytes);       // all of it, or false: the other end is gone
    bool read(void* into, std::size_t size);  // likewise

private:
    int handle_;
};

Socket listen_at(const std::string& address);
Socket connect_to(const std::string& address);

// A rank's line to the coordinator: one for each communicator that it is in. Calls are submitted by any
// thread and awaited by any; an abort wakes all that wait.
class Member {
public:
    Member() = default;
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    // Waits until all members have joined: forever when one never does. `why` says what is wrong.
    results::Code join(const std::string& address, const Hello& hello, std::string& why);

    // The answer is written to `into`, up to its size, before await() returns true. False: aborted.
    std::uint64_t submit(Call call, std::string_view bytes, std::span<char> into);
    bool await(std::uint64_t number);

    // Nothing is written to any buffer afterwards, and all that wait go on.
    void abort();
    void leave();  // orderly

    bool aborted() const { return aborted_; }
    bool pending() const;
    // A peer whose loss the network showed, or -1.
    int lost_peer() const { return lost_peer_; }

private:
    struct Waiting {
        std::span<char> into;
        bool done = false;
    };

    void send_message(Kind kind, std::string_view said, std::string_view bytes = {});
    void listen();
    bool receive_result(std::size_t size);

    Socket socket_;
    std::thread reader_;
    mutable std::mutex mutex_;
    std::mutex writing_;
    std::condition_variable changed_;
    std::map<std::uint64_t, Waiting> waiting_;
    std::uint64_t last_ = 0;
    std::atomic<bool> aborted_ = false;
    std::atomic<int> lost_peer_ = -1;
};

}  // namespace deadrank::inject::standin

// inject/shims/net/transport.h — Messages over TCP that never block: NCCL polls. One connection carries them
// one way, in order, each behind a header with its size. NCCL's own transports cannot be called from outside,
// hence this one.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "inject/shims/net/net_abi.h"

namespace deadrank::inject::shims {

using boost::asio::ip::tcp;
constexpr int nccl_remote_error = 6;
using NetClock = std::chrono::steady_clock;

// How one message, or one connection, is treated differently from the others.
struct Treatment {
    bool dropped = false;  // reported as done; nothing is moved
    bool stalled = false;  // never done
    NetClock::time_point not_before{};
    std::int64_t flip_bit = -1;  // of the message, modulo its size
    int failure = 0;             // the code that the next poll of it returns
};

class Connection;

struct Request {
    Connection* connection = nullptr;
    bool sends = false;
    unsigned char* data = nullptr;
    std::uint64_t size = 0;  // receiving: how much fits, then how much came
    std::size_t moved = 0;   // of header and body together
    std::array<unsigned char, 8> header{};
    std::vector<unsigned char> copy;  // of a message that is altered on its way
    Treatment treatment;
    bool done = false;
};

class Connection {
public:
    explicit Connection(tcp::socket socket) : socket_(std::move(socket)) {}

    std::unique_ptr<Request> start(bool sends, void* data, std::uint64_t size, const Treatment& treatment);

    // Moves what can be moved now. 0, or the code with which NCCL learns of trouble: 6 when the peer is gone,
    // 5 when a message is longer than its receiver expected.
    int progress();

private:
    int move(Request& request);
    std::size_t move_some(Request& request, boost::system::error_code& trouble);

    tcp::socket socket_;
    std::deque<Request*> queue_;
    int failure_ = 0;
};

// The whole of a handle that one rank sends another, to connect to it.
struct Handle {
    std::uint64_t magic;
    std::uint16_t port;
    char address[46];
    void* calling;  // at the caller's: the connection that it is making
};
static_assert(sizeof(Handle) <= net_handle_bytes);
inline constexpr std::uint64_t handle_magic = 0x6465616472616e6b;

class Listener {
public:
    // At $DEADRANK_NET_ADDRESS, which several machines set to one of their own each; else on loopback.
    static std::unique_ptr<Listener> open(boost::asio::io_context& io, Handle& handle);

    std::unique_ptr<Connection> accept();  // null: no peer has connected yet

    Treatment treatment;  // of the connection that is being accepted
    bool asked = false;

private:
    explicit Listener(boost::asio::io_context& io) : io_(io), acceptor_(io) {}

    boost::asio::io_context& io_;
    tcp::acceptor acceptor_;
};

// A connection being made. Nothing blocks: the kernel connects while NCCL does other things.
class Calling {
public:
    Calling(boost::asio::io_context& io, const Handle& handle);

    bool done() const { return state_ == State::connected; }
    bool failed() const { return state_ == State::failed; }
    void look();
    std::unique_ptr<Connection> take();

    Treatment treatment;

private:
    enum class State { going, connected, failed };
    tcp::socket socket_;
    State state_ = State::going;
};

}  // namespace deadrank::inject::shims

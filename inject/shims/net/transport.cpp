// inject/shims/net/transport.cpp — Boost.Asio's sockets in non-blocking mode, looked at whenever NCCL asks.
#include "inject/shims/net/transport.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace deadrank::inject::shims {

namespace {

using boost::system::error_code;
namespace asio = boost::asio;

constexpr int nccl_invalid_usage = 5;
constexpr std::size_t header_bytes = 8;

bool would_block(const error_code& trouble) {
    return trouble == asio::error::would_block || trouble == asio::error::try_again;
}

void flip(unsigned char* data, std::uint64_t size, std::int64_t bit) {
    if (bit < 0 || size == 0) return;
    const auto place = static_cast<std::uint64_t>(bit) % (size * 8);
    data[place / 8] ^= static_cast<unsigned char>(1U << (place % 8));
}

}  // namespace

std::unique_ptr<Request> Connection::start(bool sends, void* data, std::uint64_t size,
                                           const Treatment& treatment) {
    auto request = std::make_unique<Request>();
    *request = {this, sends, static_cast<unsigned char*>(data), size, 0, {}, {}, treatment, false};
    if (treatment.dropped) {
        request->done = true;
        if (!sends) request->size = 0;
        return request;
    }
    if (sends) std::memcpy(request->header.data(), &size, header_bytes);
    if (sends && treatment.flip_bit >= 0 && size > 0) {
        request->copy.assign(request->data, request->data + size);
        flip(request->copy.data(), size, treatment.flip_bit);
        request->data = request->copy.data();
    }
    queue_.push_back(request.get());
    return request;
}

int Connection::progress() {
    while (failure_ == 0 && !queue_.empty()) {
        Request& front = *queue_.front();
        if (front.treatment.stalled || NetClock::now() < front.treatment.not_before) break;
        failure_ = move(front);
        if (!front.done) break;
        queue_.pop_front();
    }
    return failure_;
}

int Connection::move(Request& request) {
    for (;;) {
        error_code trouble;
        const std::size_t some = move_some(request, trouble);
        request.moved += some;
        if (trouble && !would_block(trouble)) return nccl_remote_error;
        if (!request.sends && request.moved == header_bytes && some > 0) {
            std::uint64_t coming = 0;
            std::memcpy(&coming, request.header.data(), header_bytes);
            if (coming > request.size) return nccl_invalid_usage;
            request.size = coming;
        }
        if (request.moved >= header_bytes && request.moved == header_bytes + request.size) {
            if (!request.sends) flip(request.data, request.size, request.treatment.flip_bit);
            request.done = true;
            return 0;
        }
        if (some == 0) return 0;
    }
}

std::size_t Connection::move_some(Request& request, error_code& trouble) {
    if (request.moved < header_bytes) {
        unsigned char* const at = request.header.data() + request.moved;
        const std::size_t left = header_bytes - request.moved;
        return request.sends ? socket_.write_some(asio::buffer(at, left), trouble)
                             : socket_.read_some(asio::buffer(at, left), trouble);
    }
    const std::size_t before = request.moved - header_bytes;
    if (before == request.size) return 0;
    unsigned char* const at = request.data + before;
    return request.sends ? socket_.write_some(asio::buffer(at, request.size - before), trouble)
                         : socket_.read_some(asio::buffer(at, request.size - before), trouble);
}

std::unique_ptr<Listener> Listener::open(asio::io_context& io, Handle& handle) {
    const char* chosen = std::getenv("DEADRANK_NET_ADDRESS");
    error_code trouble;
    const auto address = asio::ip::make_address(chosen && *chosen ? chosen : "127.0.0.1", trouble);
    if (trouble) return nullptr;
    std::unique_ptr<Listener> listener(new Listener(io));
    const tcp::endpoint place(address, 0);
    listener->acceptor_.open(place.protocol(), trouble);
    if (!trouble) listener->acceptor_.bind(place, trouble);
    if (!trouble) listener->acceptor_.listen(asio::socket_base::max_listen_connections, trouble);
    if (!trouble) listener->acceptor_.non_blocking(true, trouble);
    if (trouble) return nullptr;
    handle = {handle_magic, listener->acceptor_.local_endpoint(trouble).port(), {}, nullptr};
    std::strncpy(handle.address, address.to_string().c_str(), sizeof handle.address - 1);
    return trouble ? nullptr : std::move(listener);
}

std::unique_ptr<Connection> Listener::accept() {
    error_code trouble;
    tcp::socket socket(io_);
    acceptor_.accept(socket, trouble);
    if (trouble) return nullptr;
    socket.non_blocking(true, trouble);
    socket.set_option(tcp::no_delay(true), trouble);
    return std::make_unique<Connection>(std::move(socket));
}

// Asio's own connect waits for the answer; the system call under it need not.
Calling::Calling(asio::io_context& io, const Handle& handle) : socket_(io) {
    error_code trouble;
    const auto address = asio::ip::make_address(handle.address, trouble);
    const tcp::endpoint place(address, handle.port);
    if (!trouble) socket_.open(place.protocol(), trouble);
    if (!trouble) socket_.non_blocking(true, trouble);
    if (trouble) {
        state_ = State::failed;
        return;
    }
    const int answer = ::connect(socket_.native_handle(), place.data(), static_cast<socklen_t>(place.size()));
    if (answer != 0 && errno != EINPROGRESS) state_ = State::failed;
}

void Calling::look() {
    if (state_ != State::going) return;
    pollfd watched{socket_.native_handle(), POLLOUT, 0};
    if (::poll(&watched, 1, 0) <= 0) return;
    int trouble = 0;
    socklen_t size = sizeof trouble;
    ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &trouble, &size);
    state_ = trouble == 0 ? State::connected : State::failed;
    error_code ignored;
    if (state_ == State::connected) socket_.set_option(tcp::no_delay(true), ignored);
}

std::unique_ptr<Connection> Calling::take() { return std::make_unique<Connection>(std::move(socket_)); }

}  // namespace deadrank::inject::shims

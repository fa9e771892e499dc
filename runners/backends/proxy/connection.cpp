// runners/backends/proxy/connection.cpp — One connection through the proxy, and what is done to its bytes.
#include "runners/backends/proxy/connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace deadrank::runners {

std::optional<Trouble> trouble_named(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Trouble>, 7> names = {{{"", Trouble::none},
                                                                            {"mute", Trouble::mute},
                                                                            {"refuse", Trouble::refuse},
                                                                            {"cut", Trouble::cut},
                                                                            {"late", Trouble::late},
                                                                            {"narrow", Trouble::narrow},
                                                                            {"flip", Trouble::flip}}};
    for (const auto& [known, trouble] : names) {
        if (known == name) return trouble;
    }
    return std::nullopt;
}

// ── A pump reads, disturbs and writes. A muted one reads nothing, so the sender meets a full buffer as on a
// dead wire, and all its data arrives when the pump goes on.

namespace asio = boost::asio;
using Failed = boost::system::error_code;

Connection::Pump::Pump(tcp::socket& source, tcp::socket& sink, bool of_answers)
    : from(source), to(sink), answers(of_answers), timer(source.get_executor()) {}

Connection::Connection(tcp::socket client, std::shared_ptr<Condition> condition)
    : condition_(std::move(condition)),
      client_(std::move(client)),
      target_(client_.get_executor()),
      resolver_(client_.get_executor()),
      to_server_(client_, target_, false),
      to_client_(target_, client_, true) {}

void Connection::open(const std::string& host, int port) {
    const Disturbance& now = condition_->what;
    if (now.how == Trouble::cut && now.amount <= 0) return reset();
    resolver_.async_resolve(host, std::to_string(port),
                            [self = shared_from_this()](Failed unknown, const auto& found) {
                                if (unknown) return self->reset();
                                asio::async_connect(self->target_, found, [self](Failed failed, const auto&) {
                                    if (failed) return self->reset();
                                    Failed ignored;
                                    self->client_.set_option(tcp::no_delay(true), ignored);
                                    self->target_.set_option(tcp::no_delay(true), ignored);
                                    self->open_ = true;
                                    self->pump(self->to_server_);
                                    self->pump(self->to_client_);
                                });
                            });
}

void Connection::changed() {
    passed_ = 0;
    const Disturbance& now = condition_->what;
    if (now.how == Trouble::cut && now.amount <= 0) return reset();
    for (Pump* one : {&to_server_, &to_client_}) {
        if (now.how == Trouble::mute || !open_ || !one->held) continue;
        one->held = false;
        if (one->pending > 0) {
            pass(*one);
        } else if (one->ended) {
            finish(*one);
        } else {
            pump(*one);
        }
    }
}

void Connection::pump(Pump& one) {
    const Disturbance& now = condition_->what;
    if (now.how == Trouble::mute) {
        one.held = true;
        return;
    }
    std::size_t most = one.buffer.size();
    if (now.how == Trouble::narrow)  // a twentieth of a second at a time
        most = std::clamp<std::size_t>(static_cast<std::size_t>(now.amount) / 20, 1, most);
    one.from.async_read_some(asio::buffer(one.buffer.data(), most),
                             [self = shared_from_this(), &one](Failed failed, std::size_t count) {
                                 one.pending = count;
                                 one.ended = static_cast<bool>(failed);
                                 if (count > 0) return self->pass(one);
                                 self->finish(one);
                             });
}

void Connection::pass(Pump& one) {
    const Disturbance& now = condition_->what;
    std::chrono::nanoseconds wait{0};
    switch (now.how) {
        case Trouble::mute:
            one.held = true;
            return;
        case Trouble::late:
            wait = now.late;
            break;
        case Trouble::narrow:
            wait = std::chrono::nanoseconds(static_cast<std::int64_t>(one.pending) * 1'000'000'000 /
                                            std::max<std::int64_t>(1, now.amount));
            break;
        case Trouble::cut:
            one.pending = std::min(one.pending, static_cast<std::size_t>(now.amount - passed_));
            break;
        case Trouble::flip:
            if (one.answers) turn_bit(one);
            break;
        case Trouble::none:
        case Trouble::refuse:
            break;
    }
    passed_ += static_cast<std::int64_t>(one.pending);
    if (wait.count() <= 0) return write(one);
    one.timer.expires_after(wait);
    one.timer.async_wait([self = shared_from_this(), &one](Failed failed) {
        if (!failed) self->write(one);
    });
}

void Connection::write(Pump& one) {
    asio::async_write(one.to, asio::buffer(one.buffer.data(), one.pending),
                      [self = shared_from_this(), &one](Failed failed, std::size_t) {
                          one.pending = 0;
                          const Disturbance& now = self->condition_->what;
                          if (failed || (now.how == Trouble::cut && self->passed_ >= now.amount))
                              return self->reset();
                          if (one.ended) return self->finish(one);
                          self->pump(one);
                      });
}

void Connection::finish(Pump& one) {
    one.ended = true;
    if (condition_->what.how == Trouble::mute) {  // not even the end of the stream gets through
        one.held = true;
        return;
    }
    Failed ignored;
    one.told = true;
    one.to.shutdown(tcp::socket::shutdown_send, ignored);
}

void Connection::turn_bit(Pump& one) {
    Condition& condition = *condition_;
    const std::int64_t place = condition.what.amount / 8 - condition.answered;
    condition.answered += static_cast<std::int64_t>(one.pending);
    if (condition.flipped || place < 0 || place >= static_cast<std::int64_t>(one.pending)) return;
    one.buffer[static_cast<std::size_t>(place)] ^= static_cast<char>(1 << (condition.what.amount % 8));
    condition.flipped = true;
}

void Connection::reset() {
    for (tcp::socket* end : {&client_, &target_}) {
        Failed ignored;
        end->set_option(asio::socket_base::linger(true, 0), ignored);
        end->close(ignored);
    }
    to_server_.timer.cancel();
    to_client_.timer.cancel();
    resolver_.cancel();
}

// ── A bound socket that does not listen refuses connections: that is how a route is closed.

using Failed = boost::system::error_code;

Route::Route(boost::asio::io_context& context) : context_(context), acceptor_(context) { listen(); }

void Route::leads_to(std::string host, int port) {
    host_ = std::move(host);
    target_ = port;
}

void Route::change(const Disturbance& what) {
    const bool was_shut = condition_->what.how == Trouble::refuse;
    *condition_ = Condition{what};
    if (was_shut != (what.how == Trouble::refuse)) listen();
    std::erase_if(connections_, [](const auto& one) { return one->over(); });
    for (const auto& one : connections_) one->changed();
}

void Route::listen() {
    Failed failed;
    acceptor_.close(failed);
    acceptor_.open(tcp::v4(), failed);
    acceptor_.set_option(tcp::acceptor::reuse_address(true), failed);
    acceptor_.bind(door_, failed);
    if (!failed) door_ = acceptor_.local_endpoint(failed);
    if (failed || condition_->what.how == Trouble::refuse) return;
    acceptor_.listen(tcp::acceptor::max_listen_connections, failed);
    if (!failed) accept();
}

void Route::accept() {
    acceptor_.async_accept(context_, [this](Failed failed, tcp::socket client) {
        if (failed == boost::asio::error::operation_aborted) return;
        if (!failed) {
            std::erase_if(connections_, [](const auto& one) { return one->over(); });
            connections_.push_back(std::make_shared<Connection>(std::move(client), condition_));
            connections_.back()->open(host_, target_);
        }
        accept();
    });
}

}  // namespace deadrank::runners

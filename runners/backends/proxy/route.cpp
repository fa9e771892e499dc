// runners/backends/proxy/route.cpp — A bound socket that does not listen refuses: that is how the door is
// shut.
#include "runners/backends/proxy/route.h"

namespace deadrank::runners {

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

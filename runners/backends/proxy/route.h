// runners/backends/proxy/route.h — One door of the proxy, of which one rank is told: so the ranks can be told
// apart. The port stays ours while connections are refused.
#pragma once

#include <memory>
#include <vector>

#include "runners/backends/proxy/connection.h"

namespace deadrank::runners {

class Route {
public:
    explicit Route(boost::asio::io_context& context);

    int port() const { return door_.port(); }  // 0 = none could be had
    void leads_to(std::string host, int port);
    void change(const Disturbance& what);

private:
    using tcp = boost::asio::ip::tcp;
    void listen();
    void accept();

    boost::asio::io_context& context_;
    tcp::acceptor acceptor_;
    tcp::endpoint door_{boost::asio::ip::address_v4::loopback(), 0};
    std::string host_;
    int target_ = 0;
    std::shared_ptr<Condition> condition_ = std::make_shared<Condition>();
    std::vector<std::shared_ptr<Connection>> connections_;  // a mute one has nobody else
};

}  // namespace deadrank::runners

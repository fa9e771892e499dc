// runners/backends/proxy/connection.h — One connection through the proxy, and what is done to its bytes.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deadrank::runners {

// What is done to a connection. The names are those of the fault break_store and of the hook.
enum class Trouble {
    none,
    mute,    // connections are accepted, but nothing passes; all data arrives later, unharmed
    refuse,  // new connections are refused, existing ones go on
    cut,     // reset after `amount` more bytes, as is every new connection
    late,    // all data is delayed by `late`
    narrow,  // `amount` bytes per second in each direction
    flip,    // one bit of the target's answers is flipped, once
};

struct Disturbance {
    Trouble how = Trouble::none;
    std::chrono::nanoseconds late{0};
    std::int64_t amount = 0;  // cut: bytes that still pass; narrow: bytes per second; flip: which bit
};

// An empty name is `none`; nullopt if the name is unknown.
std::optional<Trouble> trouble_named(std::string_view name);

// ── One connection through the proxy: a client, its target, and a pump each way. Everything runs on the
// proxy's own thread.

// What is done to all connections of one route, since it was last changed.
struct Condition {
    Disturbance what;
    std::int64_t answered = 0;  // bytes from the target since then
    bool flipped = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
public:
    using tcp = boost::asio::ip::tcp;
    // Shares the condition with its route, which changes it and then calls changed().
    Connection(tcp::socket client, std::shared_ptr<Condition> condition);

    void open(const std::string& host, int port);  // resets the client's end if the target does not answer
    void changed();
    bool over() const { return !client_.is_open() || (to_server_.told && to_client_.told); }

private:
    struct Pump {
        Pump(tcp::socket& source, tcp::socket& sink, bool of_answers);
        tcp::socket& from;
        tcp::socket& to;
        bool answers;
        boost::asio::steady_timer timer;
        std::array<char, 16384> buffer{};
        std::size_t pending = 0;           // read and held back
        bool held = false, ended = false;  // ended: the source has no more
        bool told = false;                 // and the sink was told
    };

    void pump(Pump& one);  // reads on, unless muted
    void pass(Pump& one);  // disturbs and writes what was read
    void write(Pump& one);
    void finish(Pump& one);  // tells the sink that the source has ended
    void turn_bit(Pump& one);
    void reset();

    std::shared_ptr<Condition> condition_;
    tcp::socket client_, target_;
    tcp::resolver resolver_;
    Pump to_server_, to_client_;
    std::int64_t passed_ = 0;  // bytes of both ways since the condition changed
    bool open_ = false;
};

// One port of the proxy, known to one rank only, so that ranks can be told apart. The port stays bound while
// connections are refused.
class Route {
public:
    explicit Route(boost::asio::io_context& context);

    int port() const { return door_.port(); }  // 0 = no port was free
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
    std::vector<std::shared_ptr<Connection>> connections_;  // a muted one has no other owner
};

}  // namespace deadrank::runners

// runners/backends/proxy/connection.h — The two ends of a connection that passes through us, and what is done
// to its bytes.
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

// What happens to a connection on its way. The words are those of the fault break_store and of the hook.

enum class Trouble {
    none,
    mute,    // connections are taken, nothing passes any more; what was under way comes later, unharmed
    refuse,  // new connections are refused, those that stand go on
    cut,     // broken after so many bytes more, and so is every new one
    late,    // whatever passes comes that much later
    narrow,  // so many bytes a second and direction
    flip,    // one bit of what the target answers turns, once
};

struct Disturbance {
    Trouble how = Trouble::none;
    std::chrono::nanoseconds late{0};
    std::int64_t amount = 0;  // cut: bytes that still pass; narrow: bytes a second; flip: which bit
};

// Empty = none. Nothing where the word is unknown.
std::optional<Trouble> trouble_named(std::string_view name);

// One connection through the proxy: a client, its target, and a pump each way. Everything runs on the proxy's
// own thread.

// Of one route: what holds for all its connections, from the moment on that it was said.
struct Condition {
    Disturbance what;
    std::int64_t answered = 0;  // bytes from the target since then
    bool flipped = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
public:
    using tcp = boost::asio::ip::tcp;
    // Shares the condition with its route, which changes it and says so with changed().
    Connection(tcp::socket client, std::shared_ptr<Condition> condition);

    void open(const std::string& host, int port);  // a target that does not answer breaks the client's end
    void changed();
    bool over() const { return !client_.is_open() || (asks_.told && answers_.told); }

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
        bool told = false;                 // and the sink knows
    };

    void pump(Pump& one);  // reads on, unless the way is mute
    void pass(Pump& one);  // what was read, after what befalls it
    void write(Pump& one);
    void finish(Pump& one);  // tells the sink that the source has ended
    void turn_bit(Pump& one);
    void reset();

    std::shared_ptr<Condition> condition_;
    tcp::socket client_, target_;
    tcp::resolver resolver_;
    Pump asks_, answers_;
    std::int64_t passed_ = 0;  // bytes of both ways since the condition changed
    bool open_ = false;
};

// One door of the proxy, of which one rank is told: so the ranks can be told apart. The port stays ours while
// connections are refused.

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

// runners/backends/proxy/connection.h — One connection through the proxy: a client, its target, and a pump
// each way. Everything runs on the proxy's own thread.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "runners/backends/proxy/disturbance.h"

namespace deadrank::runners {

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

}  // namespace deadrank::runners

// runners/backends/proxy/store_proxy.h — A proxy between some ranks and the store where the job meets. Each
// rank's hook tells it where the store is before the rank connects, and later which trouble begins.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "results/record/time.h"
#include "runners/backends/proxy/connection.h"
#include "scenarios/model/error.h"

namespace deadrank::runners {

class StoreProxy {
public:
    // One port per rank, all on the loopback. Errors: io (no free port).
    static scenarios::Result<std::unique_ptr<StoreProxy>> start(const std::set<results::Rank>& ranks);
    ~StoreProxy();
    StoreProxy(const StoreProxy&) = delete;
    StoreProxy& operator=(const StoreProxy&) = delete;

    int proxy_port_of(results::Rank rank) const;
    // What hooks must know, as JSON: the port for their commands, and each rank's own port.
    std::string ports_json() const;

    // Obeys a command, as hooks send them: {"rank": 1, "target": ["127.0.0.1", 29500]} or {"rank": 1, "how":
    // "cut", "late": 0, "amount": 100}. Returns "ok", or what is wrong with it.
    std::string handle_command(const std::string& words);

private:
    struct Caller;
    StoreProxy();
    void accept();
    void read(const std::shared_ptr<Caller>& caller);

    boost::asio::io_context context_;  // first: the members below use it
    boost::asio::ip::tcp::acceptor words_;
    std::map<results::Rank, std::unique_ptr<Route>> routes_;
    std::thread thread_;
};

}  // namespace deadrank::runners

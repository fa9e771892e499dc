// runners/backends/proxy/store_proxy.h — Stands between some ranks and the store where the job meets. It asks
// nobody where that is: each rank's hook says so before it goes through its door, and what is to happen from
// that moment on.
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
    // One door a rank, all on the loopback. Errors: io (no port to be had).
    static scenarios::Result<std::unique_ptr<StoreProxy>> start(const std::set<results::Rank>& ranks);
    ~StoreProxy();
    StoreProxy(const StoreProxy&) = delete;
    StoreProxy& operator=(const StoreProxy&) = delete;

    int door_of(results::Rank rank) const;
    // What a hook has to know, as JSON: the port where it says things, and its door.
    std::string told() const;

    // The same as a hook's words: {"rank": 1, "target": ["127.0.0.1", 29500]} or {"rank": 1, "how": "cut",
    // "late": 0, "amount": 100}. Answers "ok", or what is wrong with it.
    std::string hear(const std::string& words);

private:
    struct Caller;
    StoreProxy();
    void accept();
    void read(const std::shared_ptr<Caller>& caller);

    boost::asio::io_context context_;  // before whatever lives in it
    boost::asio::ip::tcp::acceptor words_;
    std::map<results::Rank, std::unique_ptr<Route>> routes_;
    std::thread thread_;
};

}  // namespace deadrank::runners

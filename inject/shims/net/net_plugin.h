// inject/shims/net/net_plugin.h — The plugin that NCCL loads: a network over sockets that obeys the plan.
#pragma once

#include "inject/shims/core/session.h"
#include "inject/shims/net/transport.h"

namespace deadrank::inject::shims {

class Network {
public:
    // Lives as long as the process: NCCL may still close connections when destructors have run.
    static Network& here();

    int listen(void* handle, void** listener);
    int connect(void* handle, void** connection);
    int accept(void* listener, void** connection);
    int register_memory(void* data, void** made);
    int send(void* connection, void* data, std::uint64_t size, void** request);
    int receive(void* connection, int count, void** data, std::uint64_t size, void** request);
    int test(void* request, int* done, int* sizes);

    void properties(NetProperties11& into) const;

private:
    // Sleeps, and returns the rest as a treatment. `waits`: false for calls that cannot (listen, reg_mr).
    Treatment decide_treatment(const char* moment, std::uint64_t size, bool waits);

    Session session_;
    boost::asio::io_context io_;
    std::mutex guard_;
    NetClock::time_point line_free_{};  // when a limited line has carried what was given to it
};

}  // namespace deadrank::inject::shims

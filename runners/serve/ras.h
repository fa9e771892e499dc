// runners/serve/ras.h — NCCL's RAS protocol, both ends: a server that answers as a run would have at a
// moment, for any client, and a client for a live NCCL. Lines over TCP, commands in any case.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "results/emitters/ras.h"

namespace deadrank::runners::serve {

inline constexpr std::uint16_t ras_port = 28028;

class RasServer {
public:
    // Listens on loopback; port 0 takes any that is free. `report` is asked anew for each status. Errors:
    // environment, when the port is taken.
    static scenarios::Result<std::unique_ptr<RasServer>> listen(
        std::uint16_t port, std::function<results::emitters::RasReport()> report);
    ~RasServer();

    std::uint16_t port() const;
    // Serves one client after the other until the flag is set.
    void run(const std::atomic<bool>& stop);

private:
    struct Inside;
    explicit RasServer(std::unique_ptr<Inside> inside);
    std::unique_ptr<Inside> inside_;
};

struct RasQuestion {
    std::string host = "localhost";
    std::uint16_t port = ras_port;
    bool json = true, verbose = true;
    int timeout_seconds = 5;
};

// The body of its status. Errors: environment, when nobody listens; bad_input, when it does not speak the
// protocol.
scenarios::Result<std::string> ask_ras(const RasQuestion& question);

}  // namespace deadrank::runners::serve

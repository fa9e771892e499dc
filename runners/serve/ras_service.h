// runners/serve/ras_service.h — A RAS port that answers as NCCL's does, and a client that polls it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "results/detectors/detector.h"
#include "results/emitters/ras.h"

namespace deadrank::runners::serve {

// Both ends of NCCL's RAS protocol: a server that answers any client as a run would have at a given moment,
// and a client for a live NCCL. Lines over TCP; commands are case-insensitive.

inline constexpr std::uint16_t ras_port = 28028;

class RasServer {
public:
    // Listens on loopback; port 0 takes any free one. `report` is called for each status. Errors:
    // environment, when the port is taken.
    static scenarios::Result<std::unique_ptr<RasServer>> listen(
        std::uint16_t port, std::function<results::emitters::RasReport()> report);
    ~RasServer();

    std::uint16_t port() const;
    // Serves one client at a time until the flag is set.
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

// The body of the status. Errors: environment, when nothing listens there; bad_input, when it does not speak
// the protocol.
scenarios::Result<std::string> query_ras(const RasQuestion& question);

// Polling NCCL's RAS, as a tool under test: asks over TCP at the first minute without progress, and reads the
// answer as an operator would.

class RasPoller final : public results::Detector {
public:
    std::string_view name() const override { return "nccl_ras"; }
    std::vector<std::string_view> symptoms() const override;
    std::vector<results::Finding> examine(const results::Evidence& evidence) const override;
};

}  // namespace deadrank::runners::serve

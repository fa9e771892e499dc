// runners/backends/ranks/file_store.cpp — Texts: TCPStore of torch 2.11, and what was measured of its
// time-outs.
#include "runners/backends/ranks/file_store.h"

#include <charconv>
#include <fmt/format.h>

#include "sim/world/failure.h"

namespace deadrank::runners {

using sim::Time;

namespace {

class FileStore final : public sim::Store {
public:
    FileStore(Gate& gate, MeetingPlace keys) : gate_(gate), keys_(std::move(keys)) {}

    void set(std::string_view key, std::string_view value) override {
        if (!ask("store_set")) keys_.set(key, value);
    }
    std::optional<std::string> wait(std::string_view key, Time timeout) override {
        if (ask("store_get")) return std::nullopt;
        const Time until = gate_.now() + timeout;
        gate_.wait([&] { return keys_.get(key) || gate_.now() > until; });
        return keys_.get(key);
    }
    std::int64_t add(std::string_view key, std::int64_t amount) override {
        return ask("store_add") ? 0 : keys_.add(key, amount);
    }

private:
    bool ask(std::string_view name) {
        sim::Call call{.kind = sim::CallKind::store, .name = name};
        return gate_.plain(call);
    }

    Gate& gate_;
    MeetingPlace keys_;
};

int parse_port(std::string_view text) {
    int port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size())
        throw sim::RankFailure(fmt::format("ValueError: invalid literal for int() with base 10: '{}'", text));
    return port;
}

bool exists(std::string_view host, int nodes) {
    if (host == "localhost" || host.starts_with("127.")) return true;
    for (int node = 0; node < nodes; ++node) {
        if (host == fmt::format("node{}", node)) return true;
    }
    return false;
}

[[noreturn]] void timed_out(std::string_view host, int port, Time timeout) {
    throw sim::LibraryError(
        sim::Code::timeout,
        fmt::format("torch.distributed.DistNetworkError: The client socket has timed out after {}ms while "
                    "trying to connect to ({}, {}).",
                    timeout.count() / 1'000'000, host, port));
}

}  // namespace

std::unique_ptr<sim::Store> connect_file_store(Gate& gate, const MeetingPlace& place,
                                               const Endpoint& endpoint, bool host, Time timeout) {
    const std::string_view text = endpoint.text;
    const auto colon = text.rfind(':');
    const std::string_view name = text.substr(0, colon);
    const int port = parse_port(colon == std::string_view::npos ? "" : text.substr(colon + 1));
    const std::string open = fmt::format("open {}", port);
    if (host && !place.claim(open, name)) {
        throw sim::LibraryError(
            sim::Code::system_error,
            fmt::format("torch.distributed.DistNetworkError: The server socket has failed to "
                        "listen on any local network address. port: {}, useIpv6: false, code: "
                        "-98, name: EADDRINUSE, message: address already in use",
                        port));
    }
    if (!exists(name, endpoint.nodes)) {
        gate.sleep(timeout * 2);
        timed_out(name, port, timeout);
    }
    const Time until = gate.now() + timeout * 17 / 10;
    gate.wait([&] { return place.get(open) || gate.now() > until; });
    if (!place.get(open)) timed_out(name, port, timeout);
    return std::make_unique<FileStore>(gate, place.within(fmt::format("store {}", port)));
}

}  // namespace deadrank::runners

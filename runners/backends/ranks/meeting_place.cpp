// runners/backends/ranks/meeting_place.cpp — A directory that all ranks of the job see: arrivals, keys and
// counters, and the rendezvous store on top of it.
#include "runners/backends/ranks/meeting_place.h"

#include <cctype>
#include <charconv>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sys/file.h>
#include <unistd.h>

#include "sim/world/failure.h"

namespace deadrank::runners {

// ── claim() relies on link() and set() on rename(): both are atomic.

namespace fs = std::filesystem;

namespace {

// Keys may hold slashes and colons; file names may not.
std::string escaped(std::string_view name) {
    std::string safe = "k";
    for (const char letter : name) {
        const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
        safe += plain ? std::string(1, letter) : fmt::format("%{:02x}", static_cast<unsigned char>(letter));
    }
    return safe;
}

std::string read_whole(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Writes beside the file, under a name that no other process uses.
fs::path write_aside(const fs::path& file, std::string_view text) {
    const fs::path aside = fmt::format("{}.{}", file.string(), getpid());
    std::ofstream(aside, std::ios::binary) << text;
    return aside;
}

}  // namespace

MeetingPlace::MeetingPlace(fs::path directory) : directory_(std::move(directory)) {
    std::error_code ignored;
    fs::create_directories(directory_, ignored);
}

fs::path MeetingPlace::file(std::string_view name) const { return directory_ / escaped(name); }

MeetingPlace MeetingPlace::within(std::string_view name) const { return MeetingPlace(file(name)); }

bool MeetingPlace::claim(std::string_view name, std::string_view text) const {
    const fs::path aside = write_aside(file(name), text);
    const bool first = ::link(aside.c_str(), file(name).c_str()) == 0;
    ::unlink(aside.c_str());
    return first;
}

void MeetingPlace::set(std::string_view name, std::string_view text) const {
    std::error_code ignored;
    fs::rename(write_aside(file(name), text), file(name), ignored);
}

std::optional<std::string> MeetingPlace::get(std::string_view name) const {
    if (::access(file(name).c_str(), R_OK) != 0) return std::nullopt;
    return read_whole(file(name));
}

std::int64_t MeetingPlace::add(std::string_view name, std::int64_t amount) const {
    const int lock = ::open((file(name).string() + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ::flock(lock, LOCK_EX);
    const std::string text = get(name).value_or("0");
    std::int64_t sum = 0;
    std::from_chars(text.data(), text.data() + text.size(), sum);
    set(name, std::to_string(sum += amount));
    ::close(lock);
    return sum;
}

// ── Messages are those of TCPStore in torch 2.11; its time-outs were measured.

using sim::Time;

namespace {

class FileStore final : public sim::Store {
public:
    FileStore(Gate& gate, MeetingPlace keys) : gate_(gate), keys_(std::move(keys)) {}

    void set(std::string_view key, std::string_view value) override {
        if (!intercept_call("store_set")) keys_.set(key, value);
    }
    std::optional<std::string> wait(std::string_view key, Time timeout) override {
        if (intercept_call("store_get")) return std::nullopt;
        const Time until = gate_.now() + timeout;
        gate_.wait([&] { return keys_.get(key) || gate_.now() > until; });
        return keys_.get(key);
    }
    std::int64_t add(std::string_view key, std::int64_t amount) override {
        return intercept_call("store_add") ? 0 : keys_.add(key, amount);
    }
    std::string set_once(std::string_view key, std::string_view value) override {
        if (intercept_call("store_set") || keys_.claim(key, value)) return std::string(value);
        return keys_.get(key).value_or(std::string(value));
    }

private:
    bool intercept_call(std::string_view name) {
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

// runners/backends/local/namespaces.cpp — Network faults around real processes: a network namespace for each
// node, and a port that is already taken.
#include "runners/backends/local/namespaces.h"

#include <arpa/inet.h>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "results/processes/bounded.h"
#include "runners/backends/process/journal.h"
#include "runners/backends/process/launch.h"

namespace deadrank::runners {

// ── Uses ip and nft, as an administrator would. Nothing is created in our own namespace: both ends of each
// cable are created in the new ones.

using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

// Searches PATH, then the administrator's directories, which a plain user's PATH lacks.
std::string program(const std::string& name) {
    for (const char* directory : {"", "/usr/sbin/", "/sbin/", "/usr/bin/"}) {
        if (std::string found = results::processes::find_program(directory + name); !found.empty())
            return found;
    }
    return {};
}

// Bits 12 and 21 of the effective capabilities: CAP_NET_ADMIN and CAP_SYS_ADMIN.
bool may_administer() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with("CapEff:")) continue;
        const unsigned long long held = std::strtoull(line.c_str() + 7, nullptr, 16);
        return (held >> 12 & 1) && (held >> 21 & 1);
    }
    return false;
}

scenarios::Result<int> run(std::vector<std::string> command) {
    command.front() = program(command.front());
    const auto answer = results::processes::run_bounded(command, {.time = std::chrono::seconds(20)});
    if (answer && answer->well()) return 0;
    return refuse(
        ErrorCode::unsupported,
        fmt::format("the nodes got no network of their own: '{}' {}", fmt::join(command, " "),
                    answer ? answer->how() + ": " + answer->last_error_text() : answer.error().text()),
        "allow network namespaces, bridges and nftables here, or play this scenario with --runner sim");
}

}  // namespace

std::string namespaces_missing() {
    if (!may_administer()) return "network namespaces need root (CAP_NET_ADMIN and CAP_SYS_ADMIN)";
    if (program("ip").empty()) return "network namespaces need ip; install iproute2";
    if (program("nft").empty()) return "network namespaces need nft; install nftables";
    return {};
}

std::string Namespaces::address(int node) { return fmt::format("10.77.0.{}", node + 1); }

scenarios::Result<Namespaces> Namespaces::make(int nodes) {
    auto journal = Journal::open();
    if (!journal) return tl::unexpected(journal.error());
    Namespaces made(std::move(*journal));
    const std::string stem = fmt::format("deadrank-{}-{:x}", getpid(), now());
    const auto all = [&]() -> scenarios::Result<int> {
        const std::string bridge = stem + "-bridge";
        if (auto added = made.add(bridge); !added) return added;
        auto done = run({"ip", "-n", bridge, "link", "add", "bridge", "up", "type", "bridge"});
        for (int node = 0; done && node < nodes; ++node) {
            done = made.add(fmt::format("{}-{}", stem, node));
            if (done) done = made.join(node);
        }
        return done;
    }();
    if (!all) return tl::unexpected(all.error());
    return made;
}

scenarios::Result<int> Namespaces::add(const std::string& name) {
    auto entry = journal_.note({UndoAction::Undo::delete_namespace, name});
    if (!entry) return tl::unexpected(entry.error());
    entries_.push_back(std::move(*entry));
    names_.push_back(name);
    return run({"ip", "netns", "add", name});
}

scenarios::Result<int> Namespaces::join(int node) {
    const std::string own = of(node), port = fmt::format("port{}", node);
    const std::vector<std::vector<std::string>> steps = {
        {"ip", "-n", own, "link", "add", interface, "type", "veth", "peer", "name", port, "netns",
         names_.front()},
        {"ip", "-n", names_.front(), "link", "set", port, "master", "bridge", "up"},
        {"ip", "-n", own, "link", "set", "lo", "up"},
        {"ip", "-n", own, "addr", "add", address(node) + "/24", "dev", interface},
        {"ip", "-n", own, "link", "set", interface, "up"},
        {"ip", "netns", "exec", own, program("nft"), "add", "table", "inet", "deadrank"}};
    for (const auto& step : steps) {
        if (auto done = run(step); !done) return done;
    }
    return 0;
}

// What could not be deleted stays in the journal, for `deadrank undo`.
Namespaces::~Namespaces() {
    for (; !names_.empty(); names_.pop_back(), entries_.pop_back()) {
        const Undone undone = revert({UndoAction::Undo::delete_namespace, names_.back()});
        if (!undone.done) entries_.back().leave();
    }
}

std::vector<std::string> Namespaces::inside(int node, std::vector<std::string> command) const {
    command.insert(command.begin(), {program("ip"), "netns", "exec", of(node)});
    return command;
}

std::string Namespaces::places_of_ranks(const inject::Levers& levers) const {
    nlohmann::json of_rank = nlohmann::json::object();
    for (inject::Rank rank = 0; rank < levers.ranks(); ++rank) {
        const int node = levers.node_of(rank);
        of_rank[std::to_string(rank)] = {{"namespace", of(node)}, {"port", fmt::format("port{}", node)}};
    }
    return nlohmann::json{
        {"of_rank", of_rank}, {"bridge", names_.front()}, {"ip", program("ip")}, {"nft", program("nft")}}
        .dump();
}

// ── A network that only its processes can see, and that ends with the last of them: nothing to undo. The
// user stays the same inside, where the capability is kept that turns loopback on.

namespace {

std::vector<std::string> loopback_words() {
    return {program("unshare"),
            "--user",
            "--map-current-user",
            "--keep-caps",
            "--net",
            "sh",
            "-c",
            program("ip") + " link set lo up && exec \"$@\"",
            "sh"};
}

bool loopback_can_be_alone() {
    if (program("unshare").empty() || program("ip").empty()) return false;
    std::vector<std::string> command = loopback_words();
    command.push_back(program("true"));
    const auto answer = results::processes::run_bounded(command, {.time = std::chrono::seconds(20)});
    return answer && answer->well();
}

}  // namespace

std::vector<std::string> on_loopback_alone(std::vector<std::string> command) {
    static const bool can = loopback_can_be_alone();
    if (!can) return command;
    const std::vector<std::string> words = loopback_words();
    command.insert(command.begin(), words.begin(), words.end());
    return command;
}

// ── A socket bound on all interfaces, closed at the end.

namespace {

sockaddr_in address_of(in_addr_t host, int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(host);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

int tcp_socket() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }

}  // namespace

TakenPort::TakenPort(int port, bool mute) : descriptor_(tcp_socket()) {
    const sockaddr_in address = address_of(INADDR_ANY, port);
    taken_ = bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    if (mute) taken_ = taken_ && listen(descriptor_, 64) == 0;
}

TakenPort::~TakenPort() { close(descriptor_); }

int TakenPort::any_free() {
    const int descriptor = tcp_socket();
    sockaddr_in address = address_of(INADDR_LOOPBACK, 0);
    socklen_t length = sizeof(address);
    const bool bound = bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                       getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0;
    close(descriptor);
    return bound ? ntohs(address.sin_port) : 0;
}

}  // namespace deadrank::runners

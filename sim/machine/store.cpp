// sim/machine/store.cpp — Listening, connecting, and the keys. Texts: TCPStore of torch 2.11; the client does
// not keep its time-out to the letter when it cannot connect, which was measured and is kept.
#include "sim/machine/store.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "sim/machine/machine.h"
#include "sim/machine/store_client.h"

namespace deadrank::sim {

Stores::Stores(Machine& machine) : machine_(machine) {}
Stores::~Stores() = default;

namespace {

constexpr Time loopback{50'000};
constexpr Time retry{100'000'000};
constexpr Time last_pause{7'000'000'000}, last_pause_without_route{3'000'000'000},
    last_pause_without_name{10'000'000'000};

int parse_port(std::string_view text) {
    int port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw RankFailure(fmt::format("ValueError: invalid literal for int() with base 10: '{}'", text));
    }
    return port;
}

std::string round_prefix(std::string_view run_id, std::string_view restart_count) {
    return fmt::format("/{}/attempt_{}/", run_id, restart_count);
}

int torch_major(const Machine& machine, const Process& process) {
    const std::string version = machine.environment.version(process, "torch");
    return version.empty() ? 2 : static_cast<int>(lax_integer(version));
}

[[noreturn]] void refuse_operation(std::string what) {
    throw LibraryError(Code::system_error, "torch.distributed.DistNetworkError: " + std::move(what));
}

[[noreturn]] void timed_out(std::string_view host, int port, Time timeout) {
    throw LibraryError(
        Code::timeout,
        fmt::format("torch.distributed.DistNetworkError: The client socket has timed out after {}ms "
                    "while trying to connect to ({}, {}).",
                    timeout.count() / 1'000'000, host, port));
}

}  // namespace

Stores::Server* Stores::listening(int node, int port) const {
    for (const auto& server : servers_) {
        if (server->alive && server->node == node && server->port == port) return server.get();
    }
    return nullptr;
}

void Stores::listen(Process& process, int port, bool own) {
    Server* before = listening(process.node, port);
    if (before && before->owner == process.id && before->left_by(process.id)) {
        if (machine_.settings.agent_keeps_store && !own) return;
        before->alive = false;
        before->wake(machine_.engine, {});
        before = nullptr;
    }
    if (taken_.contains({process.node, port}) || before) {
        refuse_operation(
            fmt::format("The server socket has failed to listen on any local network address. port: {}, "
                        "useIpv6: false, code: "
                        "-98, name: EADDRINUSE, message: address already in use",
                        port));
    }
    auto server = std::make_shared<Server>();
    server->owner = process.id;
    server->node = process.node;
    server->port = port;
    server->torch_major = torch_major(machine_, process);
    server->own = own;
    server->number = ++opened_;
    servers_.push_back(std::move(server));
    wake_connecting();
}

// An agent's outlives what ranks do with it, and so is found again, with all that is in it.
Stores::Server* Stores::found_by(const Process& process, int node, int port) const {
    Server* const there = listening(node, port);
    const bool kept =
        there && !there->own && (there->owner == results::no_rank || machine_.settings.agent_keeps_store);
    return there && !kept && there->left_by(process.id) ? nullptr : there;
}

void Stores::leave(const Process& process, Store& store) {
    for (const auto& client : clients_) {
        if (client.get() != &store) continue;
        client->server()->left.push_back(process.id);
        if (client->server()->file) leave_file(process, *client->server());
    }
}

// Hosted by nobody's process, so it outlives them all: as a lighthouse or a coordination service does.
void Stores::serve(int node, int port) {
    auto server = std::make_shared<Server>();
    server->owner = results::no_rank;
    server->node = node;
    server->port = port;
    server->number = ++opened_;
    servers_.push_back(std::move(server));
}

// Measured for a time-out of 10 s: 17 s when nothing listens, 13 s without a route, up to 21 s when the name
// does not resolve. What comes on top is the client's last pause between two tries: it does not grow with the
// time-out.
void Stores::no_route(Process& process, const std::string& name, int port, Time timeout) {
    machine_.engine.sleep(last_pause_without_route);  // the kernel's own patience
    machine_.recorder.log(process.id, 1,
                          fmt::format("[c10d] The client socket has failed to connect to [{}]:{} (errno: "
                                      "113 - No route to host).",
                                      name, port));
    machine_.engine.sleep(timeout);
    refuse_operation(
        fmt::format("The client socket has failed to connect to any network address of ({}, {}). The "
                    "client socket has "
                    "failed to connect to {}:{} (errno: 113 - No route to host).",
                    name, port, name, port));
}

void Stores::no_such_name(Process& process, const std::string& name, int port, Time timeout) {
    machine_.recorder.log(
        process.id, 1,
        fmt::format("The IPv6 network addresses of ({}, {}) cannot be retrieved (gai error: -2 - Name or "
                    "service not known).",
                    name, port));
    machine_.engine.sleep(timeout + last_pause_without_name);
    timed_out(name, port, timeout);
}

// Clients and servers of different major releases of torch do not understand each other.
void Stores::check_release(Process& process, const Server& server, const std::string& name, Time timeout) {
    const int mine = torch_major(machine_, process);
    if (mine == server.torch_major) return;
    if (mine < server.torch_major)
        throw LibraryError(Code::system_error, "RuntimeError: Connection reset by peer");
    refuse_operation(
        fmt::format("TCP client failed to connect/validate to host {}:{} - retrying (try=0, "
                    "timeout={}ms, delay=1000ms): "
                    "Connection reset by peer",
                    name, server.port, timeout.count() / 1'000'000));
}

Store& Stores::connect(Process& process, std::string_view endpoint, bool host, Time timeout, bool own) {
    if (process.armed) {
        Call call{.kind = CallKind::store, .name = "rendezvous"};
        machine_.gate.plain(process, call);
    }
    const auto colon = endpoint.rfind(':');
    const std::string name(endpoint.substr(0, colon));
    const int port = parse_port(colon == std::string_view::npos ? "" : endpoint.substr(colon + 1));
    if (host && (own || machine_.settings.store == StoreLife::rank)) listen(process, port, own);

    const NameTrouble trouble = trouble_with(process, name);
    const bool local = trouble == NameTrouble::loopback || name == "localhost" || name.starts_with("127.") ||
                       name == machine_.topology.host_name(process.node);
    const int node = local ? process.node : machine_.topology.node_named(name);
    if (trouble == NameTrouble::unroutable) no_route(process, name, port, timeout);
    if (trouble == NameTrouble::unresolvable || node < 0) no_such_name(process, name, port, timeout);
    const WaitNote note{.kind = WaitKind::store, .text = &name};
    const Hop hop = machine_.network.now(machine_.topology.hop({process.node, 0}, {node, 0}));
    const auto answers = [&] {
        return hop.bandwidth > 0 && trouble_of(process) != StoreTrouble::refuse &&
               found_by(process, node, port);
    };
    if (const auto taken = taken_.find({node, port}); taken != taken_.end()) {
        if (taken->second) machine_.wait(process, note, [] { return false; });
        throw LibraryError(Code::system_error, store_closed);
    }
    const Time given_up = machine_.engine.now() + timeout + last_pause;
    if (!answers()) connecting_.push_back(process.id);
    if (!machine_.wait_until(process, note, given_up, answers)) timed_out(name, port, timeout);
    const std::shared_ptr<Server> server = listening(node, port)->shared_from_this();
    // A client that came too early tries again after a while.
    machine_.engine.sleep(process.id == server->owner ? loopback : 2 * hop.latency + retry / 100);
    machine_.processes.settle(process);
    if (trouble_of(process) == StoreTrouble::mute)
        machine_.wait(process, note, [&] { return trouble_of(process) != StoreTrouble::mute; });
    if (trouble_of(process) == StoreTrouble::cut) throw LibraryError(Code::system_error, store_closed);
    check_release(process, *server, name, timeout);
    return new_client(process, server, own ? "" : prefix_of(process));
}

Store& Stores::new_client(Process& process, std::shared_ptr<Server> server, std::string prefix) {
    clients_.push_back(
        std::make_unique<StoreClient>(machine_, process, std::move(server), std::move(prefix)));
    return *clients_.back();
}

void Stores::wake_connecting() {
    for (const Rank rank : std::exchange(connecting_, {})) machine_.engine.wake(static_cast<ActorId>(rank));
}

void Stores::process_gone(const Process& process) {
    if (!files_.empty()) close_files(process);
    const bool keeps = machine_.settings.agent_keeps_store && !process.lost;
    for (const auto& server : servers_) {
        if (keeps && !server->own) continue;
        if (server->owner == process.id && std::exchange(server->alive, false))
            server->wake(machine_.engine, {});
    }
}

void Stores::begin_attempt() {
    const bool keeps = machine_.settings.store != StoreLife::rank;
    std::erase_if(servers_, [&](const auto& server) { return !keeps || server->owner != results::no_rank; });
}

// As torch's agent does for its workers: a store that several rounds use keeps each one's keys apart.
std::string Stores::prefix_of(const Process& process) const {
    if (machine_.settings.store == StoreLife::rank) return {};
    const auto run = machine_.environment.get(process, "TORCHELASTIC_RUN_ID");
    const auto count = machine_.environment.get(process, "TORCHELASTIC_RESTART_COUNT");
    return round_prefix(run.value_or(machine_.settings.run_id), count.value_or("0"));
}

int Stores::kept_port() const {
    const auto port = machine_.environment.get(machine_.processes.all().front(), "MASTER_PORT");
    return static_cast<int>(lax_integer(port.value_or("29500")));
}

void Stores::open_kept() {
    if (machine_.settings.store == StoreLife::rank || listening(0, kept_port())) return;
    serve(0, kept_port());
    servers_.back()->values = left_behind_;
}

void Stores::agents_gone() {
    if (machine_.settings.store != StoreLife::agent) return;
    node_lost(0);
    left_behind_.clear();
    open_kept();
}

void Stores::node_lost(int node) {
    if (machine_.settings.store != StoreLife::agent || node != 0) return;
    for (const auto& server : servers_) {
        if (server->owner == results::no_rank && std::exchange(server->alive, false))
            server->wake(machine_.engine, {});
    }
}

bool Stores::share(std::string_view run_id, std::int64_t came, std::int64_t expected) {
    if (machine_.settings.store == StoreLife::rank) return false;
    const std::string before = round_prefix(run_id, "0");
    left_behind_[before + "joined"] = std::to_string(came);
    left_behind_[before + "unique_id"] = "another job";
    if (came >= expected) left_behind_[before + "all_joined"] = "1";
    return true;
}

}  // namespace deadrank::sim

// sim/managed/channel.cpp — The socket between a rank's process and its proxy, and the pipes that it prints
// to.
#include "sim/managed/channel.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/managed/trouble.h"

namespace deadrank::sim::managed {

namespace {

constexpr std::size_t printed_max = 4 << 20;  // bytes of one pipe that become evidence
constexpr std::size_t line_max = 64 << 10;
constexpr std::size_t piece_max = 64 << 10;  // bytes of an answer in one packet
constexpr int pieces_at_once = 256;  // so that an endless output does not keep the limit from being seen
constexpr std::int64_t look_again_ms = 200;  // whether the run was interrupted
constexpr std::chrono::seconds stacks_longest{5};
constexpr int stacks_pause_ms = 500;
constexpr int lengthened_most = 9;  // times the limit, for a process that had no processor

[[noreturn]] void fail(std::string_view what) {
    throw HostTrouble(fmt::format("{}: {}", what, std::strerror(errno)),
                      "run it again; if it persists, report it with the program");
}

int stacks_signal() { return SIGRTMAX - 1; }  // launch.py, show_stacks_on_signal()

using Waits = std::map<std::string, std::chrono::milliseconds>;  // by the thread's directory in /proc

// Adds the time that each thread of the process and of its children was runnable without a processor. The
// kernel may not count it. Children count because the main thread may sleep while they work: Megatron-core
// writes its checkpoint in child processes. Threads count because autograd may run the backward pass in one.
void add_waits_for_processor(pid_t process, Waits& waits) {
    std::error_code gone;
    for (std::filesystem::directory_iterator one(fmt::format("/proc/{}/task", process), gone), end;
         !gone && one != end; one.increment(gone)) {
        std::int64_t ran = 0, waited = 0;
        if (std::ifstream file(one->path() / "schedstat"); file >> ran >> waited)
            waits[one->path().string()] =
                std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(waited));
        std::ifstream children(one->path() / "children");
        for (pid_t child = 0; children >> child;) add_waits_for_processor(child, waits);
    }
}

Waits waits_for_processor(pid_t process) {
    Waits waits;
    add_waits_for_processor(process, waits);
    return waits;
}

// The wait of the thread that waited longest between the two: a sum over idle threads that poll would never
// end.
std::chrono::milliseconds longest_wait(const Waits& before, const Waits& after) {
    std::chrono::milliseconds longest{0};
    for (const auto& [thread, waited] : after) {
        const auto then = before.find(thread);
        longest = std::max(longest, then == before.end() ? waited : waited - then->second);
    }
    return longest;
}

}  // namespace

Channel::Channel(Descriptor socket, Descriptor out, Descriptor err, Print print)
    : print_(std::move(print)) {
    pipes_[1].error = true;
    use(std::move(socket), std::move(out), std::move(err));
}

// A process that prints more than a pipe holds waits for a reader, so the pipes are read while the channel is
// waited for.
std::optional<Request> Channel::receive(std::chrono::milliseconds limit, const std::function<bool()>& stop,
                                        const Sender& sender) {
    static thread_local std::vector<char> buffer(
        message_max);  // of all ranks of a simulation, which share a thread
    auto deadline = std::chrono::steady_clock::now() + limit;
    std::optional<Waits> waited_before;  // asked only where the wait is long
    auto more = limit * lengthened_most;
    for (;;) {
        const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (size > 0) {
            for (Pipe& pipe : pipes_) drain(pipe);
            Request request{};
            if (static_cast<std::size_t>(size) < sizeof(RequestHead))
                throw HostTrouble("a rank sent a message without a head", "internal error: report it");
            std::memcpy(&request.head, buffer.data(), sizeof(RequestHead));
            request.body.assign(buffer.data() + sizeof(RequestHead),
                                static_cast<std::size_t>(size) - sizeof(RequestHead));
            if (request.body.size() != request.head.size)
                throw HostTrouble("a rank sent a message of another size than its head names",
                                  "internal error: report it");
            return request;
        }
        if (size == 0 || (size < 0 && errno == ECONNRESET)) return std::nullopt;
        if (errno != EAGAIN && errno != EINTR) fail("the channel of a rank broke");
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        if (stop && stop()) throw HostTrouble("interrupted", "");
        if (left.count() <= 0 && waited_before) {
            const Waits waited = waits_for_processor(sender.pid);
            const auto granted = std::min(longest_wait(*waited_before, waited), more);
            waited_before = waited;
            if (granted >= std::chrono::seconds(1)) {
                more -= granted;
                deadline += granted;
                continue;
            }
        }
        if (left.count() <= 0) {
            if (sender.pid > 0) print_stacks(sender.pid);
            throw HostTrouble(
                fmt::format("{} computed or waited for {} s without a call that the simulator sees",
                            sender.rank < 0 ? "a rank" : fmt::format("rank {}", sender.rank),
                            limit.count() / 1000),
                "its last output is its stacks; raise --real-limit if it needs so long; if it waits in a "
                "socket or a loop of its own, `deadrank watch` runs it in real time");
        }
        if (sender.pid > 0 && !waited_before && left < limit - std::chrono::milliseconds(look_again_ms))
            waited_before = waits_for_processor(sender.pid);
        std::array<pollfd, 3> ready{{{socket_.get(), POLLIN, 0},
                                     {pipes_[0].file.get(), POLLIN, 0},
                                     {pipes_[1].file.get(), POLLIN, 0}}};
        if (::poll(ready.data(), ready.size(),
                   static_cast<int>(std::min<std::int64_t>(left.count(), look_again_ms))) < 0 &&
            errno != EINTR)
            fail("cannot wait for a rank");
        for (std::size_t i = 0; i < pipes_.size(); ++i)
            if (ready[i + 1].revents != 0) drain(pipes_[i]);
    }
}

// A packet above some 200 KB does not fit into the socket of an ordinary user, so a long answer is several.
void Channel::reply(Status status, std::int64_t now, std::string_view body, std::uint16_t flags) {
    do {
        const std::string_view piece = body.substr(0, piece_max);
        body.remove_prefix(piece.size());
        const std::uint8_t more = body.empty() ? 0 : 1;
        const ReplyHead head{status, more, flags, static_cast<std::uint32_t>(piece.size()), now};
        std::string packet(sizeof head + piece.size(), '\0');
        std::memcpy(packet.data(), &head, sizeof head);
        std::memcpy(packet.data() + sizeof head, piece.data(), piece.size());
        while (::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
            if (errno == EPIPE || errno == ECONNRESET) return;
            if (errno != EINTR) fail("cannot answer a rank");
        }
    } while (!body.empty());
}

void Channel::request_copy(std::int64_t now, int socket, int out, int err, int arena) {
    reply(Status::fork, now, {});
    send_with(socket_.get(), "files", {socket, out, err, arena});  // a process that is gone: receive() tells
}

void Channel::open_debugger(std::int64_t now, std::string_view obstacle, int in, int out) {
    reply(Status::debug, now,
          nlohmann::json{{"obstacle", obstacle}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    send_with(socket_.get(), "files", {in, out});
}

void Channel::use(Descriptor socket, Descriptor out, Descriptor err) {
    socket_ = std::move(socket);
    pipes_[0].file = std::move(out);
    pipes_[1].file = std::move(err);
    for (Pipe& pipe : pipes_) ::fcntl(pipe.file.get(), F_SETFL, O_NONBLOCK);
}

void Channel::drain(Pipe& pipe) {
    char bytes[4096];
    for (int i = 0; i < pieces_at_once; ++i) {
        const ssize_t size = ::read(pipe.file.get(), bytes, sizeof bytes);
        if (size <= 0) {
            if (size == 0) pipe.file.close();  // poll() ignores a negative descriptor
            return;
        }
        pipe.begun.append(bytes, static_cast<std::size_t>(size));
        std::size_t begin = 0;
        for (std::size_t end; (end = pipe.begun.find('\n', begin)) != std::string::npos; begin = end + 1)
            print(pipe, std::string_view(pipe.begun).substr(begin, end - begin));
        pipe.begun.erase(0, begin);
        if (pipe.begun.size() > line_max) print(pipe, std::exchange(pipe.begun, {}));
    }
}

// The rank prints them to its stderr in the handler of the signal (`faulthandler`), which runs wherever it
// is.
void Channel::print_stacks(pid_t process) {
    if (::kill(process, stacks_signal()) != 0) return;
    const auto end = std::chrono::steady_clock::now() + stacks_longest;
    pollfd ready{pipes_[1].file.get(), POLLIN, 0};
    // A handler writes a line at a time, so a short pause is its end.
    while (std::chrono::steady_clock::now() < end && ::poll(&ready, 1, stacks_pause_ms) > 0 &&
           (ready.revents & POLLIN) != 0)
        drain(pipes_[1]);
}

void Channel::print(Pipe& pipe, std::string_view line) {
    if (pipe.cut) return;
    pipe.printed += line.size() + 1;
    if (pipe.printed > printed_max) {
        pipe.cut = true;
        return print_(pipe.error, "[deadrank: this rank printed more than 4 MB; the rest is left out]");
    }
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    print_(pipe.error, line);
}

void Channel::print_rest() {
    for (Pipe& pipe : pipes_) {
        for (int i = 0; pipe.file && i < 4; ++i) drain(pipe);  // a pipe holds less
        if (!pipe.begun.empty()) print(pipe, std::exchange(pipe.begun, {}));
    }
}

}  // namespace deadrank::sim::managed

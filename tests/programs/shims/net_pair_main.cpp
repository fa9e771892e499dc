// tests/programs/shims/net_pair_main.cpp — Two processes that send messages through a network plugin as
// NCCL's proxies do: rank 1 to rank 0. net_pair PLUGIN VERSION BYTES COUNT; a line says what became of each
// step.
#include <array>
#include <chrono>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "tests/programs/shims/net_wire.h"

namespace {

using deadrank::tests::Wire;
using Clock = std::chrono::steady_clock;

constexpr int stalled = -1;

// How long nothing may happen before a step counts as stalled: short only where a test expects it.
std::chrono::milliseconds patience() {
    const char* wanted = std::getenv("NET_PAIR_PATIENCE_MS");
    return std::chrono::milliseconds(wanted ? std::atoi(wanted) : 30'000);
}

// What `step` answers, until it is done, fails, or nothing has come of it for so long that nothing will.
template <class Step>
int until_done(Step step) {
    const auto begin = Clock::now();
    for (;;) {
        bool done = false;
        if (const int code = step(done); code != 0 || done) return code;
        if (Clock::now() - begin > patience()) return stalled;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

void say(const char* who, const std::string& what, int code, const std::string& more = "") {
    const std::string answer = code == stalled ? "stalled" : std::to_string(code);
    std::printf("%s %s %s%s\n", who, what.c_str(), answer.c_str(), more.c_str());
    std::fflush(stdout);
}

std::vector<unsigned char> message(std::size_t bytes, int index) {
    std::vector<unsigned char> content(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        content[i] = static_cast<unsigned char>(i * 7 + static_cast<unsigned>(index));
    return content;
}

std::string difference(const std::vector<unsigned char>& got, const std::vector<unsigned char>& wanted) {
    int bits = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) bits += __builtin_popcount(got[i] ^ wanted[i]);
    return " wrong_bits=" + std::to_string(bits);
}

std::string since(Clock::time_point begin) {
    return " ms=" + std::to_string(
                        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count());
}

int as_receiver(const Wire& wire, int out, std::size_t bytes, int count) {
    std::array<char, deadrank::inject::shims::net_handle_bytes> handle{};
    void *listener = nullptr, *connection = nullptr;
    const int listening = wire.listen(handle.data(), &listener);
    say("receiver", "listen", listening);
    if (write(out, handle.data(), handle.size()) < 0 || listening != 0) return 1;
    const int accepted = until_done([&](bool& done) {
        const int code = wire.accept(listener, &connection);
        done = connection != nullptr;
        return code;
    });
    say("receiver", "accept", accepted);
    if (accepted != 0) return 1;
    const auto begin = Clock::now();
    for (int i = 0; i < count; ++i) {
        std::vector<unsigned char> buffer(bytes);
        void *memory = nullptr, *request = nullptr;
        int size = 0;
        int code = wire.register_memory(connection, buffer.data(), bytes, &memory);
        if (code == 0) code = wire.receive(connection, buffer.data(), bytes, &request);
        if (code == 0) {
            code = until_done([&](bool& done) {
                int finished = 0;
                const int answer = wire.test(request, &finished, &size);
                done = finished != 0;
                return answer;
            });
        }
        say("receiver", "message", code,
            code == 0 ? " size=" + std::to_string(size) + difference(buffer, message(bytes, i)) + since(begin)
                      : "");
        if (code != 0) return 1;
    }
    wire.close_receive(connection);
    wire.close_listen(listener);
    return 0;
}

int as_sender(const Wire& wire, int in, std::size_t bytes, int count) {
    std::array<char, deadrank::inject::shims::net_handle_bytes> handle{};
    if (read(in, handle.data(), handle.size()) <= 0) return 1;
    void* connection = nullptr;
    const int connected = until_done([&](bool& done) {
        const int code = wire.connect(handle.data(), &connection);
        done = connection != nullptr;
        return code;
    });
    say("sender", "connect", connected);
    if (connected != 0) return 1;
    const auto begin = Clock::now();
    for (int i = 0; i < count; ++i) {
        std::vector<unsigned char> content = message(bytes, i);
        void *memory = nullptr, *request = nullptr;
        int code = wire.register_memory(connection, content.data(), bytes, &memory);
        if (code == 0) code = wire.send(connection, content.data(), bytes, &request);
        if (code == 0) {
            code = until_done([&](bool& done) {
                int finished = 0, size = 0;
                const int answer = wire.test(request, &finished, &size);
                done = finished != 0;
                return answer;
            });
        }
        say("sender", "message", code,
            code == 0 ? difference(content, message(bytes, i)) + since(begin) : "");
        if (code > 0) wire.close_send(connection);  // as NCCL does when its proxy fails
        if (code != 0) return 1;
    }
    char bye = 0;
    (void)!read(in, &bye, 1);  // closing early would look like a lost peer
    wire.close_send(connection);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: net_pair PLUGIN VERSION BYTES COUNT\n");
        return 64;
    }
    const auto bytes = static_cast<std::size_t>(std::atoll(argv[3]));
    const int count = std::atoi(argv[4]);
    int way[2];
    if (pipe(way) != 0) return 1;
    const pid_t child = fork();
    const bool receives = child == 0;
    setenv("DEADRANK_RANK", receives ? "0" : "1", 1);
    close(way[receives ? 0 : 1]);
    Wire wire;
    if (!deadrank::tests::load_wire(wire, argv[1], std::atoi(argv[2]))) return 1;
    if (receives) return as_receiver(wire, way[1], bytes, count);
    std::printf("plugin %s speed=%d\n", wire.name.c_str(), wire.speed);
    const int code = as_sender(wire, way[0], bytes, count);
    int status = 0;
    waitpid(child, &status, 0);
    return code != 0 || status != 0 ? 1 : 0;
}

// runners/serve/daemon.cpp — Children die with us even when we are killed: the kernel tells them
// (PR_SET_PDEATHSIG).
#include "runners/serve/daemon.h"

#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "results/external/program.h"
#include "runners/serve/http.h"

namespace deadrank::runners::serve {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

Result<std::unique_ptr<Daemon>> Daemon::start(const std::vector<std::string>& argv,
                                              const std::filesystem::path& log) {
    const std::string program = results::external::find_program(argv[0]);
    if (program.empty())
        return refuse(ErrorCode::environment, "there is no '" + argv[0] + "' on this machine");
    std::vector<std::string> texts = argv;
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    const std::string log_name = log.string();
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0)
        return refuse(ErrorCode::environment,
                      "cannot start '" + argv[0] + "': " + std::string(strerror(errno)));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(127);
        const int out = open(log_name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        dup2(out, 1);
        dup2(out, 2);
        execv(program.c_str(), pointers.data());
        _exit(127);
    }
    return std::unique_ptr<Daemon>(new Daemon(child, log));
}

Daemon::~Daemon() {
    if (child_ <= 0) return;
    kill(child_, SIGTERM);
    for (int i = 0; i < 100; ++i) {
        if (waitpid(child_, nullptr, WNOHANG) == child_) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
}

bool Daemon::alive() {
    if (child_ <= 0 || waitpid(child_, nullptr, WNOHANG) != child_) return child_ > 0;
    child_ = -1;
    return false;
}

double Daemon::cpu_seconds() const {
    std::ifstream stat(fmt::format("/proc/{}/stat", child_));
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    std::istringstream fields(text.substr(std::min(text.rfind(')') + 2, text.size())));
    std::string skipped;
    double user = 0, system = 0;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Result<void> Daemon::await(int port, const std::string& path, int seconds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (std::chrono::steady_clock::now() < deadline && alive()) {
        auto answer = ask(port, {"GET", path, ""}, {}, 5);
        if (answer && answer->status == 200) return {};
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    std::ifstream log(log_);
    const std::string text((std::istreambuf_iterator<char>(log)), {});
    return refuse(ErrorCode::environment,
                  fmt::format("the server on port {} did not come up: {}", port,
                              text.substr(text.size() > 400 ? text.size() - 400 : 0)));
}

int free_port() {
    const int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    int port = 0;
    if (bind(door, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
        getsockname(door, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
        port = ntohs(address.sin_port);
    }
    close(door);
    return port;
}

}  // namespace deadrank::runners::serve

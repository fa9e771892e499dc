// runners/preflight/probe.cpp — Reads /proc, asks the loader and Python for versions in processes of their
// own, so that a library that crashes costs its version and nothing else.
#include "runners/preflight/probe.h"

#include <arpa/inet.h>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <netdb.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "results/external/bounded.h"
#include "runners/preflight/interfaces.h"
#include "runners/preflight/libraries.h"

namespace deadrank::runners {

namespace {

namespace fs = std::filesystem;
using results::preflight::Snapshot;

std::string contents(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

scenarios::Result<void> read_environment(int pid, Snapshot& snapshot) {
    const fs::path file = fmt::format("/proc/{}/environ", pid == 0 ? "self" : std::to_string(pid));
    std::ifstream in(file, std::ios::binary);
    if (!in) {
        return scenarios::refuse(scenarios::ErrorCode::environment,
                                 fmt::format("the environment of process {} cannot be read", pid),
                                 "name a process that runs and is yours, or be root");
    }
    for (std::string entry; std::getline(in, entry, '\0');) {
        const std::size_t equals = entry.find('=');
        if (equals != std::string::npos && equals > 0)
            snapshot.environment[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    return {};
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  …": the first word with two dots.
std::string driver_version() {
    const std::string text = contents("/proc/driver/nvidia/version");
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(" \n\t", at), text.size());
        const std::string word = text.substr(at, end - at);
        if (std::count(word.begin(), word.end(), '.') >= 1 &&
            std::isdigit(static_cast<unsigned char>(word[0])))
            return word;
        at = end + 1;
    }
    return {};
}

void read_driver(Snapshot& snapshot) {
    if (const std::string driver = driver_version(); !driver.empty()) snapshot.versions["driver"] = driver;
    std::error_code none;
    const fs::directory_iterator devices("/proc/driver/nvidia/gpus", none);
    if (!none) snapshot.gpus = std::distance(devices, fs::directory_iterator());
}

// Packages as that Python would find them, PYTHONPATH and virtual environment included.
constexpr const char* packages_script =
    "import importlib.metadata as m, json, platform\n"
    "found = {'python': platform.python_version()}\n"
    "for name in ('torch', 'deepspeed', 'megatron-core', 'colossalai', 'transformers', 'accelerate',\n"
    "             'nvidia-nccl-cu12', 'nvidia-nccl-cu13', 'triton', 'flash-attn', 'transformer-engine'):\n"
    "    try: found[name] = m.version(name)\n"
    "    except m.PackageNotFoundError: pass\n"
    "print(json.dumps(found))\n";

void read_packages(const ProbeOptions& options, Snapshot& snapshot) {
    std::string python = options.python;
    if (python.empty()) {
        const char* stated = std::getenv("DEADRANK_PYTHON");
        python = stated ? stated : "python3";
    }
    std::vector<std::string> environment;
    for (const char* name : {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}) {
        if (snapshot.has(name)) environment.push_back(fmt::format("{}={}", name, snapshot.variable(name)));
    }
    const auto answer = results::external::run_bounded({python, "-c", packages_script},
                                                       {.time = std::chrono::seconds(20)}, {}, environment);
    if (!answer || !answer->well()) return;
    const auto json = nlohmann::json::parse(answer->out, nullptr, false);
    if (!json.is_object()) return;
    for (const auto& [name, version] : json.items()) {
        if (version.is_string()) snapshot.versions[name] = version.get<std::string>();
    }
}

void read_limits(Snapshot& snapshot) {
    struct statvfs shared {};
    if (statvfs("/dev/shm", &shared) == 0)
        snapshot.shared_memory = static_cast<std::int64_t>(shared.f_bavail * shared.f_frsize);
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
        snapshot.open_files = static_cast<std::int64_t>(files.rlim_cur);
}

bool can_listen(int port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return true;  // not asked; no reason to complain
    const int reuse = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return free;
}

// The port is asked for by the rank that will listen on it, and only where no launcher listens there already.
void read_master(Snapshot& snapshot) {
    const std::string master(snapshot.variable("MASTER_ADDR"));
    if (!master.empty()) {
        addrinfo* found = nullptr;
        const int code = getaddrinfo(master.c_str(), nullptr, nullptr, &found);
        if (found) freeaddrinfo(found);
        snapshot.master_resolves = code == 0;
    }
    const std::string_view text = snapshot.variable("MASTER_PORT");
    int port = 0;
    std::from_chars(text.data(), text.data() + text.size(), port);
    const bool listens = snapshot.variable("RANK") == "0" && snapshot.pid == getpid();
    if (listens && port > 0 && port < 65536 && snapshot.variable("TORCHELASTIC_USE_AGENT_STORE") != "True")
        snapshot.master_port_taken = !can_listen(port);
}

}  // namespace

scenarios::Result<Snapshot> take_snapshot(const ProbeOptions& options) {
    Snapshot snapshot;
    snapshot.pid = options.pid == 0 ? getpid() : options.pid;
    if (auto read = read_environment(options.pid, snapshot); !read) return tl::unexpected(read.error());
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    snapshot.host = host;
    snapshot.interfaces = interfaces_here();
    read_driver(snapshot);
    read_library_versions(snapshot);
    if (options.ask_packages) read_packages(options, snapshot);
    read_limits(snapshot);
    read_master(snapshot);
    return snapshot;
}

}  // namespace deadrank::runners

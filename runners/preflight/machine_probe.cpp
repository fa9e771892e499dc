// runners/preflight/machine_probe.cpp — Asks this machine what a job would find: interfaces, ports,
// libraries, limits.
#include "runners/preflight/machine_probe.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fstream>
#include <ifaddrs.h>
#include <iterator>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "results/processes/bounded.h"
#include "scenarios/model/document.h"

namespace deadrank::runners {

// ── Starts our own program as `deadrank doctor --libraries` with the examined process's environment, since
// LD_LIBRARY_PATH is read only when a process starts.

namespace {

// Calls a library's function that writes its version into an int and returns 0.
std::optional<int> version_from(const char* library, const char* function) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return std::nullopt;
    const auto version = reinterpret_cast<int (*)(int*)>(dlsym(handle, function));
    int number = 0;
    if (!version || version(&number) != 0) return std::nullopt;
    return number;
}

// 22809 is 2.28.9; before 2.9 it was 2804 for 2.8.4.
std::string nccl_text(int code) {
    if (code < 10'000) return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
    return fmt::format("{}.{}.{}", code / 10'000, code / 100 % 100, code % 100);
}

}  // namespace

std::string library_versions() {
    nlohmann::ordered_json found = nlohmann::ordered_json::object();
    if (const auto nccl = version_from("libnccl.so.2", "ncclGetVersion")) found["nccl"] = nccl_text(*nccl);
    for (const char* runtime : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"}) {
        if (const auto cuda = version_from(runtime, "cudaRuntimeGetVersion")) {
            found["cuda"] = fmt::format("{}.{}", *cuda / 1000, *cuda / 10 % 100);
            break;
        }
    }
    return found.dump();
}

void read_library_versions(results::preflight::Snapshot& snapshot) {
    std::vector<std::string> environment;
    for (const char* name : {"LD_LIBRARY_PATH", "LD_PRELOAD"}) {
        if (snapshot.has(name)) environment.push_back(fmt::format("{}={}", name, snapshot.variable(name)));
    }
    const auto answer = results::processes::run_bounded({"/proc/self/exe", "doctor", "--libraries"},
                                                        {.time = std::chrono::seconds(10)}, {}, environment);
    if (!answer || !answer->well()) return;
    const auto json = nlohmann::json::parse(answer->out, nullptr, false);
    if (!json.is_object()) return;
    for (const auto& [name, version] : json.items()) {
        if (version.is_string()) snapshot.versions[name] = version.get<std::string>();
    }
}

// getifaddrs has one entry per address; each interface is listed once here.
std::vector<results::preflight::Interface> interfaces_here() {
    std::vector<results::preflight::Interface> all;
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return all;
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(first, freeifaddrs);
    for (const ifaddrs* at = first; at; at = at->ifa_next) {
        const auto same = [&](const auto& known) { return known.name == at->ifa_name; };
        auto found = std::find_if(all.begin(), all.end(), same);
        if (found == all.end()) {
            found = all.insert(all.end(), {.name = at->ifa_name,
                                           .up = (at->ifa_flags & IFF_UP) != 0,
                                           .loopback = (at->ifa_flags & IFF_LOOPBACK) != 0,
                                           .address = false});
        }
        const int family = at->ifa_addr ? at->ifa_addr->sa_family : AF_UNSPEC;
        found->address = found->address || family == AF_INET || family == AF_INET6;
    }
    return all;
}

// ── Reads /proc; asks the loader and Python for versions in child processes, so that a library that crashes
// only loses its version.

namespace {

namespace fs = std::filesystem;
using results::preflight::Snapshot;

std::string contents(const fs::path& file) { return scenarios::read_text(file).value_or(""); }

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

// Packages as that Python finds them, with PYTHONPATH and virtual environment.
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
    const auto answer = results::processes::run_bounded({python, "-c", packages_script},
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
    if (socket < 0) return true;  // unknown is no reason to complain
    const int reuse = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return free;
}

// Only the rank that will listen on the port tests it, and only if no launcher listens there already.
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

// inject/standin/nccl/standin_job.cpp — The job that a process of the drop-in belongs to, and NCCL's log.
#include "inject/standin/nccl/standin_job.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <spawn.h>
#include <string_view>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/standin/device/standin_memory.h"
#include "inject/standin/exchange/member.h"

namespace deadrank::inject::standin {

// ── host:pid:thread [device] NCCL LEVEL text.

namespace {

std::string host() {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    return name;
}

int level() {
    const char* said = std::getenv("NCCL_DEBUG");
    const std::string name(said ? said : "");
    return name == "TRACE" || name == "INFO" ? 3 : name == "WARN" ? 2 : name == "VERSION" ? 1 : 0;
}

int output() {
    const char* said = std::getenv("NCCL_DEBUG_FILE");
    if (!said) return STDOUT_FILENO;
    std::string path;
    for (const char* at = said; *at; ++at) {
        if (*at != '%' || !at[1])
            path += *at;
        else if (*++at == 'h')
            path += host();
        else if (*at == 'p')
            path += std::to_string(getpid());
        else
            path += *at;
    }
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return file < 0 ? STDOUT_FILENO : file;
}

void write_line(int least, std::string_view word, std::string_view text) {
    static const int wanted = level();
    if (wanted < least) return;
    static const int file = output();
    const std::string line = fmt::format("{}:{}:{} [{}] NCCL {} {}\n", host(), getpid(), syscall(SYS_gettid),
                                         Devices::of_this_process().current(), word, text);
    (void)!write(file, line.data(), line.size());
}

// Never torn down: threads of streams may still speak while the process ends.
struct Last {
    std::mutex mutex;
    std::string text;
};
Last& last() {
    static Last& one = *new Last;
    return one;
}

}  // namespace

void write_warning(std::string_view text) {
    {
        const std::lock_guard lock(last().mutex);
        last().text = text;
    }
    write_line(2, "WARN", text);
}

void write_info(std::string_view text) { write_line(3, "INFO", text); }

const char* last_warning() {
    static thread_local std::string copy;
    const std::lock_guard lock(last().mutex);
    copy = last().text;
    return copy.c_str();
}

// ── The coordinator lies beside this library. It is no rank's child: it outlives the rank that started it
// for as long as another one is connected.

namespace {

constexpr std::string_view magic = "deadrank";

std::string own_directory() {
    Dl_info self{};
    if (!dladdr(reinterpret_cast<void*>(&begin_job), &self)) return "./";
    const std::string path(self.dli_fname);
    return path.substr(0, path.rfind('/') + 1);
}

// Passes on the listening socket and no variable, such as LD_PRELOAD. The coordinator closes the other files.
bool start_coordinator(const Socket& listener) {
    std::string program = own_directory() + "deadrank_coordinator";
    std::string handle = "3", seed = std::getenv("DEADRANK_SEED") ? std::getenv("DEADRANK_SEED") : "0";
    char* arguments[] = {program.data(), handle.data(), seed.data(), nullptr};
    char* environment[] = {nullptr};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_adddup2(&files, listener.handle(), 3);
    for (const int standard : {0, 1, 2})
        posix_spawn_file_actions_addopen(&files, standard, "/dev/null", 2, 0);
    pid_t child = 0;
    const int trouble = posix_spawn(&child, program.c_str(), &files, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (trouble != 0) {
        warn("cannot start {}: {}", program, std::strerror(trouble));
        return false;
    }
    int status = 0;  // it goes on as a process of its own
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return true;
}

}  // namespace

std::optional<ncclUniqueId> begin_job() {
    std::uint64_t chance[2] = {};
    (void)!getrandom(chance, sizeof chance, 0);
    const std::string address = fmt::format("deadrank-{:016x}{:016x}", chance[0], chance[1]);
    const Socket listener = listen_at(address);
    Socket keeper = listener ? connect_to(address) : Socket();
    if (!keeper || !start_coordinator(listener)) return std::nullopt;
    (void)keeper.release();  // until this process ends, the job may still be joined
    ncclUniqueId id{};
    std::memcpy(id.internal, magic.data(), magic.size());
    std::memcpy(id.internal + magic.size(), address.data(), address.size());
    return id;
}

std::string address_of(const ncclUniqueId& id) {
    const std::string_view text(id.internal, strnlen(id.internal, sizeof id.internal));
    return text.starts_with(magic) ? std::string(text.substr(magic.size())) : std::string();
}

std::uint64_t host_of_this_process() {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    const char* said = std::getenv("NCCL_HOSTID");
    std::uint64_t hash = 1469598103934665603U;
    for (const char letter : std::string_view(said ? said : name)) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211U;
    }
    return hash;
}

}  // namespace deadrank::inject::standin

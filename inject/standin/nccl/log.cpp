// inject/standin/nccl/log.cpp — host:pid:thread [device] NCCL LEVEL text.
#include "inject/standin/nccl/log.h"

#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/standin/device/devices.h"

namespace deadrank::standin {

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

}  // namespace deadrank::standin

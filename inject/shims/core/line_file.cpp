// inject/shims/core/line_file.cpp — Trouble with the file is said once on stderr and never stops the rank.
#include "inject/shims/core/line_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace deadrank::inject::shims {

LineFile::~LineFile() {
    if (file_ >= 0) ::close(file_);
}

bool LineFile::ready() {
    if (file_ >= 0) return true;
    if (file_ == -2 || path_.empty()) return false;
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file_ >= 0) return true;
    std::fprintf(stderr, "deadrank: cannot write %s: %s\n", path_.c_str(), std::strerror(errno));
    file_ = -2;
    return false;
}

bool LineFile::empty() {
    const std::lock_guard lock(guard_);
    struct stat seen {};
    return !ready() || ::fstat(file_, &seen) != 0 || seen.st_size == 0;
}

void LineFile::write(const Line& line) {
    if (!open()) return;
    const std::lock_guard lock(guard_);
    if (!ready()) return;
    const std::string text = (torn_ ? "\n" : "") + line.text();
    const ssize_t written = ::write(file_, text.data(), text.size());
    torn_ = written > 0 && static_cast<std::size_t>(written) < text.size();
}

}  // namespace deadrank::inject::shims

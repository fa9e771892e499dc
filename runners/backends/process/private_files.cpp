// runners/backends/process/private_files.cpp — overlayfs over each directory. An ordinary user may mount it in a
// namespace of users of her own (Linux 5.11 and later).
#include "runners/backends/process/private_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <sys/mount.h>
#include <unistd.h>

#include "results/processes/child.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

constexpr const char* needs =
    "it needs overlayfs, and the right to make namespaces (in a container: --privileged)";

Result<void> refuse_private(const std::string& what) {
    return refuse(ErrorCode::unsupported,
                  fmt::format("runs cannot have private files here: {}: {}", what, std::strerror(errno)), needs);
}

bool write_to(const char* file, const std::string& text) {
    const int descriptor = ::open(file, O_WRONLY | O_CLOEXEC);
    const bool written =
        descriptor >= 0 && ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (descriptor >= 0) ::close(descriptor);
    return written;
}

// Root needs no namespace of users, in which files of others would belong to nobody.
Result<void> leave_mounts() {
    if (::unshare(CLONE_NEWNS) == 0) return {};
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (::unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0) return refuse_private("no namespace of mounts");
    if (!write_to("/proc/self/setgroups", "deny") ||
        !write_to("/proc/self/uid_map", fmt::format("{0} {0} 1", user)) ||
        !write_to("/proc/self/gid_map", fmt::format("{0} {0} 1", group)))
        return refuse_private("no namespace of users");
    return {};
}

bool lies_in(const fs::path& inner, const fs::path& outer) {
    const fs::path relative = inner.lexically_relative(outer);
    return !relative.empty() && *relative.begin() != "..";
}

// Absolute, without those that lie in another.
std::vector<fs::path> outermost(const std::vector<fs::path>& directories) {
    std::vector<fs::path> real, kept;
    for (const fs::path& one : directories) {
        std::error_code none;
        if (const fs::path path = fs::canonical(one, none); !none) real.push_back(path);
    }
    std::sort(real.begin(), real.end());
    for (const fs::path& one : real)
        if (kept.empty() || !lies_in(one, kept.back())) kept.push_back(one);
    return kept;
}

// A file system that is mounted in it would not be seen.
bool holds_mounts(const fs::path& path) {
    std::ifstream list("/proc/self/mountinfo");
    for (std::string line; std::getline(list, line);) {
        std::istringstream words(line);
        std::string at;
        for (int i = 0; i < 5; ++i) words >> at;
        if (at != path && lies_in(at, path)) return true;
    }
    return false;
}

// overlayfs reads a comma and a colon as its own.
bool is_mountable(const fs::path& path) {
    return path.native().find_first_of(",:\\\n") == std::string::npos && path != "/";
}

}  // namespace

Result<void> make_files_private(std::vector<fs::path> directories, const fs::path& layers) {
    directories = outermost(directories);
    for (const fs::path& one : directories) {
        errno = EINVAL;
        if (!is_mountable(one) || holds_mounts(one)) return refuse_private("no layer can lie over " + one.string());
    }
    if (auto left = leave_mounts(); !left) return left;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return refuse_private("mounts cannot be made private");
    if (::mount("deadrank", layers.c_str(), "tmpfs", 0, "mode=700") != 0)
        return refuse_private("no memory as a file system");
    char before[4096];
    const bool has_directory = ::getcwd(before, sizeof before) != nullptr;
    for (std::size_t i = 0; i < directories.size(); ++i) {
        const fs::path upper = layers / fmt::format("upper{}", i), work = layers / fmt::format("work{}", i);
        std::error_code trouble;
        fs::create_directory(upper, trouble);
        fs::create_directory(work, trouble);
        const std::string options = fmt::format("lowerdir={},upperdir={},workdir={}", directories[i].string(),
                                                upper.string(), work.string());
        if (::mount("deadrank", directories[i].c_str(), "overlay", 0, options.c_str()) != 0)
            return refuse_private("no layer over " + directories[i].string());
    }
    // The working directory is still the one below the layer.
    if (has_directory && ::chdir(before) != 0) return refuse_private("the working directory is not there");
    return {};
}

Result<void> try_private_files(const std::vector<fs::path>& directories, const fs::path& layers) {
    auto child = results::processes::Child::fork([&](int output) {
        const auto made = make_files_private(directories, layers);
        const std::string says = made ? "" : made.error().what;
        return ::write(output, says.data(), says.size()) < 0 ? 1 : 0;
    });
    if (!child) return refuse_private("no process");
    std::string says;
    while (child->output.descriptor() >= 0) child->output.read(says);
    if (says.empty() && child->wait().well()) return {};
    return refuse(ErrorCode::unsupported, says.empty() ? "the attempt to have private files crashed" : says,
                  needs);
}

}  // namespace deadrank::runners

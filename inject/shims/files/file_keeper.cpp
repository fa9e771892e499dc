// inject/shims/files/file_keeper.cpp — Processes of a job take turns at the list by a lock on it, which ends
// with its holder. A copy is whole before its line is written, and the line before the change: whenever a
// process is killed, each path is either unchanged or on the list.
#include "inject/shims/files/file_keeper.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "inject/shims/core/call_lines.h"
#include "inject/shims/core/session.h"

namespace deadrank::inject::shims {

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

std::string resolved(const std::string& path) {
    char whole[PATH_MAX];
    return ::realpath(path.c_str(), whole) ? whole : "";
}

struct File {
    explicit File(int number) : descriptor(number) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (descriptor >= 0) ::close(descriptor);
    }
    const int descriptor;
};

// Nothing where it is a pipe, a device and the like.
std::optional<Kept> state_of(const std::string& path) {
    Kept kept;
    kept.path = path;
    struct stat seen {};
    if (::lstat(path.c_str(), &seen) != 0) return kept;
    if (!S_ISREG(seen.st_mode) && !S_ISLNK(seen.st_mode) && !S_ISDIR(seen.st_mode)) return std::nullopt;
    kept.mode = seen.st_mode & 07777;
    kept.written = std::int64_t{seen.st_mtim.tv_sec} * 1'000'000'000 + seen.st_mtim.tv_nsec;
    kept.device = seen.st_dev;
    kept.inode = seen.st_ino;
    if (S_ISLNK(seen.st_mode)) {
        char target[PATH_MAX];
        const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
        kept.what = Kept::What::link;
        kept.copy.assign(target, length > 0 ? static_cast<std::size_t>(length) : 0);
    } else {
        kept.what = S_ISDIR(seen.st_mode) ? Kept::What::directory : Kept::What::file;
    }
    return kept;
}

// Nanoseconds since 1970, -1 where the file system does not say. An empty path: the descriptor's file.
std::int64_t born(int descriptor, const char* path) {
    struct statx seen {};
    const int how = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
    if (::statx(descriptor, path, how, STATX_BTIME, &seen) != 0 || (seen.stx_mask & STATX_BTIME) == 0)
        return -1;
    return std::int64_t{seen.stx_btime.tv_sec} * 1'000'000'000 + seen.stx_btime.tv_nsec;
}

// 0 or the errno.
int copy_to(const std::string& directory, Kept& kept) {
    const std::string whole = directory + "/" + kept.copy, part = whole + ".part";
    const File from(::open(kept.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (from.descriptor < 0) return errno;
    const File to(::open(part.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (to.descriptor < 0) return errno;
    int trouble = copy_content(from.descriptor, to.descriptor, kept.digest);
    if (trouble == 0 && ::fdatasync(to.descriptor) != 0) trouble = errno;
    if (trouble == 0 && ::rename(part.c_str(), whole.c_str()) != 0) trouble = errno;
    if (trouble != 0) ::unlink(part.c_str());
    return trouble;
}

void names_below(const std::string& directory, const std::string& below, std::vector<std::string>& names) {
    const File file(::open((directory + below).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    DIR* open = file.descriptor < 0 ? nullptr : ::fdopendir(::dup(file.descriptor));
    if (!open) return;
    while (const dirent* entry = ::readdir(open)) {
        const std::string name = entry->d_name;
        if (name == "." || name == "..") continue;
        const std::string whole = below + "/" + name;
        names.push_back(whole);
        names_below(directory, whole, names);
    }
    ::closedir(open);
}

// Other names of the same file, as far as they lie in the same directory.
std::vector<std::string> names_beside(const Kept& kept) {
    std::vector<std::string> names;
    struct stat seen {};
    if (::lstat(kept.path.c_str(), &seen) != 0 || seen.st_nlink < 2) return names;
    const std::string above = kept.path.substr(0, kept.path.rfind('/') + 1);
    DIR* open = ::opendir(above.c_str());
    if (!open) return names;
    while (const dirent* entry = ::readdir(open)) {
        const std::string whole = above + entry->d_name;
        if (entry->d_ino == kept.inode && whole != kept.path) names.push_back(whole);
    }
    ::closedir(open);
    return names;
}

std::mutex* forked = nullptr;  // a child must not find it locked by a thread that it has not

}  // namespace

namespace {

bool& is_wanted() {
    static bool wanted = !variable("DEADRANK_KEPT").empty();
    return wanted;
}

}  // namespace

bool Keeper::on() { return is_wanted(); }

void Keeper::begin() { is_wanted() = !variable("DEADRANK_KEPT").empty(); }

Keeper& Keeper::here() {
    static Keeper* const one = [] {
        const Inside guard;
        return new Keeper;
    }();
    return *one;
}

Keeper::Keeper() : directory_(resolved(variable("DEADRANK_KEPT"))) {
    std::string evidence = variable("DEADRANK_EVIDENCE");
    while (evidence.ends_with('/')) evidence.pop_back();
    run_ = resolved(evidence.substr(0, evidence.rfind('/')));
    temporary_ = resolved(variable("DEADRANK_TEMPORARY"));
    cache_ = resolved(variable("XDG_CACHE_HOME"));
    if (directory_.empty()) return;
    const File alive(::open((directory_ + "/" + kept_alive).c_str(), O_RDWR | O_CLOEXEC));
    void* seen = alive.descriptor < 0 ? MAP_FAILED
                                      : ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE,
                                               MAP_SHARED, alive.descriptor, 0);
    if (seen != MAP_FAILED) alive_ = static_cast<std::int64_t*>(seen);
    forked = &guard_;
    ::pthread_atfork([] { forked->lock(); }, [] { forked->unlock(); }, [] { forked->unlock(); });
}

void Keeper::beat() {
    if (alive_) std::atomic_ref(*alive_).store(now(), std::memory_order_relaxed);
}

bool Keeper::passes(const std::string& path) const {
    const auto below = [&](std::string_view above) {
        return !above.empty() && path.starts_with(above) &&
               (path.size() == above.size() || path[above.size()] == '/');
    };
    if (directory_.empty() || path.empty() || below(directory_) || below(run_) || below(temporary_) ||
        below(cache_))
        return true;
    for (const char* machine : {"/dev", "/proc", "/sys"}) {
        if (below(machine)) return true;
    }
    for (const char* cache : {"/.cache/", "/__pycache__/", "/.triton/", "/.nv/"}) {
        if (path.find(cache) != std::string::npos) return true;
    }
    return false;
}

// What others have added since the last look.
void Keeper::read_list(int list) {
    char buffer[16384];
    for (ssize_t got; (got = ::pread(list, buffer, sizeof buffer, read_)) > 0;) {
        read_ += got;
        begun_.append(buffer, static_cast<std::size_t>(got));
    }
    std::size_t begin = 0;
    for (std::size_t end; (end = begun_.find('\n', begin)) != std::string::npos; begin = end + 1) {
        if (const auto kept = kept_in(std::string_view(begun_).substr(begin, end - begin))) remember(*kept);
    }
    begun_.erase(0, begin);
}

void Keeper::remember(const Kept& kept) {
    known_.try_emplace(kept.path, kept.what != Kept::What::unkept);
    if (kept.what == Kept::What::file) copied_.try_emplace({kept.device, kept.inode}, kept);
}

bool Keeper::put(int list, const Kept& kept) {
    const std::string line = (begun_.empty() ? "" : "\n") + line_of(kept);  // a process died in a line
    if (::write(list, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return false;
    if (kept.what == Kept::What::file || kept.what == Kept::What::link) ::fdatasync(list);
    remember(kept);
    return kept.what != Kept::What::unkept;
}

bool Keeper::copy(Kept& kept) {
    // Another name of a file that may have been changed by now: its old content is the same.
    if (const auto same = copied_.find({kept.device, kept.inode}); same != copied_.end()) {
        const std::string path = kept.path;
        kept = same->second;
        kept.path = path;
        return true;
    }
    kept.copy = std::to_string(::getpid()) + "-" + std::to_string(++copies_);
    const int trouble = copy_to(directory_, kept);
    if (trouble == 0) return true;
    if (trouble == EACCES && ::access(kept.path.c_str(), W_OK) != 0)
        return false;  // nor will the job change it
    kept.what = Kept::What::unkept;
    kept.copy = std::strerror(trouble);
    return true;
}

bool Keeper::put_first(const std::string& path) {
    const File list(::open((directory_ + "/" + kept_list).c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
    if (list.descriptor < 0) return false;
    while (::flock(list.descriptor, LOCK_EX) != 0 && errno == EINTR) continue;
    read_list(list.descriptor);
    if (const auto found = known_.find(path); found != known_.end()) return found->second;
    std::optional<Kept> kept = state_of(path);
    // Younger than the list: made by a call that was not seen.
    const std::int64_t began = born(list.descriptor, "");
    if (kept && kept->what != Kept::What::absent && began >= 0 && born(AT_FDCWD, path.c_str()) > began) {
        kept = Kept{};
        kept->path = path;
    }
    if (!kept || (kept->what == Kept::What::file && !copy(*kept))) return true;
    if (kept->what != Kept::What::file) return put(list.descriptor, *kept);
    for (const std::string& other : names_beside(*kept)) {
        Kept same = *kept;
        same.path = other;
        if (!known_.contains(other)) put(list.descriptor, same);
    }
    return put(list.descriptor, *kept);
}

bool Keeper::keep(const std::string& path) {
    beat();
    if (passes(path)) return true;
    const std::lock_guard lock(guard_);
    own_.insert(path);
    const auto found = known_.find(path);
    return found != known_.end() ? found->second : put_first(path);
}

void Keeper::keep_moved(const std::string& from, const std::string& to) {
    if (directory_.empty() || from.empty() || to.empty()) return;
    keep(from);
    keep(to);
    std::vector<std::string> names;
    names_below(from, "", names);
    names_below(to, "", names);  // where the two are exchanged
    for (const std::string& name : names) {
        keep(from + name);
        keep(to + name);
    }
}

bool Keeper::knows(const std::string& path) {
    const std::lock_guard lock(guard_);
    return own_.contains(path);
}

std::string place_of(int directory, const char* path, bool follow) {
    std::string whole = path ? path : "";
    if (whole.empty()) return "";
    if (whole.front() != '/') {
        const std::string base =
            resolved(directory == AT_FDCWD ? "." : "/proc/self/fd/" + std::to_string(directory));
        if (base.empty()) return "";
        whole.insert(0, base + "/");
    }
    for (int links = 0; links < 40; ++links) {
        while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
        const std::size_t slash = whole.rfind('/');
        const std::string name = whole.substr(slash + 1);
        if (name.empty() || name == "." || name == "..") return resolved(whole);
        const std::string above = resolved(slash == 0 ? "/" : whole.substr(0, slash));
        if (above.empty()) return "";
        whole = (above == "/" ? "" : above) + "/" + name;
        char target[PATH_MAX];
        const ssize_t length = follow ? ::readlink(whole.c_str(), target, sizeof target) : -1;
        if (length < 0) return whole;
        const std::string next(target, static_cast<std::size_t>(length));
        whole = next.starts_with('/') ? next : above + "/" + next;
    }
    return "";
}

}  // namespace deadrank::inject::shims

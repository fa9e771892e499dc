// runners/backends/process/kept_files.cpp — Restores each path to what it was, whatever renames came in
// between. An interrupted restore can be repeated, since the copies are removed last.
#include "runners/backends/process/kept_files.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/core/kept.h"
#include "results/record/words.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using inject::Kept;
using What = Kept::What;

namespace {

// A system call interrupted by a kill may have ended this much after the job's last sign of life.
constexpr std::int64_t last_call = 10'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

class File {
public:
    File(const fs::path& path, int flags, mode_t mode = 0)
        : descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode)) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    bool opened() const { return descriptor_ >= 0; }
    int operator*() const { return descriptor_; }

private:
    const int descriptor_;
};

std::optional<struct stat> seen_at(const fs::path& path) {
    struct stat seen {};
    if (::lstat(path.c_str(), &seen) != 0) return std::nullopt;
    return seen;
}

std::string digest_at(const fs::path& path) {
    const File file(path, O_RDONLY | O_NONBLOCK);
    return file.opened() ? inject::digest_of(*file) : "";
}

std::vector<Kept> first_of_each_path(const fs::path& list) {
    std::vector<Kept> all;
    std::set<std::string> known;
    std::ifstream in(list);
    for (std::string line; std::getline(in, line);) {
        auto kept = inject::kept_in(line);  // a truncated line: nothing was changed yet
        if (kept && known.insert(kept->path).second) all.push_back(std::move(*kept));
    }
    return all;
}

class FileRestorer {
public:
    explicit FileRestorer(fs::path directory) : directory_(std::move(directory)) {
        std::ifstream in(directory_ / inject::kept_alive, std::ios::binary);
        in.read(reinterpret_cast<char*>(&alive_), sizeof alive_);
    }

    RestoreResult all() {
        std::vector<Kept> list = first_of_each_path(directory_ / inject::kept_list);
        const auto by_depth = [](const Kept& a, const Kept& b) { return a.path.size() < b.path.size(); };
        std::stable_sort(list.begin(), list.end(), by_depth);
        for (const Kept& kept : list) given_.directories.insert(fs::path(kept.path).parent_path());
        // Names that did not exist before are removed first, the innermost before their directories.
        for (auto kept = list.rbegin(); kept != list.rend(); ++kept) {
            if (kept->what == What::absent) take_away(*kept);
        }
        for (const Kept& kept : list) {
            if (kept.what == What::directory) make_again(kept);
        }
        for (const Kept& kept : list) {
            if (kept.what == What::file) put_back(kept);
            if (kept.what == What::link) restore_link(kept);
            if (kept.what == What::unkept) report_failed_copy(kept);
        }
        given_.says =
            fmt::format("restored {} and removed {} that the job had created{}{}",
                        results::counted(given_.files, "file"), results::counted(given_.removed, "name"),
                        given_.told.empty() ? "" : "; ", fmt::join(given_.told, "; "));
        return given_;
    }

    bool copies_needed() const { return copies_needed_; }

private:
    void add_problem(std::string sentence) { given_.told.push_back(std::move(sentence)); }
    void fail(const Kept& kept, const std::string& why) {
        given_.whole = false;
        add_problem(fmt::format("{} could not be given back: {}; its copy is {}", kept.path, why,
                                (directory_ / kept.copy).string()));
    }

    void report_failed_copy(const Kept& kept) {
        add_problem(fmt::format("{} could not be copied before it was changed: {}", kept.path, kept.copy));
        if (given_.lost.empty()) given_.lost = given_.told.back();
    }

    // Sets the job's end to now, so that our own writes do not count as somebody else's.
    void begin_step() const { end_keeping(directory_); }

    bool theirs(const struct stat& seen) const { return nanoseconds(seen.st_ctim) > alive_ + last_call; }

    void take_away(const Kept& kept) {
        const auto seen = seen_at(kept.path);
        if (!seen) return;
        if (S_ISDIR(seen->st_mode)) {
            if (::rmdir(kept.path.c_str()) != 0)
                add_problem(kept.path + " stays: what is in it is not the run's");
        } else if (theirs(*seen)) {
            add_problem(fmt::format("{} was written after the run had ended, and is left alone", kept.path));
        } else {
            begin_step();
            if (::unlink(kept.path.c_str()) == 0) {
                ++given_.removed;
            } else {
                fail(kept, std::strerror(errno));
            }
        }
    }

    // Removes what the job put in the place of another kind of file.
    bool make_way(const Kept& kept, mode_t wanted) {
        const auto seen = seen_at(kept.path);
        if (!seen || (seen->st_mode & S_IFMT) == wanted) return true;
        begin_step();
        return (S_ISDIR(seen->st_mode) ? ::rmdir(kept.path.c_str()) : ::unlink(kept.path.c_str())) == 0;
    }

    void make_again(const Kept& kept) {
        if (!make_way(kept, S_IFDIR)) return fail(kept, std::strerror(errno));
        begin_step();
        if (::mkdir(kept.path.c_str(), kept.mode) != 0 && errno != EEXIST) fail(kept, std::strerror(errno));
    }

    void restore_link(const Kept& kept) {
        std::error_code none;
        if (fs::read_symlink(kept.path, none) == kept.copy) return;
        if (const auto seen = seen_at(kept.path); seen && theirs(*seen))
            return add_problem(
                fmt::format("{} was changed after the run had ended, and is left alone; it led to {}",
                            kept.path, kept.copy));
        if (!make_way(kept, 0) || ::symlink(kept.copy.c_str(), kept.path.c_str()) != 0)
            return fail(kept, std::strerror(errno));
        ++given_.files;
    }

    void put_back(const Kept& kept) {
        const fs::path copy = directory_ / kept.copy;
        if (digest_at(kept.path) == kept.digest) return restore_attributes(kept);
        const auto seen = seen_at(kept.path);
        if (seen && theirs(*seen)) {
            copies_needed_ = true;
            return add_problem(
                fmt::format("{} was written after the run had ended, and is left alone; what it was "
                            "before is {}",
                            kept.path, copy.string()));
        }
        if (digest_at(copy) != kept.digest) return fail(kept, "the copy has changed");
        begin_step();
        if (!make_way(kept, S_IFREG)) return fail(kept, std::strerror(errno));
        // The file may have other hard links, so it is overwritten in place where possible.
        const bool same = seen && seen->st_dev == kept.device && seen->st_ino == kept.inode;
        if (!(same && write_over(kept, copy)) && !replace(kept, copy))
            return fail(kept, std::strerror(errno));
        if (digest_at(kept.path) != kept.digest)
            return fail(kept, "its digest differs from that of its copy");
        restore_attributes(kept);
        ++given_.files;
    }

    static bool write_over(const Kept& kept, const fs::path& copy) {
        const File from(copy, O_RDONLY), to(kept.path, O_WRONLY);
        struct stat whole {};
        std::string digest;
        return from.opened() && to.opened() && ::fstat(*from, &whole) == 0 &&
               inject::copy_content(*from, *to, digest) == 0 && ::ftruncate(*to, whole.st_size) == 0 &&
               ::fdatasync(*to) == 0;
    }

    static bool replace(const Kept& kept, const fs::path& copy) {
        const std::string beside = kept.path + ".deadrank";
        ::unlink(beside.c_str());  // of an undo that was killed
        {
            const File from(copy, O_RDONLY), to(beside, O_WRONLY | O_CREAT | O_EXCL, 0600);
            std::string digest;
            if (!from.opened() || !to.opened() || inject::copy_content(*from, *to, digest) != 0 ||
                ::fdatasync(*to) != 0)
                return false;
        }
        return ::rename(beside.c_str(), kept.path.c_str()) == 0;
    }

    // Restores the time too: programs find their newest checkpoint by it.
    static void restore_attributes(const Kept& kept) {
        const auto seen = seen_at(kept.path);
        if (!seen) return;
        if ((seen->st_mode & 07777) != kept.mode) ::chmod(kept.path.c_str(), kept.mode);
        if (nanoseconds(seen->st_mtim) == kept.written) return;
        const timespec written{kept.written / 1'000'000'000, kept.written % 1'000'000'000};
        const timespec times[] = {written, written};
        ::utimensat(AT_FDCWD, kept.path.c_str(), times, AT_SYMLINK_NOFOLLOW);
    }

    const fs::path directory_;
    std::int64_t alive_ = 0;
    RestoreResult given_;
    bool copies_needed_ = false;
};

}  // namespace

scenarios::Result<void> begin_keeping(const fs::path& directory) {
    std::error_code trouble;
    fs::create_directories(directory, trouble);
    end_keeping(directory);
    std::ofstream list(directory / inject::kept_list);
    if (trouble || !list) {
        return scenarios::refuse(
            scenarios::ErrorCode::io, "no copies of the job's files can be kept there: nothing was started",
            "name a directory that you may write with DEADRANK_STATE", {directory.string()});
    }
    return {};
}

void end_keeping(const fs::path& directory) {
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    const std::int64_t count = now.count();
    const File alive(directory / inject::kept_alive, O_WRONLY | O_CREAT, 0600);
    if (alive.opened()) (void)!::pwrite(*alive, &count, sizeof count, 0);
}

bool keeps_anything(const fs::path& directory) {
    std::error_code none;
    const auto size = fs::file_size(directory / inject::kept_list, none);
    return !none && size > 0;
}

std::vector<fs::path> list_changed(const fs::path& directory) {
    std::vector<fs::path> paths;
    for (const Kept& kept : first_of_each_path(directory / inject::kept_list)) paths.emplace_back(kept.path);
    return paths;
}

RestoreResult give_back(const fs::path& directory) {
    std::error_code ignored;
    if (directory.extension() != ".kept" || !fs::exists(directory, ignored))
        return {.told = {}, .says = "no file of the job's had to be given back"};
    const fs::path list = directory / inject::kept_list;
    FileRestorer giving(directory);
    RestoreResult given = giving.all();
    if (!given.whole) return given;
    if (giving.copies_needed()) {  // reported once; from now on they are the user's
        fs::rename(list, directory / "told", ignored);
        return given;
    }
    // A kill in the middle of this leaves copies without a list, which restore nothing.
    fs::remove(list, ignored);
    fs::remove_all(directory, ignored);
    return given;
}

Undone restore_kept(const UndoAction& action) {
    const RestoreResult given = give_back(action.of);
    return {action, given.whole, given.says};
}

}  // namespace deadrank::runners

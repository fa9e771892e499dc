// runners/backends/process/journal.cpp — Records each change to the machine and how to undo it, before the
// change is made.
#include "runners/backends/process/journal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

#include "results/processes/bounded.h"
#include "runners/backends/process/job_processes.h"
#include "runners/backends/process/kept_files.h"

namespace deadrank::runners {

// ── One file per process, one line per change, synced before the change is made. A truncated last line
// means that the change was never made.

namespace fs = std::filesystem;
using nlohmann::json;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

// One per process and directory; entries and the journal share it.
struct Journal::File {
    fs::path path;
    int descriptor = -1;
    std::mutex mutex;
    std::int64_t next = 1;
    std::int64_t open = 0;

    ~File() {
        if (descriptor >= 0) close(descriptor);
        std::error_code ignored;
        if (open == 0) fs::remove(path, ignored);
    }

    bool put(const json& line) {
        const std::string text = line.dump() + "\n";
        return write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
               fdatasync(descriptor) == 0;
    }
};

struct Journal::Entry::Inside {
    std::shared_ptr<File> file;
    std::int64_t number = 0;
};

namespace {

struct OpenEntries {
    std::string owner, command;
    std::int64_t begun = 0;
    std::map<std::int64_t, UndoAction> actions;
};

OpenEntries read_journal(const fs::path& file) {
    OpenEntries open;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const json one = json::parse(line, nullptr, false);
        if (!one.is_object()) continue;
        if (one.contains("owner")) {
            open.owner = one["owner"].get<std::string>();
            open.command = one.value("command", "");
            open.begun = one.value("begun", std::int64_t{0});
        }
        if (one.contains("done")) open.actions.erase(one["done"].get<std::int64_t>());
        const auto undo = undo_named(one.value("undo", ""));
        if (undo) open.actions[one.value("n", std::int64_t{0})] = {*undo, one.value("of", "")};
    }
    return open;
}

std::int64_t seconds_now() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::int64_t seconds_written(const fs::path& file) {
    struct stat seen {};
    return ::stat(file.c_str(), &seen) == 0 ? static_cast<std::int64_t>(seen.st_mtim.tv_sec) : 0;
}

// As it was typed, with spaces for the ends of words.
std::string own_command() {
    std::string words = process_text(getpid(), "cmdline");
    std::replace(words.begin(), words.end(), '\0', ' ');
    while (words.ends_with(' ')) words.pop_back();
    return words;
}

bool lives(const std::string& owner) {
    return !owner.empty() && identity_of(std::atoi(owner.c_str())) == owner;
}

}  // namespace

fs::path journal_directory() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return fs::path(value ? value : "");
    };
    fs::path state = variable("DEADRANK_STATE");
    if (state.empty() && !variable("XDG_STATE_HOME").empty()) state = variable("XDG_STATE_HOME") / "deadrank";
    if (state.empty()) state = variable("HOME") / ".local/state/deadrank";
    return state / "undo";
}

Journal::Journal(std::shared_ptr<File> file) : file_(std::move(file)) {}
Journal::Journal(Journal&&) noexcept = default;
Journal& Journal::operator=(Journal&&) noexcept = default;
Journal::~Journal() = default;

Result<Journal> Journal::open(const fs::path& directory) {
    std::error_code trouble;
    fs::create_directories(directory, trouble);
    const std::string owner = identity_of(getpid());
    auto file = std::make_shared<File>();
    for (int attempt = 0; file->descriptor < 0 && attempt < 1000; ++attempt) {
        file->path = directory / fmt::format("{}-{}.jsonl", getpid(), attempt);
        file->descriptor =
            ::open(file->path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
        if (file->descriptor < 0 && errno != EEXIST) break;
    }
    if (file->descriptor < 0 || !file->put({{"owner", owner}, {"command", own_command()}, {"begun", seconds_now()}})) {
        return refuse(ErrorCode::io, fmt::format("no journal can be written there: {}", std::strerror(errno)),
                      "name a directory that you may write with DEADRANK_STATE", {directory.string()});
    }
    return Journal(std::move(file));
}

Result<Journal::Entry> Journal::note(const UndoAction& action) {
    const std::lock_guard lock(file_->mutex);
    const std::int64_t number = file_->next++;
    if (!file_->put({{"n", number}, {"undo", name_of(action.undo)}, {"of", action.of}})) {
        return refuse(ErrorCode::io, fmt::format("cannot be written: {}", std::strerror(errno)),
                      "nothing was changed; make room, or set DEADRANK_STATE", {file_->path.string()});
    }
    ++file_->open;
    return Entry(std::make_unique<Entry::Inside>(Entry::Inside{file_, number}));
}

Journal::Entry::Entry(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Journal::Entry::Entry(Entry&&) noexcept = default;
void Journal::Entry::leave() { inside_.reset(); }
Journal::Entry::~Entry() {
    if (!inside_) return;
    const std::lock_guard lock(inside_->file->mutex);
    if (inside_->file->put({{"done", inside_->number}})) --inside_->file->open;
}

Result<std::vector<Leftover>> leftovers(const fs::path& directory) {
    std::vector<Leftover> all;
    std::error_code trouble;
    if (!fs::exists(directory, trouble)) return all;
    for (fs::directory_iterator at(directory, trouble), end; !trouble && at != end; at.increment(trouble)) {
        if (at->path().extension() != ".jsonl") continue;
        const OpenEntries open = read_journal(at->path());
        if (lives(open.owner)) continue;
        Leftover one{at->path(), {}, open.command, open.begun > 0 ? open.begun : seconds_written(at->path())};
        for (const auto& [number, action] : open.actions) one.actions.push_back(action);
        std::reverse(one.actions.begin(), one.actions.end());
        all.push_back(std::move(one));
    }
    if (trouble) {
        return refuse(ErrorCode::io, fmt::format("cannot be read: {}", trouble.message()),
                      "name the directory of the journals with DEADRANK_STATE", {directory.string()});
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return std::tie(b.begun, a.journal) < std::tie(a.begun, b.journal);
    });
    return all;
}

// Ends processes first, in all journals: nothing can be restored while a job still writes.
std::vector<Undone> undo(const std::vector<Leftover>& all) {
    std::vector<Undone> undone;
    const auto ends_processes = [](const UndoAction& action) {
        return action.undo == UndoAction::Undo::end_marked;
    };
    const auto add = [&](const UndoAction& action, std::size_t left_by) {
        undone.push_back(revert(action));
        undone.back().left_by = left_by;
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const UndoAction& action : all[i].actions) {
            if (ends_processes(action)) add(action, i);
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Leftover& one = all[i];
        bool whole = true;
        for (const UndoAction& action : one.actions) {
            if (ends_processes(action)) continue;
            add(action, i);
            whole = whole && undone.back().done;
        }
        std::error_code ignored;
        if (whole) fs::remove(one.journal, ignored);
    }
    return undone;
}

std::string identity_of(int pid) {
    const std::string text = process_text(pid, "stat");
    const std::size_t end_of_name = text.rfind(')');
    if (end_of_name == std::string::npos) return {};
    // Field 22 of /proc/PID/stat: the start time in clock ticks since boot.
    std::size_t at = end_of_name + 2;
    for (int field = 3; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at) + 1;
    return fmt::format("{} {}", pid, text.substr(at, text.find(' ', at) - at));
}

// ── Each undo first checks that the target is still the one that was changed.

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::pair<UndoAction::Undo, std::string_view>, 6> names = {{
    {UndoAction::Undo::end_marked, "end_marked"},
    {UndoAction::Undo::resume_process, "resume_process"},
    {UndoAction::Undo::remove_directory, "remove_directory"},
    {UndoAction::Undo::restore_file, "restore_file"},
    {UndoAction::Undo::delete_namespace, "delete_namespace"},
    {UndoAction::Undo::restore_kept, "restore_kept"},
}};

Undone end_marked(const UndoAction& action) {
    const int ended = end_all_marked(action.of);
    return {action, true, fmt::format("ended {} processes with {}", ended, action.of)};
}

Undone resume_process(const UndoAction& action) {
    const int pid = std::atoi(action.of.c_str());
    if (identity_of(pid) != action.of) return {action, true, fmt::format("process {} is gone", pid)};
    const bool resumed = kill(pid, SIGCONT) == 0;
    return {action, resumed,
            fmt::format("process {} {}", pid, resumed ? "goes on" : "may not be resumed by this user")};
}

Undone remove_directory(const UndoAction& action) {
    std::error_code trouble;
    if (!fs::exists(action.of, trouble)) return {action, true, fmt::format("{} is gone", action.of)};
    const bool marked =
        fs::exists(fs::path(action.of) / ".deadrank", trouble) || fs::is_empty(action.of, trouble);
    if (!fs::path(action.of).is_absolute() || !marked)
        return {action, false, fmt::format("{} has no `.deadrank` mark and was left alone", action.of)};
    remove_marked(action.of, trouble);
    return {action, !trouble, trouble ? trouble.message() : fmt::format("removed {}", action.of)};
}

Undone restore_file(const UndoAction& action) {
    const std::size_t line = action.of.find('\n');
    const fs::path path = action.of.substr(0, line),
                   backup = line == std::string::npos ? "" : action.of.substr(line + 1);
    std::error_code trouble;
    if (!fs::exists(backup, trouble))
        return {action, true, fmt::format("{} was never changed", path.string())};
    fs::rename(backup, path, trouble);
    return {action, !trouble, trouble ? trouble.message() : fmt::format("restored {}", path.string())};
}

Undone delete_namespace(const UndoAction& action) {
    std::error_code ignored;
    if (!fs::exists(fs::path("/run/netns") / action.of, ignored))
        return {action, true, fmt::format("network namespace {} is gone", action.of)};
    const auto answer = results::processes::run_bounded({"ip", "netns", "delete", action.of}, {});
    const bool done = answer && answer->well();
    return {action, done,
            fmt::format("network namespace {} {}", action.of,
                        done ? "deleted" : "could not be deleted; try as root")};
}

}  // namespace

std::string_view name_of(UndoAction::Undo undo) {
    for (const auto& [known, name] : names) {
        if (known == undo) return name;
    }
    return "";
}

std::optional<UndoAction::Undo> undo_named(std::string_view name) {
    for (const auto& [undo, known] : names) {
        if (known == name) return undo;
    }
    return std::nullopt;
}

void remove_marked(const fs::path& directory, std::error_code& trouble) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored)) {
        if (entry.path().filename() != ".deadrank") fs::remove_all(entry.path(), trouble);
        if (trouble) return;
    }
    fs::remove_all(directory, trouble);
}

Undone revert(const UndoAction& action) {
    switch (action.undo) {
        case UndoAction::Undo::end_marked:
            return end_marked(action);
        case UndoAction::Undo::resume_process:
            return resume_process(action);
        case UndoAction::Undo::remove_directory:
            return remove_directory(action);
        case UndoAction::Undo::restore_file:
            return restore_file(action);
        case UndoAction::Undo::delete_namespace:
            return delete_namespace(action);
        case UndoAction::Undo::restore_kept:
            return restore_kept(action);
    }
    return {action, false, "this build does not know this kind of undo"};
}

}  // namespace deadrank::runners

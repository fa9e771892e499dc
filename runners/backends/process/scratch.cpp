// runners/backends/process/scratch.cpp — A directory is entered in the journal before it is created.
#include "runners/backends/process/scratch.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include "results/processes/private_directory.h"
#include "runners/backends/process/journal.h"
#include "runners/backends/process/launch.h"

extern char** environ;

namespace deadrank::runners {

namespace fs = std::filesystem;

namespace {

scenarios::Result<void> fill(const fs::path& directory, const std::vector<std::string>& parts) {
    std::error_code trouble;
    std::ofstream mark(directory / ".deadrank");
    mark << "made by a run of deadrank; `deadrank undo` may remove it\n";
    mark.close();
    for (const std::string& part : parts) {
        if (!trouble) fs::create_directories(directory / part, trouble);
    }
    if (mark && !trouble) return {};
    return scenarios::refuse(scenarios::ErrorCode::io,
                             fmt::format("'{}' cannot be written{}{}", directory.string(),
                                         trouble ? ": " : "", trouble ? trouble.message() : ""),
                             "choose another directory with --out");
}

}  // namespace

scenarios::Result<Scratch> Scratch::make(const fs::path& kept, const std::vector<std::string>& parts) {
    auto journal = Journal::open();
    if (!journal) return tl::unexpected(journal.error());
    std::error_code trouble;
    if (!kept.empty()) {
        Scratch scratch(fs::absolute(kept) / "processes", true);
        fs::remove_all(scratch.path_, trouble);
        fs::create_directories(scratch.path_, trouble);
        if (auto filled = fill(scratch.path_, parts); !filled) return tl::unexpected(filled.error());
        return scratch;
    }
    std::optional<Journal::Entry> litter;
    const auto note = [&](const fs::path& directory) -> scenarios::Result<void> {
        auto noted = journal->note({UndoAction::Undo::remove_directory, directory.string()});
        if (!noted) return tl::unexpected(noted.error());
        litter.reset();
        litter.emplace(std::move(*noted));
        return {};
    };
    const auto made = results::processes::make_private_directory(fs::temp_directory_path(trouble), note);
    if (!made) return tl::unexpected(made.error());
    Scratch scratch(*made, false);
    scratch.journal_.emplace(std::move(*journal));
    scratch.journal_entry_.emplace(std::move(*litter));
    if (auto filled = fill(scratch.path_, parts); !filled) return tl::unexpected(filled.error());
    return scratch;
}

Scratch::Scratch(Scratch&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      keep_(other.keep_),
      journal_(std::move(other.journal_)),
      journal_entry_(std::move(other.journal_entry_)) {}

Scratch::~Scratch() {
    if (path_.empty()) return;
    std::error_code ignored;
    if (!keep_) remove_marked(path_, ignored);
}

namespace fs = std::filesystem;

namespace {

// The program's own directory and those above it.
std::vector<fs::path> upward() {
    std::vector<fs::path> above;
    std::error_code ignored;
    for (fs::path at = fs::read_symlink("/proc/self/exe", ignored).parent_path(); !at.empty();
         at = at.parent_path()) {
        above.push_back(at);
        if (at == at.root_path()) break;
    }
    return above;
}

fs::path library_below(const char* folder, const char* name) {
    std::error_code ignored;
    for (const fs::path& at : upward()) {
        for (const char* place : {"", "lib/deadrank", "lib64/deadrank", "lib/x86_64-linux-gnu/deadrank"}) {
            const fs::path file = at / place / folder / name;
            if (fs::exists(file, ignored)) return file;
        }
    }
    return {};
}

fs::path shim_named(const char* name) { return library_below("shims", name); }

}  // namespace

scenarios::Result<fs::path> local_home() {
    std::vector<fs::path> roots;
    if (const char* stated = std::getenv("DEADRANK_HOME")) roots.emplace_back(stated);
    std::error_code ignored;
    for (const fs::path& at : upward()) {
        roots.push_back(at);
        roots.push_back(at / "share" / "deadrank");
    }
    roots.push_back(fs::current_path(ignored));
    for (const fs::path& root : roots) {
        const fs::path home = root / "runners" / "backends" / "local";
        if (fs::exists(home / "hook" / "sitecustomize.py", ignored)) return home;
    }
    return scenarios::refuse(
        scenarios::ErrorCode::environment, "runners/backends/local/hook was not found near the program",
        "set DEADRANK_HOME to the directory of deadrank's sources or of its share/deadrank");
}

scenarios::Result<fs::path> python_package() {
    return local_home().map([](const fs::path& home) {
        return fs::weakly_canonical(home / ".." / ".." / ".." / "sim" / "managed" / "python");
    });
}

fs::path sockets_shim() { return shim_named("libdeadrank-sockets.so"); }
fs::path mpi_shim() { return shim_named("libdeadrank-mpi.so"); }
fs::path files_shim() { return shim_named("libdeadrank-files.so"); }
fs::path standin_libraries() { return library_below("standin", "libcudart.so.13").parent_path(); }

std::vector<std::string> environment_of_ranks(const fs::path& directory,
                                              const std::vector<std::string>& foreign) {
    std::vector<std::string> lines;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        const auto begins = [&](const std::string& prefix) { return text.starts_with(prefix); };
        if (!text.starts_with("DEADRANK_") && std::none_of(foreign.begin(), foreign.end(), begins))
            lines.emplace_back(text);
    }
    lines.emplace_back("OMP_NUM_THREADS=1");
    lines.push_back("DEADRANK_EVIDENCE=" + (directory / "evidence").string());
    return lines;
}

fs::path program_beside(const std::string& name) {
    std::error_code ignored;
    for (const fs::path& at : upward()) {
        for (const char* place : {"", "libexec/deadrank"}) {
            if (fs::exists(at / place / name, ignored)) return at / place / name;
        }
    }
    return {};
}

}  // namespace deadrank::runners

// runners/backends/process/deeds.cpp — Each way back looks first whether the thing is still the one that was
// changed.
#include "runners/backends/process/deeds.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <utility>

#include "results/external/bounded.h"
#include "runners/backends/process/kept_files.h"
#include "runners/backends/process/processes.h"

namespace deadrank::runners {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::pair<Deed::Undo, std::string_view>, 6> names = {{
    {Deed::Undo::end_marked, "end_marked"},
    {Deed::Undo::resume_process, "resume_process"},
    {Deed::Undo::remove_directory, "remove_directory"},
    {Deed::Undo::restore_file, "restore_file"},
    {Deed::Undo::delete_namespace, "delete_namespace"},
    {Deed::Undo::restore_kept, "restore_kept"},
}};

Undone end_marked(const Deed& deed) {
    const int ended = end_all_marked(deed.of);
    return {deed, true, fmt::format("ended {} processes with {}", ended, deed.of)};
}

Undone resume_process(const Deed& deed) {
    const int pid = std::atoi(deed.of.c_str());
    if (identity_of(pid) != deed.of) return {deed, true, fmt::format("process {} is gone", pid)};
    const bool resumed = kill(pid, SIGCONT) == 0;
    return {deed, resumed,
            fmt::format("process {} {}", pid, resumed ? "goes on" : "may not be resumed by this user")};
}

Undone remove_directory(const Deed& deed) {
    std::error_code trouble;
    if (!fs::exists(deed.of, trouble)) return {deed, true, fmt::format("{} is gone", deed.of)};
    const bool marked =
        fs::exists(fs::path(deed.of) / ".deadrank", trouble) || fs::is_empty(deed.of, trouble);
    if (!fs::path(deed.of).is_absolute() || !marked)
        return {deed, false, fmt::format("{} does not bear our mark, and is left alone", deed.of)};
    remove_marked(deed.of, trouble);
    return {deed, !trouble, trouble ? trouble.message() : fmt::format("removed {}", deed.of)};
}

Undone restore_file(const Deed& deed) {
    const std::size_t line = deed.of.find('\n');
    const fs::path path = deed.of.substr(0, line),
                   backup = line == std::string::npos ? "" : deed.of.substr(line + 1);
    std::error_code trouble;
    if (!fs::exists(backup, trouble)) return {deed, true, fmt::format("{} was never changed", path.string())};
    fs::rename(backup, path, trouble);
    return {deed, !trouble, trouble ? trouble.message() : fmt::format("restored {}", path.string())};
}

Undone delete_namespace(const Deed& deed) {
    std::error_code ignored;
    if (!fs::exists(fs::path("/run/netns") / deed.of, ignored))
        return {deed, true, fmt::format("network namespace {} is gone", deed.of)};
    const auto answer = results::external::run_bounded({"ip", "netns", "delete", deed.of}, {});
    const bool done = answer && answer->well();
    return {deed, done,
            fmt::format("network namespace {} {}", deed.of,
                        done ? "deleted" : "could not be deleted; try as root")};
}

}  // namespace

std::string_view name_of(Deed::Undo undo) {
    for (const auto& [known, name] : names) {
        if (known == undo) return name;
    }
    return "";
}

std::optional<Deed::Undo> undo_named(std::string_view name) {
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

Undone revert(const Deed& deed) {
    switch (deed.undo) {
        case Deed::Undo::end_marked:
            return end_marked(deed);
        case Deed::Undo::resume_process:
            return resume_process(deed);
        case Deed::Undo::remove_directory:
            return remove_directory(deed);
        case Deed::Undo::restore_file:
            return restore_file(deed);
        case Deed::Undo::delete_namespace:
            return delete_namespace(deed);
        case Deed::Undo::restore_kept:
            return restore_kept(deed);
    }
    return {deed, false, "this way back is unknown to this build"};
}

}  // namespace deadrank::runners

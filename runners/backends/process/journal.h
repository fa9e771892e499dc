// runners/backends/process/journal.h — Records each change to the machine and how to undo it, before the
// change is made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::runners {

// ── A run that ends normally leaves no entries in its journal; `deadrank undo` reverts what a killed run
// left.

// One change, described by its undo.
struct UndoAction {
    enum class Undo {
        end_marked,  // of: "NAME=value"; every process of this user that has it in its environment is ended
        resume_process,    // of: "pid start-time"; the stopped process goes on, if it is still that one
        remove_directory,  // of: an absolute path; only one that holds the file `.deadrank`
        restore_file,      // of: "path\nbackup"; the backup replaces the path
        delete_namespace,  // of: the name of a network namespace
        restore_kept,      // of: a directory of copies and lists, as in kept_files.h
    };
    Undo undo = Undo::end_marked;
    std::string of;

    bool operator==(const UndoAction&) const = default;
};

// "ended 3 processes of …"; whether it worked.
struct Undone {
    UndoAction action;
    bool done = false;
    std::string says;
    std::size_t left_by = 0;  // place of its journal in the list
};

// DEADRANK_STATE, else $XDG_STATE_HOME/deadrank, else ~/.local/state/deadrank; undo/ below it.
std::filesystem::path journal_directory();

// The changes made by this process. Thread-safe.
class Journal {
public:
    // Errors: io, with the directory.
    static scenarios::Result<Journal> open(const std::filesystem::path& directory = journal_directory());
    Journal(Journal&&) noexcept;
    Journal& operator=(Journal&&) noexcept;
    ~Journal();  // removes its file if every change was undone

    // A change that is in force while this object lives. The holder reverts it; what it could not revert
    // stays on disk.
    class Entry {
    public:
        Entry(Entry&&) noexcept;
        Entry& operator=(Entry&&) = delete;
        ~Entry();      // records the change as undone
        void leave();  // it was not undone: the entry stays on disk

    private:
        friend class Journal;
        struct Inside;
        explicit Entry(std::unique_ptr<Inside> inside);
        std::unique_ptr<Inside> inside_;
    };
    // On disk when it returns. Errors: io; then the change must not be made.
    scenarios::Result<Entry> note(const UndoAction& action);

private:
    struct File;
    explicit Journal(std::shared_ptr<File> file);
    std::shared_ptr<File> file_;
};

// Changes in the journals of processes that are gone, newest first. Journals of living processes are left
// alone.
struct Leftover {
    std::filesystem::path journal;
    std::vector<UndoAction> actions;
    std::string command = {};    // whose run it was; empty: an earlier release wrote the journal
    std::int64_t begun = 0;      // seconds since 1970; of a journal without it, those of the file
};
scenarios::Result<std::vector<Leftover>> leftovers(
    const std::filesystem::path& directory = journal_directory());

// Reverts them, in this order, and removes each journal whose changes were all reverted.
std::vector<Undone> undo(const std::vector<Leftover>& all);

// "1234 567890": pid and start time, which tell a process from a later one with its pid. Empty if it is gone.
std::string identity_of(int pid);

// The kinds of undo, by name.
std::string_view name_of(UndoAction::Undo undo);
std::optional<UndoAction::Undo> undo_named(std::string_view name);

// Idempotent. Reports what it cannot do, and touches nothing else.
Undone revert(const UndoAction& action);

// Removes the directory, the mark `.deadrank` last: what a kill in the middle leaves still has it.
void remove_marked(const std::filesystem::path& directory, std::error_code& trouble);

}  // namespace deadrank::runners

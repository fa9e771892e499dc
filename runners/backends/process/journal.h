// runners/backends/process/journal.h — What was done to the machine and how it is undone, written before it
// is done.
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

// What we do to a real machine is on disk before it is done, with how to undo it. A run that ends in its own
// way leaves nothing there; `deadrank undo` reverts what a killed one left.

// One change, named by the way back.
struct UndoAction {
    enum class Undo {
        end_marked,  // of: "NAME=value"; every process of this user that has it in its environment is ended
        resume_process,    // of: "pid start-time"; the stopped process goes on, if it is still that one
        remove_directory,  // of: an absolute path; only one that holds the file `.deadrank`
        restore_file,      // of: "path\nbackup"; the backup takes the path's place
        delete_namespace,  // of: the name of a network namespace
        restore_kept,      // of: a directory of copies and lists, as in undo/kept_files.h
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
};

// DEADRANK_STATE, else $XDG_STATE_HOME/deadrank, else ~/.local/state/deadrank; undo/ below it.
std::filesystem::path journal_directory();

// The deeds of this process. Safe from several threads.
class Journal {
public:
    // Errors: io, with the directory.
    static scenarios::Result<Journal> open(const std::filesystem::path& directory = journal_directory());
    Journal(Journal&&) noexcept;
    Journal& operator=(Journal&&) noexcept;
    ~Journal();  // its file goes when every deed has been taken back

    // A deed that stands until this goes. Reverting is the holder's work; what it did not revert stays on
    // disk.
    class Entry {
    public:
        Entry(Entry&&) noexcept;
        Entry& operator=(Entry&&) = delete;
        ~Entry();      // written down as taken back
        void leave();  // it could not be: the deed stays on disk

    private:
        friend class Journal;
        struct Inside;
        explicit Entry(std::unique_ptr<Inside> inside);
        std::unique_ptr<Inside> inside_;
    };
    // On disk when it returns. Errors: io; then the deed must not be done.
    scenarios::Result<Entry> note(const UndoAction& action);

private:
    struct File;
    explicit Journal(std::shared_ptr<File> file);
    std::shared_ptr<File> file_;
};

// Deeds that stand in the journals of processes that are gone; the newest first. Journals of living ones are
// left alone.
struct Leftover {
    std::filesystem::path journal;
    std::vector<UndoAction> actions;
};
scenarios::Result<std::vector<Leftover>> leftovers(
    const std::filesystem::path& directory = journal_directory());

// Reverts them and removes each journal whose deeds were all reverted.
std::vector<Undone> undo(const std::vector<Leftover>& all);

// "1234 567890": tells one process from a later one with its number. Empty when it is gone.
std::string identity_of(int pid);

// The ways back, by name and by hand.

std::string_view name_of(UndoAction::Undo undo);
std::optional<UndoAction::Undo> undo_named(std::string_view name);

// Doing it twice is as good as once. Whatever cannot be done is said, and nothing else is touched.
Undone revert(const UndoAction& action);

// The directory and all in it, the mark `.deadrank` last: what a kill in the middle leaves still bears it.
void remove_marked(const std::filesystem::path& directory, std::error_code& trouble);

}  // namespace deadrank::runners

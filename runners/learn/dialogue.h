// runners/learn/dialogue.h — A lesson in a terminal, and the learner's progress.
#pragma once

#include <filesystem>
#include <istream>
#include <map>
#include <string>

#include "runners/learn/pages.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::learn {

// ── The lessons done and their results: a file in the reader's state directory.

struct Done {
    bool solved = false;  // every question answered without being shown the answer
    int tries = 0;        // answers given
    int hints = 0;
};

class Progress {
public:
    // DEADRANK_STATE, else XDG_STATE_HOME/deadrank, else ~/.local/state/deadrank; empty where there is no
    // home.
    static std::filesystem::path usual_file();

    // A missing file means no progress yet. Errors: io, bad_input with the remedy.
    static scenarios::Result<Progress> read(std::filesystem::path file);

    const Done* find(const std::string& scenario) const;
    bool empty() const { return lessons_.empty(); }
    // Keeps the better of the old and the new result, and writes the file. Error: io.
    scenarios::Result<void> note(const std::string& scenario, const Done& done);
    scenarios::Result<void> forget();

private:
    scenarios::Result<void> write() const;

    std::filesystem::path file_;
    std::map<std::string, Done> lessons_;
};

// ── One lesson as a dialogue, at a terminal or with a script on standard input.

enum class Way { on, quit };

struct Console {
    std::istream& in;
    Style style;
    bool echo = false;  // print a script's answers, so that its transcript is readable
};

// Ends with the answer, unless the reader leaves. `done` gets the result to keep.
Way teach(const Lesson& lesson, Console& talk, Done& done);

// One try for each question and no hints; the number of right answers is added.
Way examine(const Lesson& lesson, Console& talk, std::size_t& right, std::size_t& asked);

}  // namespace deadrank::runners::learn

// runners/commands/command.h — A command of the program is a row: its name, one sentence, and a function that
// adds its options to the parser and, when called, leaves its exit code in the session. Exit codes: 0 pass, 1
// fail, 2 unknown, 64 usage, 130 interrupted.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "scenarios/model/error.h"

namespace CLI {
class App;
}

namespace deadrank::runners {
struct Extension;
}

namespace deadrank::runners::commands {

enum ExitCode : int {
    exit_pass = 0,
    exit_fail = 1,
    exit_unknown = 2,
    exit_usage = 64,
    exit_interrupted = 130
};

// One invocation of the program.
struct Session {
    std::filesystem::path executable;  // data files are looked up relative to it
    const Extension& extension;        // what this program adds to deadrank; outlives the session
    int code = exit_pass;

    // Prints the error with place, refused value and remedy, and sets its exit code.
    void complain(const scenarios::Error& error);
    // The value, or nothing after a complaint.
    template <class T>
    T* take(scenarios::Result<T>& result) {
        if (result) return &*result;
        complain(result.error());
        return nullptr;
    }
};

// Defined at the end of the command's file; program/program.cpp lists the rows.
struct CommandRow {
    std::string_view name, what;                       // `what`: the text in --help
    void (*add)(CLI::App& command, Session& session);  // both outlive the parse
};

int code_of(const scenarios::Error& error);

}  // namespace deadrank::runners::commands

// results/external/tool_program.h — Other projects' programs: finds them and their releases, starts them, and
// reads their output to its end. Loopback and pipes only.
#pragma once

#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <string>
#include <unistd.h>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::results::external {

// A pipe to or from a program that we start. Both ends are -1 where none could be made.
struct Pipe {
    int read_end = -1, write_end = -1;
    Pipe() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) == 0) read_end = ends[0], write_end = ends[1];
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        close_write();
        if (read_end >= 0) ::close(read_end);
    }
    void close_write() {
        if (write_end >= 0) ::close(write_end);
        write_end = -1;
    }
};

// argv or envp for execve: pointers into the texts, which must outlive them, and a null.
inline std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

// A directory of our own while another program reads it; removed afterwards.
class Scratch {
public:
    // Below the system's temporary directory, or below `where`. Errors: io.
    static scenarios::Result<Scratch> make(const std::filesystem::path& where = {});

    Scratch(Scratch&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
    Scratch& operator=(Scratch&&) = delete;
    ~Scratch();

    const std::filesystem::path& path() const { return path_; }

private:
    explicit Scratch(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

// ── Where other projects' tools are, and which release of each is installed.

// What DEADRANK_TOOLS says, else the directory 'tools' in deadrank's cache.
std::filesystem::path tools_home();

// The Python that has torch: what DEADRANK_PYTHON names, else the environment that "dev tools" makes. Empty
// when there is none.
std::string torch_python();

// The Python of the tools' own environment; empty when there is none.
std::string tools_python();

// The release of a package as its own metadata says it; empty when this Python does not have it.
std::string package_version(const std::string& python, const std::string& package);

// ── Runs another project's program to its end and returns its output. Loopback and pipes only.

struct ProgramAnswer {
    int code = 0;  // exit status; 128 + signal when a signal ended it
    std::string out, err;
    double cpu_seconds = 0;  // of the program and its children
};

// `argv[0]` is looked up in PATH. `environment`: NAME=value, replacing ours of that name. Once `stopped` says
// so, which is asked five times a second, the program is killed. Errors: environment (it cannot be started),
// io.
scenarios::Result<ProgramAnswer> run_program(const std::vector<std::string>& argv,
                                             const std::vector<std::string>& environment = {},
                                             const std::function<bool()>& stopped = {});

// The path of a program, or an empty text.
std::string find_program(const std::string& name);

}  // namespace deadrank::results::external

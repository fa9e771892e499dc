// results/external/tool_program.h — Where other projects' programs are, which release of each is installed,
// and a directory for the files that they read.
#pragma once

#include <filesystem>
#include <string>

#include "scenarios/model/error.h"

namespace deadrank::results::external {

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

}  // namespace deadrank::results::external

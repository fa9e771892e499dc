// results/external/tool_program.h — Where other projects' programs are, which release of each is installed,
// and a directory for the files that they read.
#pragma once

#include <filesystem>
#include <string>

#include "results/processes/private_directory.h"
#include "scenarios/model/error.h"

namespace deadrank::results::external {

// A directory of our own while another program reads it; removed afterwards.
using Scratch = processes::PrivateDirectory;

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

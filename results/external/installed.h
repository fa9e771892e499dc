// results/external/installed.h — Where other people's tools are, and which release of them is there.
#pragma once

#include <filesystem>
#include <string>

namespace deadrank::results::external {

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

// results/external/tool_program.cpp — Finds other projects' programs in deadrank's cache and their releases
// in the packages' own metadata.
#include "results/external/tool_program.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

#include "results/processes/bounded.h"

namespace deadrank::results::external {

// ── Metadata is read without importing the package: torch alone takes seconds.

namespace {

namespace fs = std::filesystem;

fs::path cache() {
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
        return fs::path(cache) / "deadrank";
    const char* home = std::getenv("HOME");
    return fs::path(home ? home : "/") / ".cache" / "deadrank";
}

}  // namespace

fs::path tools_home() {
    if (const char* stated = std::getenv("DEADRANK_TOOLS"); stated && *stated) return stated;
    return cache() / "tools";
}

std::string torch_python() {
    if (const char* stated = std::getenv("DEADRANK_PYTHON"); stated && *stated)
        return processes::find_program(stated);
    return processes::find_program((cache() / "venv" / "bin" / "python").string());
}

std::string tools_python() { return processes::find_program((tools_home() / "bin" / "python").string()); }

std::string package_version(const std::string& python, const std::string& package) {
    if (python.empty()) return {};
    processes::Bounds patient;  // a tool is not absent because the machine is busy
    patient.time = std::chrono::minutes(5);
    const auto answer = processes::run_bounded({python, "-c",
                                                "import importlib.metadata as m, sys\n"
                                                "try: print(m.version(sys.argv[1]))\n"
                                                "except m.PackageNotFoundError: pass",
                                                package},
                                               patient);
    if (!answer || !answer->well()) return {};
    return answer->out.substr(0, answer->out.find_last_not_of(" \r\n") + 1);
}

}  // namespace deadrank::results::external

// runners/local/home.cpp — The first directory on the way up that has the hook in it.
#include "runners/local/home.h"

#include <cstdlib>
#include <vector>

namespace deadrank::runners {

namespace fs = std::filesystem;

scenarios::Result<fs::path> local_home() {
    std::vector<fs::path> roots;
    if (const char* stated = std::getenv("DEADRANK_HOME")) roots.emplace_back(stated);
    std::error_code ignored;
    for (fs::path at = fs::read_symlink("/proc/self/exe", ignored).parent_path(); !at.empty();
         at = at.parent_path()) {
        roots.push_back(at);
        roots.push_back(at / "share" / "deadrank");
        if (at == at.root_path()) break;
    }
    roots.push_back(fs::current_path(ignored));
    for (const fs::path& root : roots) {
        const fs::path home = root / "runners" / "local";
        if (fs::exists(home / "hook" / "sitecustomize.py", ignored)) return home;
    }
    return scenarios::refuse(
        scenarios::ErrorCode::environment, "runners/local/hook was not found near the program",
        "set DEADRANK_HOME to the directory of deadrank's sources or of its share/deadrank");
}

}  // namespace deadrank::runners

// runners/pipeline/build.cpp — The only file that every new commit recompiles.
#include "runners/pipeline/build.h"

#include "deadrank_build_id.h"

namespace deadrank::runners {

Build this_build() {
    std::string commit = DEADRANK_BUILD_COMMIT;
    const auto modified = commit.find("-modified");
    if (modified != std::string::npos) commit.replace(modified, std::string::npos, "+");
    return {DEADRANK_BUILD_VERSION, commit, DEADRANK_BUILD_COMPILER, DEADRANK_BUILD_TYPE};
}

}  // namespace deadrank::runners

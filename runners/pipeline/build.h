// runners/pipeline/build.h — Which build this is: printed in every token and report, and by
// `deadrank help version`.
#pragma once

#include <string>

namespace deadrank::runners {

struct Build {
    std::string version;   // of the project
    std::string commit;    // twelve digits, then "+" if the tree was modified; "unknown" outside a checkout
    std::string compiler;  // name and version
    std::string type;      // CMake's build type
};

Build this_build();

}  // namespace deadrank::runners

// runners/line/build.h — Which build this is: in every token, every report, and in `deadrank version`.
#pragma once

#include <string>

namespace deadrank::runners {

struct Build {
    std::string version;   // of the project
    std::string commit;    // twelve digits, "+" behind them for a changed tree; "unknown" outside a checkout
    std::string compiler;  // name and version
    std::string type;      // of CMake
};

Build this_build();

}  // namespace deadrank::runners

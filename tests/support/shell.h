// tests/support/shell.h — A command line run to its end, with both streams and its exit code.
#pragma once

#include <string>

namespace deadrank::tests {

struct Answer {
    int code = -1;    // -1: it was ended by a signal, or never began
    std::string out;  // both streams, unless the command says otherwise
};

Answer shell(const std::string& command);

}  // namespace deadrank::tests

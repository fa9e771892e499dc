// tests/support/shell.cpp — By popen, with nothing on standard input.
#include "tests/support/shell.h"

#include <cstdio>
#include <sys/wait.h>

namespace deadrank::tests {

Answer shell(const std::string& command) {
    Answer answer;
    std::FILE* pipe = popen(("( " + command + " ) </dev/null 2>&1").c_str(), "r");
    if (!pipe) return answer;
    char block[4096];
    for (std::size_t n = 0; (n = fread(block, 1, sizeof block, pipe)) > 0;) answer.out.append(block, n);
    const int status = pclose(pipe);
    answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return answer;
}

}  // namespace deadrank::tests

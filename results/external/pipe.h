// results/external/pipe.h — Between us and a program that we start. Both ends are -1 where none could be
// made.
#pragma once

#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace deadrank::results::external {

struct Pipe {
    int read_end = -1, write_end = -1;
    Pipe() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) == 0) read_end = ends[0], write_end = ends[1];
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        close_write();
        if (read_end >= 0) ::close(read_end);
    }
    void close_write() {
        if (write_end >= 0) ::close(write_end);
        write_end = -1;
    }
};

// What execve takes: the texts, which must stay where they are, and a null.
inline std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

}  // namespace deadrank::results::external

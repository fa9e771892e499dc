// inject/shims/core/line_file.h — A file of lines that several threads and processes append to. Each line is
// one system call, so a killed rank loses none and two writers never mix.
#pragma once

#include <mutex>
#include <string>

#include "inject/shims/core/line.h"

namespace deadrank::inject::shims {

class LineFile {
public:
    LineFile() = default;
    explicit LineFile(std::string path) : path_(std::move(path)) {}
    LineFile(const LineFile&) = delete;
    LineFile& operator=(const LineFile&) = delete;
    ~LineFile();

    // Without a path, nothing is written. The file and its directory are made by the first line.
    bool open() const { return !path_.empty(); }
    void write(const Line& line);
    bool empty();  // nobody has written a line yet

private:
    bool ready();

    const std::string path_;
    std::mutex guard_;
    int file_ = -1;
    bool torn_ = false;  // the disk took only the beginning of the last line
};

}  // namespace deadrank::inject::shims

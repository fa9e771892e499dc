// results/record/left_files.h — What a run leaves on the disk: a user who looks only at that has it as the result.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace deadrank::results {

// A file, or a distributed checkpoint: a directory, whose name ends with '/'.
struct LeftFile {
    bool there = true;
    std::int64_t bytes = 0;
    std::string digest;                          // of all bytes
    bool has_tensors = false;                    // it is a file of tensors, and can be read
    std::string trouble;                         // why it cannot be read though its name or its form promises tensors
    std::map<std::string, std::string> tensors;  // name: digest of type, shape and values
};

using LeftFiles = std::map<std::string, LeftFile>;  // by path

}  // namespace deadrank::results

// runners/watch/hook_channel.h — What the watcher and its hooks say to each other beside evidence: a hook,
// through a pipe, that it has turned itself off; the watcher, that it wants to see where ranks stand.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/time.h"

namespace deadrank::runners::watch {

// A pipe takes no room on a full disk.
class HookPipe {
public:
    HookPipe() = default;
    HookPipe(const HookPipe&) = delete;
    HookPipe& operator=(const HookPipe&) = delete;
    ~HookPipe();  // removes it

    // Does nothing where no pipe can be made: hooks then write a line of evidence instead.
    void open(const std::filesystem::path& directory);

    // Calls `line` for each complete line since the last read.
    void read(const std::function<void(std::string_view)>& line);

private:
    std::filesystem::path path_;
    int pipe_ = -1;
    std::string begun_;
};

// Python stacks of these ranks, as far as they come within two seconds. The hooks' threads look for a file.
std::string stacks_of(const std::filesystem::path& evidence, const std::vector<results::Rank>& ranks);

}  // namespace deadrank::runners::watch

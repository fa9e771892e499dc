// runners/backends/process/follow.h — Reads what files gained since the last look: logs of ranks, evidence of
// hooks.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace deadrank::runners {

class Follow {
public:
    // Calls `line` for each whole line that came; true when anything did.
    bool look(const std::filesystem::path& file, const std::function<void(std::string_view)>& line);

    // What is left of lines without an end.
    void rest(const std::function<void(const std::filesystem::path&, std::string_view)>& line);

private:
    struct State {
        std::uintmax_t at = 0;
        std::string begun;
    };
    std::map<std::filesystem::path, State> files_;
};

}  // namespace deadrank::runners

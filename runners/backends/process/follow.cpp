// runners/backends/process/follow.cpp — Files only grow; a look costs one size when nothing came.
#include "runners/backends/process/follow.h"

#include <algorithm>
#include <fstream>
#include <utility>

namespace deadrank::runners {

bool Follow::look(const std::filesystem::path& file, const std::function<void(std::string_view)>& line) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file, error);
    State& state = files_[file];
    if (error || size <= state.at) return false;
    std::ifstream in(file, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(state.at));
    constexpr std::uintmax_t at_once = 4 << 20;  // what a file gained beyond that comes with the next look
    std::string came(std::min(size - state.at, at_once), '\0');
    in.read(came.data(), static_cast<std::streamsize>(came.size()));
    came.resize(static_cast<std::size_t>(in.gcount()));
    state.at += came.size();
    state.begun += came;
    std::size_t begin = 0;
    for (std::size_t end; (end = state.begun.find('\n', begin)) != std::string::npos; begin = end + 1) {
        line(std::string_view(state.begun).substr(begin, end - begin));
    }
    state.begun.erase(0, begin);
    if (state.begun.size() >= at_once) {  // a line without end
        line(state.begun);
        state.begun.clear();
    }
    return true;
}

void Follow::rest(const std::function<void(const std::filesystem::path&, std::string_view)>& line) {
    for (auto& [file, state] : files_) {
        if (!state.begun.empty()) line(file, std::exchange(state.begun, {}));
    }
}

}  // namespace deadrank::runners

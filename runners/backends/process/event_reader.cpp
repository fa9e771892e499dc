// runners/backends/process/event_reader.cpp — Reads lines appended to files since the last look, and turns a
// line of a hook's evidence into an event.
#include "runners/backends/process/event_reader.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "results/record/payload_line.h"

namespace deadrank::runners {

using nlohmann::json;

bool read_event(std::string_view line, std::int64_t started, results::EventSink& sink) {
    const json read = json::parse(line, nullptr, false);
    if (!read.is_object() || !read.contains("t") || !read.contains("kind") || !read["t"].is_number())
        return false;
    results::Event event;
    event.at = results::Time(read["t"].get<std::int64_t>() - started);
    event.rank = read.value("rank", results::no_rank);
    const auto keep = [&](std::string_view words) { return sink.text(words); };
    if (!results::read_payload(read, keep, event.what)) return false;
    sink.record(event);
    return true;
}

// Files only grow, so a look at an unchanged file costs one query of its size.
bool Follow::look(const std::filesystem::path& file, const std::function<void(std::string_view)>& line) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file, error);
    State& state = files_[file];
    if (error || size <= state.at) return false;
    std::ifstream in(file, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(state.at));
    constexpr std::uintmax_t at_once = 4 << 20;  // the rest is read at the next look
    std::string came(std::min(size - state.at, at_once), '\0');
    in.read(came.data(), static_cast<std::streamsize>(came.size()));
    came.resize(static_cast<std::size_t>(in.gcount()));
    if (fills_ == Fills::through_memory) came.resize(std::min(came.size(), came.find('\0')));
    state.at += came.size();
    state.begun += came;
    std::size_t begin = 0;
    for (std::size_t end; (end = state.begun.find('\n', begin)) != std::string::npos; begin = end + 1) {
        line(std::string_view(state.begun).substr(begin, end - begin));
    }
    state.begun.erase(0, begin);
    if (state.begun.size() >= at_once) {  // an endless line is passed on in pieces
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

// runners/backends/process/event_reader.cpp — Reads lines appended to files since the last look, and turns a
// line of a hook's evidence into an event.
#include "runners/backends/process/event_reader.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace deadrank::runners {

// ── Each payload type lists its fields; those are looked up in the line.

using nlohmann::json;

namespace {

double real(const json& value) {
    if (value.is_number()) return value.get<double>();
    const std::string text = value.is_string() ? value.get<std::string>() : "nan";
    if (text.find("inf") == std::string::npos) return std::numeric_limits<double>::quiet_NaN();
    return text.starts_with('-') ? -std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::infinity();
}

struct EventFields {
    const json& line;
    results::EventSink& sink;

    template <class T>
    void operator()(const char* name, T& field) const {
        const auto found = line.find(name);
        if (found == line.end()) return;
        read(*found, field);
    }

    void read(const json& value, results::TextId& field) const {
        field = sink.text(value.is_string() ? value.get<std::string>() : value.dump());
    }
    void read(const json& value, results::Op& field) const { field = results::op_named(word(value)); }
    void read(const json& value, results::Dtype& field) const { field = results::dtype_named(word(value)); }
    void read(const json& value, results::ReduceOp& field) const {
        field = results::reduce_op_named(word(value));
    }
    void read(const json& value, results::Phase& field) const { field = results::phase_named(word(value)); }
    void read(const json& value, results::Code& field) const { field = results::code_named(word(value)); }
    void read(const json& value, double& field) const { field = real(value); }
    template <class Integer>
    void read(const json& value, Integer& field) const {
        if (value.is_number()) field = value.get<Integer>();
    }
    static std::string word(const json& value) {
        return value.is_string() ? value.get<std::string>() : std::string();
    }
};

template <std::size_t Index = 0>
bool fill(const std::string& kind, const EventFields& reader, results::Payload& payload) {
    if constexpr (Index < std::variant_size_v<results::Payload>) {
        using Kind = std::variant_alternative_t<Index, results::Payload>;
        if (kind != Kind::kind) return fill<Index + 1>(kind, reader, payload);
        Kind value{};
        Kind::fields(value, reader);
        payload = value;
        return true;
    } else {
        return false;
    }
}

}  // namespace

bool read_event(std::string_view line, std::int64_t started, results::EventSink& sink) {
    const json read = json::parse(line, nullptr, false);
    if (!read.is_object() || !read.contains("t") || !read.contains("kind") || !read["t"].is_number())
        return false;
    results::Event event;
    event.at = results::Time(read["t"].get<std::int64_t>() - started);
    event.rank = read.value("rank", results::no_rank);
    if (!fill(read["kind"].get<std::string>(), EventFields{read, sink}, event.what)) return false;
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

// results/record/text_file.cpp — Writes beside the file, then renames over it.
#include "results/record/text_file.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <functional>

namespace deadrank::results {

using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

scenarios::Result<void> refuse_to_write(const std::filesystem::path& file) {
    return refuse(ErrorCode::io, "cannot be written",
                  "choose a directory that you may write to and that has room", {file.string()});
}

bool put_into(std::string_view text, const std::filesystem::path& file) {
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    return static_cast<bool>(out);
}

// /dev/stdout, /dev/null, a pipe: renaming over one would replace it.
bool is_special(const std::filesystem::path& file) {
    std::error_code ignored;
    const auto status = std::filesystem::status(file, ignored);
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

}  // namespace

scenarios::Result<void> write_text(std::string_view text, const std::filesystem::path& file) {
    if (is_special(file)) return put_into(text, file) ? scenarios::Result<void>() : refuse_to_write(file);
    std::error_code trouble;
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), trouble);
    std::filesystem::path beside = file;
    beside += ".part";
    const bool whole = put_into(text, beside);
    if (whole) std::filesystem::rename(beside, file, trouble);
    if (whole && !trouble) return {};
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    return refuse_to_write(file);
}

std::string file_name_of(std::string_view name) {
    constexpr std::size_t longest = 200;  // of the 255 bytes of most file systems
    if (name.empty()) return "%";
    if (name == ".") return "%2E";
    if (name == "..") return "%2E%2E";
    std::string out;
    for (const char letter : name) {
        const auto byte = static_cast<unsigned char>(letter);
        const bool plain = byte > ' ' && byte != 0x7f && letter != '/' && letter != '\\' && letter != '%';
        out += plain ? std::string(1, letter) : fmt::format("%{:02X}", byte);
    }
    if (out.size() > longest)
        out = fmt::format("{}%{:016x}", out.substr(0, longest), std::hash<std::string>{}(out));
    return out;
}

std::filesystem::path relative_path_of(std::string_view name) {
    std::filesystem::path path;
    while (!name.empty()) {
        const std::size_t slash = name.find('/');
        const std::string_view part = name.substr(0, slash);
        if (!part.empty()) path /= file_name_of(part);
        name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
    }
    return path;
}

scenarios::Result<std::filesystem::path> path_below(const std::filesystem::path& directory,
                                                    std::string_view name) {
    const std::filesystem::path path(name);
    const bool leaves = std::any_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
    if (!name.empty() && path.is_relative() && !leaves && name.find('\0') == std::string_view::npos)
        return directory / path;
    return refuse(ErrorCode::bad_input, fmt::format("'{}' is not a file below {}", name, directory.string()),
                  "give it a name without '..' and without a '/' in front");
}

}  // namespace deadrank::results

// results/record/text_file.cpp — Writes beside the file, then renames over it.
#include "results/record/text_file.h"

#include <fmt/format.h>
#include <fstream>

namespace deadrank::results {

using scenarios::ErrorCode;
using scenarios::refuse;

scenarios::Result<void> write_text(std::string_view text, const std::filesystem::path& file) {
    std::error_code trouble;
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), trouble);
    std::filesystem::path beside = file;
    beside += ".part";
    std::ofstream out(beside, std::ios::binary);
    out << text;
    out.close();
    if (out) std::filesystem::rename(beside, file, trouble);
    if (!out || trouble) {
        std::error_code ignored;
        std::filesystem::remove(beside, ignored);
        return refuse(ErrorCode::io, "cannot be written",
                      "choose a directory that you may write to and that has room", {file.string()});
    }
    return {};
}

}  // namespace deadrank::results

// results/text/text_file.h — A text to disk and back, with the place and a remedy when the disk refuses.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "scenarios/model/error.h"

namespace deadrank::results::reports {

// Makes the directory where it is missing; writes beside and renames, so that a reader never sees half a
// file.
scenarios::Result<void> write_text(std::string_view text, const std::filesystem::path& file);
scenarios::Result<std::string> read_text(const std::filesystem::path& file);

}  // namespace deadrank::results::reports

// results/record/text_file.h — Writes a text to disk; an error names the file and a remedy.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "scenarios/model/error.h"

namespace deadrank::results {

// Creates a missing directory; writes beside the file and renames, so that a reader never sees half a file.
scenarios::Result<void> write_text(std::string_view text, const std::filesystem::path& file);

}  // namespace deadrank::results

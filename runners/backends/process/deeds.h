// runners/backends/process/deeds.h — The ways back, by name and by hand.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "runners/backends/process/journal.h"

namespace deadrank::runners {

std::string_view name_of(Deed::Undo undo);
std::optional<Deed::Undo> undo_named(std::string_view name);

// Doing it twice is as good as once. Whatever cannot be done is said, and nothing else is touched.
Undone revert(const Deed& deed);

// The directory and all in it, the mark `.deadrank` last: what a kill in the middle leaves still bears it.
void remove_marked(const std::filesystem::path& directory, std::error_code& trouble);

}  // namespace deadrank::runners

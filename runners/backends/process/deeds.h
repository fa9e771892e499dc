// runners/backends/process/deeds.h — The ways back, by name and by hand.
#pragma once

#include <optional>
#include <string_view>

#include "runners/backends/process/journal.h"

namespace deadrank::runners {

std::string_view name_of(Deed::Undo undo);
std::optional<Deed::Undo> undo_named(std::string_view name);

// Doing it twice is as good as once. Whatever cannot be done is said, and nothing else is touched.
Undone revert(const Deed& deed);

}  // namespace deadrank::runners

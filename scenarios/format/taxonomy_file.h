// scenarios/format/taxonomy_file.h — Reads taxonomy.toml.
#pragma once

#include <filesystem>

#include "scenarios/model/taxonomy.h"

namespace deadrank::scenarios {

// Errors name the place of an entry that is incomplete or refers to an id that is not defined.
Result<Taxonomy> load_taxonomy(const std::filesystem::path& file);

}  // namespace deadrank::scenarios

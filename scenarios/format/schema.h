// scenarios/format/schema.h — The scenario format as a JSON Schema, for editors that complete and check TOML
// while one types (taplo, Even Better TOML). It knows every word the loader knows; what only a seed can
// decide, only the loader refuses.
#pragma once

#include <string>

#include "scenarios/model/taxonomy.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

// JSON Schema draft 7, indented. The same words give the same bytes.
std::string editor_schema(const Taxonomy& taxonomy, const Vocabulary& vocabulary);

}  // namespace deadrank::scenarios

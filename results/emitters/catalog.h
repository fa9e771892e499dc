// results/emitters/catalog.h — The formats that a run can be written in, by name, for the tools that read
// them.
#pragma once

#include <string_view>
#include <vector>

#include "results/emitters/files.h"
#include "results/emitters/snapshot.h"

namespace deadrank::results::emitters {

struct Emitter {
    std::string_view name;
    std::string_view what;  // which files, for whom
    std::vector<EmittedFile> (*emit)(const Evidence& evidence, const Snapshot& snapshot);
};

// In the order of `deadrank emit --list`.
const std::vector<Emitter>& all_emitters();
const Emitter* find_emitter(std::string_view name);

}  // namespace deadrank::results::emitters

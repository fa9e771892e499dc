// scenarios/model/taxonomy.cpp — Looking entries up by id.
#include "scenarios/model/taxonomy.h"

#include <algorithm>

namespace deadrank::scenarios {

const TaxonomyEntry* find(const std::vector<TaxonomyEntry>& entries, std::string_view id) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const TaxonomyEntry& entry) { return entry.id == id; });
    return found == entries.end() ? nullptr : &*found;
}

std::vector<std::string> ids(const std::vector<TaxonomyEntry>& entries) {
    std::vector<std::string> all;
    for (const TaxonomyEntry& entry : entries) all.push_back(entry.id);
    return all;
}

}  // namespace deadrank::scenarios

// scenarios/model/vocabulary.cpp — Look-ups by name.
#include "scenarios/model/vocabulary.h"

#include <algorithm>

#include "scenarios/model/release.h"

namespace deadrank::scenarios {

namespace {

const Kind* named(const std::vector<Kind>& kinds, std::string_view name) {
    const auto found =
        std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) { return kind.name == name; });
    return found == kinds.end() ? nullptr : &*found;
}

}  // namespace

const Kind* Vocabulary::fault(std::string_view name) const { return named(faults, name); }
const Kind* Vocabulary::workload(std::string_view name) const {
    return name == release_workload ? &release_kind() : named(workloads, name);
}

bool any_needed(std::string_view needs, const std::function<bool(std::string_view)>& asked) {
    constexpr std::string_view or_else = " or ";
    for (;;) {
        const auto end = needs.find(or_else);
        if (asked(needs.substr(0, end))) return true;
        if (end == std::string_view::npos) return false;
        needs.remove_prefix(end + or_else.size());
    }
}

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

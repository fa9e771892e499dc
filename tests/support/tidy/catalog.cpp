// tests/support/tidy/catalog.cpp — What belongs together lies together: faults, their scenarios, and the
// golden logs.
#include <algorithm>
#include <set>
#include <string>

#include "tests/support/tidy/tidy.h"

namespace deadrank::tests {

namespace {

constexpr std::string_view catalog = "scenarios/catalog/";

bool is_scenario(const SourceFile& file) {
    return file.path.starts_with(catalog) && file.path.ends_with(".toml");
}

// What the rows of a family's file call its faults.
std::vector<std::string> kinds_of(const SourceFile& fault) {
    constexpr std::string_view opening = ".name = \"";
    std::vector<std::string> kinds;
    for (std::size_t at = fault.text.find(opening); at != std::string::npos;
         at = fault.text.find(opening, at + 1)) {
        const std::size_t begin = at + opening.size();
        kinds.push_back(fault.text.substr(begin, fault.text.find('"', begin) - begin));
    }
    return kinds;
}

bool uses(const SourceFile& scenario, const std::string& kind) {
    return scenario.text.find("kind = \"" + kind + "\"") != std::string::npos;
}

}  // namespace

Complaints check_faults_have_scenarios(const Tree& tree, const std::vector<std::string_view>& waiting) {
    Complaints complaints;
    for (const SourceFile& fault : tree) {
        if (!fault.path.starts_with("inject/faults/") ||
            fault.path.find("/fault_catalog.") != std::string::npos)
            continue;
        const std::vector<std::string> kinds = kinds_of(fault);
        if (kinds.empty()) complaints.push_back({fault.path, "does not say what the fault is called"});
        for (const std::string& kind : kinds) {
            const bool used = std::any_of(tree.begin(), tree.end(), [&](const SourceFile& file) {
                return is_scenario(file) && uses(file, kind);
            });
            if (std::count(waiting.begin(), waiting.end(), kind) > 0) {
                if (used)
                    complaints.push_back({fault.path, kind + " has a scenario now: strike it off the list"});
                continue;
            }
            if (used) continue;
            complaints.push_back({fault.path, "no scenario uses the fault " + kind + ": add one to " +
                                                  std::string(catalog) + " with kind = \"" + kind + "\""});
        }
    }
    return complaints;
}

Complaints check_scenarios_have_goldens(const Tree& tree) {
    Complaints complaints;
    for (const SourceFile& scenario : tree) {
        if (!is_scenario(scenario) || uses(scenario, "python")) continue;  // digits of floats are torch's
        std::string id = scenario.path.substr(catalog.size());
        id.resize(id.size() - std::string_view(".toml").size());
        const std::string golden = "tests/golden/" + id + ".";
        const bool found = std::any_of(tree.begin(), tree.end(),
                                       [&](const SourceFile& file) { return file.path.starts_with(golden); });
        if (!found) {
            complaints.push_back({scenario.path, "has no " + golden +
                                                     "*: run the tests with UPDATE_GOLDEN=1, and "
                                                     "review what they wrote"});
        }
    }
    return complaints;
}

}  // namespace deadrank::tests

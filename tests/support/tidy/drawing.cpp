// tests/support/tidy/drawing.cpp — docs/structure.md, drawn from the rows of CMake: folders in layers, each
// above all that it uses, and the arrows that do not follow from others.
#include <algorithm>
#include <sstream>

#include "tests/support/tidy/tidy.h"

namespace deadrank::tests {

namespace {

class Drawing {
public:
    explicit Drawing(const ModuleRows& rows) : rows_(rows) {
        for (const auto& [folder, uses] : rows_) layers_ = std::max(layers_, layer(folder) + 1);
    }

    std::string page() {
        std::ostringstream out;
        out << "# How the folders stand on each other\n\n"
               "Written by the tests from the rows of CMake (`UPDATE_DOCS=1 build/tests/deadrank_tests\n"
               "--gtest_filter='TidyHouse.IsDrawn'`). A folder uses folders of lower layers alone: no arrow "
               "runs\n"
               "up, and there is no circle. An arrow that follows from two others is left out.\n\n"
               "| layer | folders |\n|---|---|\n";
        for (std::size_t number = layers_; number-- > 0;) {
            out << "| " << number << " |";
            const char* between = " ";
            for (const auto& [folder, uses] : rows_) {
                if (layer(folder) != number) continue;
                out << between << '`' << folder << '`';
                between = ", ";
            }
            out << " |\n";
        }
        out << "\n```mermaid\nflowchart TD\n";
        for (const auto& [folder, uses] : rows_) {
            for (const std::string& used : uses) {
                if (!follows(folder, used)) out << "    " << id(folder) << " --> " << id(used) << "\n";
            }
        }
        out << "```\n";
        return out.str();
    }

private:
    static std::string id(const std::string& folder) {
        std::string name = folder;
        std::replace(name.begin(), name.end(), '/', '_');
        return name + "[" + folder + "]";
    }

    // One more than the highest of what it uses. The rows form no circle: another test says so.
    std::size_t layer(const std::string& folder) {
        if (const auto known = found_.find(folder); known != found_.end()) return known->second;
        found_[folder] = 0;
        std::size_t height = 0;
        if (const auto row = rows_.find(folder); row != rows_.end()) {
            for (const std::string& used : row->second) height = std::max(height, layer(used) + 1);
        }
        return found_[folder] = height;
    }

    bool reaches(const std::string& from, const std::string& to) const {
        if (from == to) return true;
        const auto row = rows_.find(from);
        if (row == rows_.end()) return false;
        return std::any_of(row->second.begin(), row->second.end(),
                           [&](const std::string& next) { return reaches(next, to); });
    }

    bool follows(const std::string& folder, const std::string& used) const {
        const auto& row = rows_.at(folder);
        return std::any_of(row.begin(), row.end(),
                           [&](const std::string& other) { return other != used && reaches(other, used); });
    }

    const ModuleRows& rows_;
    std::map<std::string, std::size_t> found_;
    std::size_t layers_ = 0;
};

}  // namespace

std::string structure_page(const ModuleRows& rows) { return Drawing(rows).page(); }

}  // namespace deadrank::tests

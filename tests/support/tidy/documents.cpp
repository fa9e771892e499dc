// tests/support/tidy/documents.cpp — Every file and folder that a page names exists.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fnmatch.h>
#include <set>
#include <string>

#include "tests/support/tidy/tidy.h"

namespace deadrank::tests {

namespace {

namespace fs = std::filesystem;

// Files and folders by path, and the files' names alone.
struct Names {
    std::set<std::string> paths, basenames;
};

Names names_of(const Tree& tree) {
    Names names;
    for (const SourceFile& file : tree) {
        const fs::path path(file.path);
        names.basenames.insert(path.filename().generic_string());
        for (fs::path at = path; !at.empty(); at = at.parent_path()) names.paths.insert(at.generic_string());
    }
    return names;
}

bool matches_one(const std::set<std::string>& names, const std::string& pattern) {
    if (names.count(pattern) > 0) return true;
    if (pattern.find('*') == std::string::npos) return false;
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0;
    });
}

bool is_path_in(const Names& names, const fs::path& path) {
    std::string normal = path.lexically_normal().generic_string();
    if (normal.ends_with('/')) normal.pop_back();
    return normal == "." || matches_one(names.paths, normal);
}

bool is_source(std::string_view name) {
    constexpr std::array<std::string_view, 4> endings = {".h", ".cpp", ".cu", ".cmake"};
    return std::any_of(endings.begin(), endings.end(), [&](auto ending) { return name.ends_with(ending); });
}

bool could_be_path(std::string_view text) {
    return !text.empty() && text.front() != '/' && text.front() != '-' &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) {
               return std::isalnum(c) ||
                      std::string_view("_./*-").find(static_cast<char>(c)) != std::string::npos;
           });
}

// A component in capitals stands for any name: scenarios/catalog/STAGE/NAME.toml.
bool has_placeholder(const fs::path& path) {
    return std::any_of(path.begin(), path.end(), [](const fs::path& part) {
        const std::string name = part.stem().generic_string();
        return !name.empty() && std::isupper(static_cast<unsigned char>(name.front())) &&
               std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c); });
    });
}

// A word of the page names something of the repository if it begins with one of its folders or ends as its
// sources do. All others are files of users and runs.
bool is_dead(const Names& names, const fs::path& folder, const std::string& word) {
    if (!could_be_path(word)) return false;
    if (word.find('/') == std::string::npos) return is_source(word) && !matches_one(names.basenames, word);
    const fs::path path(word);
    const std::string first = path.begin()->generic_string();
    const bool ours = is_source(word) || is_path_in(names, first) || is_path_in(names, folder / first);
    return ours && !(has_placeholder(path) && !is_path_in(names, folder / path)) &&
           !is_path_in(names, path) && !is_path_in(names, folder / path);
}

// The target of a link, without the place in its page; empty for one that leads out of the repository.
std::string local_target(std::string target) {
    target.resize(std::min(target.find('#'), target.size()));
    const std::size_t colon = target.find(':');
    return colon == std::string::npos ? target : std::string();
}

}  // namespace

Complaints check_names_in_pages(const Tree& tree) {
    const Names names = names_of(tree);
    Complaints complaints;
    for (const SourceFile& page : tree) {
        if (!page.path.ends_with(".md")) continue;
        const fs::path folder = fs::path(page.path).parent_path();
        bool fenced = false;  // commands and files of users
        std::size_t number = 0;
        for (std::size_t begin = 0; begin < page.text.size();) {
            const std::size_t end = std::min(page.text.find('\n', begin), page.text.size());
            const std::string line = page.text.substr(begin, end - begin);
            begin = end + 1;
            ++number;
            const std::string where = page.path + ":" + std::to_string(number);
            if (line.find("```") != std::string::npos) fenced = !fenced;
            if (fenced) continue;
            for (std::size_t at = line.find('`'); at != std::string::npos;) {
                const std::size_t close = line.find('`', at + 1);
                if (close == std::string::npos) break;
                const std::string word = line.substr(at + 1, close - at - 1);
                if (is_dead(names, folder, word))
                    complaints.push_back({where, "names " + word + ", which does not exist"});
                at = line.find('`', close + 1);
            }
            for (std::size_t at = line.find("]("); at != std::string::npos; at = line.find("](", at + 1)) {
                const std::size_t close = line.find(')', at);
                if (close == std::string::npos) break;
                const std::string target = local_target(line.substr(at + 2, close - at - 2));
                if (!target.empty() && !is_path_in(names, folder / target))
                    complaints.push_back({where, "links to " + target + ", which does not exist"});
            }
        }
    }
    return complaints;
}

}  // namespace deadrank::tests

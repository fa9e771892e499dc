// tests/support/tidy/documents.cpp — Every file and folder that a page names exists, and quoted code is the
// code.
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fnmatch.h>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/tidy/tidy.h"

namespace deadrank::tests {

namespace {

namespace fs = std::filesystem;

bool is_page(std::string_view path) { return path.ends_with(".md") || path == "llms.txt"; }

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

// Files that a page may name although they are not in the tree: users write them, runs write them, or they
// belong to other projects. Each is a pattern of the whole word.
bool is_elsewhere(const std::string& word) {
    constexpr std::array files_of_users = {
        "mine.*", "bugs.txt", "step3/model.pt", "communication/at_64.*", "bounded.py", "fixed.py"};
    constexpr std::array files_of_runs = {"evidence.jsonl",   "plan.*",    "report.html",
                                          "sweep.html",       "lessons/",  "lessons/*.html",
                                          "lessons/*/*.html", "incident/", "out/alerts/*.test.yml",
                                          "dist-info/sboms/*"};
    // Tests of torch and of the projects in docs/measurements/mutation_of_suites.md; programs that were
    // watched.
    constexpr std::array files_of_others = {"test_*.py",       "*/test_*.py",         "*/*/test_*.py",
                                            "*/*/*/test_*.py", "distributed_test.py", "users/*.py"};
    const auto has = [&](const auto& patterns) {
        return std::any_of(patterns.begin(), patterns.end(), [&](const char* pattern) {
            return fnmatch(pattern, word.c_str(), FNM_PATHNAME) == 0;
        });
    };
    return has(files_of_users) || has(files_of_runs) || has(files_of_others);
}

// True for a word that names a file or a folder by its form alone: sim/engine/, commands/*, train.py.
bool has_form_of_path(std::string_view word) {
    constexpr std::array<std::string_view, 14> endings = {".h",   ".cpp",  ".cu",  ".cmake", ".py",
                                                          ".sh",  ".toml", ".md",  ".jsonl", ".json",
                                                          ".yml", ".html", ".txt", ".js"};
    const bool in_folder = word.find('/') != std::string_view::npos;
    if (word.ends_with('/') || (in_folder && word.find('*') != std::string_view::npos)) return true;
    return std::any_of(endings.begin(), endings.end(),
                       [&](auto ending) { return word.size() > ending.size() && word.ends_with(ending); });
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
        std::string name = part.generic_string();
        name.resize(std::min(name.find('.'), name.size()));
        return !name.empty() && std::isupper(static_cast<unsigned char>(name.front())) &&
               std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c); });
    });
}

// A word names something of the repository if it has the form of a path, or begins with a folder that is at
// the root, beside the page, or a stage of the catalogue. A file may be named without its folder.
bool is_dead(const Names& names, const fs::path& folder, const std::string& word) {
    if (!could_be_path(word) || is_elsewhere(word)) return false;
    const fs::path path(word), scenario_files("scenarios/catalog");
    const bool alone = word.find('/') == std::string::npos;
    const std::string first = path.begin()->generic_string();
    const bool begins_here = !alone && (is_path_in(names, first) || is_path_in(names, folder / first) ||
                                        is_path_in(names, scenario_files / first));
    if (!begins_here && !has_form_of_path(word)) return false;
    if (is_path_in(names, path) || is_path_in(names, folder / path)) return false;
    if (alone && matches_one(names.basenames, word)) return false;
    return !has_placeholder(path) && !is_path_in(names, scenario_files / (word + ".toml"));
}

// The target of a link, without the place in its page; empty for one that leads out of the repository.
std::string local_target(std::string target) {
    target.resize(std::min(target.find('#'), target.size()));
    const std::size_t colon = target.find(':');
    return colon == std::string::npos ? target : std::string();
}

std::string without_white_space(std::string text) {
    std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
    return text;
}

// "sim/clock.h" of the line "// sim/clock.h: time"; empty for a line that begins no quotation.
std::string quoted_path(const std::string& line) {
    if (!line.starts_with("// ")) return {};
    std::string word = line.substr(3, line.find(' ', 3) - 3);
    if (word.ends_with(':')) word.pop_back();
    return is_cpp(word) && word.find('/') != std::string::npos ? word : std::string();
}

// What a quoted line has between its ellipses.
std::vector<std::string> pieces_of(const std::string& line) {
    constexpr std::string_view ellipsis = "…";
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at <= line.size();) {
        const std::size_t end = std::min(line.find(ellipsis, at), line.size());
        const std::size_t first = line.find_first_not_of(' ', at);
        if (first < end) {
            const std::size_t last = line.find_last_not_of(' ', end - 1);
            pieces.push_back(line.substr(first, last - first + 1));
        }
        at = end + ellipsis.size();
    }
    return pieces;
}

}  // namespace

Complaints check_names_in_pages(const Tree& tree) {
    const Names names = names_of(tree);
    Complaints complaints;
    for (const SourceFile& page : tree) {
        if (!is_page(page.path)) continue;
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

Complaints check_quoted_code(const Tree& tree) {
    std::map<std::string, std::string> code;  // path -> text without white space
    for (const SourceFile& file : tree) {
        if (is_cpp(file.path)) code[file.path] = without_white_space(file.text);
    }
    Complaints complaints;
    for (const SourceFile& page : tree) {
        if (!is_page(page.path)) continue;
        std::istringstream lines(page.text);
        std::string fence, quoted;  // language of the block, empty outside of one; file that is quoted
        std::size_t number = 0;
        for (std::string line; std::getline(lines, line);) {
            const std::string where = page.path + ":" + std::to_string(++number);
            if (line.starts_with("```")) {
                fence = fence.empty() ? line : std::string();
                quoted.clear();
                continue;
            }
            const bool is_diff = fence == "```diff";
            if (!(is_diff || fence == "```cpp") || (is_diff && line.starts_with('+'))) continue;
            if (is_diff && !line.empty()) line.erase(0, 1);
            if (const std::string path = quoted_path(line); !path.empty()) {
                quoted = path;
                if (code.count(path) == 0)
                    complaints.push_back({where, "quotes " + path + ", which does not exist"});
                continue;
            }
            const auto file = code.find(quoted);
            if (file == code.end()) continue;
            for (const std::string& piece : pieces_of(line)) {
                if (file->second.find(without_white_space(piece)) == std::string::npos)
                    complaints.push_back({where, "quotes `" + piece + "`, which is not in " + quoted});
            }
        }
    }
    return complaints;
}

}  // namespace deadrank::tests

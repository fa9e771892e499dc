// tests/support/tidy/modules.cpp — One folder is one library: the rows of CMake are the include arrows. They
// form no circle, a folder with sources has no folder with sources in it, and is small enough to be read.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tests/support/tidy/tidy.h"

namespace deadrank::tests {

namespace {

constexpr std::size_t files_most = 40;

bool opens_a_type(std::string_view line) {
    for (const std::string_view word : {"namespace", "struct", "class", "enum", "union", "extern \"C\""}) {
        if (line.starts_with(word)) return true;
    }
    return false;
}

std::string folder_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return std::string(path.substr(0, slash == std::string_view::npos ? 0 : slash));
}

bool is_product(std::string_view path) {
    return is_cpp(path) && path.find('/') != std::string_view::npos && !path.starts_with("tests/");
}

// Programs and shared libraries are no modules: what they may use stands here.
ModuleRows rows_of_programs() {
    const std::set<std::string> shim = {"inject/core", "inject/shims/core", "results/record",
                                        "scenarios/model"};
    ModuleRows rows = {
        {"inject/standin/device", {}},
        {"inject/standin/driver", {"inject/standin/device"}},
        {"inject/standin/exchange", {"results/record", "scenarios/model"}},
        {"inject/standin/kernels", {}},
        {"inject/standin/nccl",
         {"inject/core", "inject/shims/core", "inject/standin/device", "inject/standin/exchange",
          "results/record", "scenarios/model"}},
        {"inject/standin/nvml", {"inject/standin/device"}},
        {"inject/standin/operators", {"inject/standin/device"}},
        {"inject/standin/runtime", {"inject/standin/device", "inject/standin/kernels"}},
        {"runners/crew", {}},
        {"runners/backends/mpi_rank", {"runners/backends/ranks"}},
        {"runners/backends/gpu_rank",
         {"results/record", "runners/backends/ranks", "scenarios/model", "sim/collectives", "sim/machine",
          "sim/world"}},
    };
    for (const char* one : {"core", "env", "files", "mpi", "nccl", "net", "profiler", "sockets"})
        rows[std::string("inject/shims/") + one] = shim;
    rows["inject/shims/core"].erase("inject/shims/core");
    return rows;
}

void visit(const ModuleRows& rows, const std::string& folder, std::vector<std::string>& way,
           std::set<std::string>& done, Complaints& complaints) {
    const auto before = std::find(way.begin(), way.end(), folder);
    if (before != way.end()) {
        std::string circle;
        for (auto at = before; at != way.end(); ++at) circle += *at + " -> ";
        complaints.push_back({folder, "is in a circle: " + circle + folder});
        return;
    }
    if (done.count(folder) > 0) return;
    way.push_back(folder);
    if (const auto row = rows.find(folder); row != rows.end()) {
        for (const std::string& next : row->second) visit(rows, next, way, done, complaints);
    }
    way.pop_back();
    done.insert(folder);
}

}  // namespace

namespace {

// The words of each row behind one of its keywords: folder -> words.
ModuleRows words_of_rows(const Tree& tree, std::string_view keyword) {
    ModuleRows rows;
    constexpr std::string_view opening = "deadrank_module(";
    for (const SourceFile& file : tree) {
        if (!file.path.ends_with("CMakeLists.txt")) continue;
        for (std::size_t at = file.text.find(opening); at != std::string::npos;
             at = file.text.find(opening, at + 1)) {
            const std::size_t begin = at + opening.size();
            std::istringstream words(file.text.substr(begin, file.text.find(')', begin) - begin));
            std::string folder, word;
            words >> folder;
            bool wanted = false;
            std::set<std::string>& row = rows[folder];
            while (words >> word) {
                if (word == "USES" || word == "LIBS" || word == "PRIVATE_LIBS" || word == "HEADERS") {
                    wanted = word == keyword;
                } else if (wanted) {
                    row.insert(word);
                }
            }
        }
    }
    return rows;
}

}  // namespace

ModuleRows module_rows(const Tree& tree) {
    ModuleRows rows = rows_of_programs();
    rows.merge(words_of_rows(tree, "USES"));
    return rows;
}

Complaints check_public_door(const Tree& tree) {
    constexpr std::size_t headers_most = 60;
    std::map<std::string, const SourceFile*> files;
    for (const SourceFile& file : tree) files.emplace(file.path, &file);
    std::set<std::string> installed;
    for (const auto& [folder, names] : words_of_rows(tree, "HEADERS")) {
        for (const std::string& name : names) installed.insert(folder + "/" + name);
    }
    Complaints complaints;
    for (const std::string& header : installed) {
        const auto file = files.find(header);
        if (file == files.end()) {
            complaints.push_back({header, "is to be installed and does not exist"});
            continue;
        }
        for (const auto& [line, target] : own_includes(*file->second)) {
            if (installed.count(target) == 0)
                complaints.push_back({header + ":" + std::to_string(line),
                                      "is installed and includes " + target + ", which is not"});
        }
    }
    if (installed.size() > headers_most)
        complaints.push_back({"HEADERS", std::to_string(installed.size()) + " headers are installed; " +
                                             std::to_string(headers_most) + " are as many as one can learn"});
    return complaints;
}

Complaints check_basenames(const Tree& tree) {
    std::map<std::string, std::string> seen;  // name without extension -> path without extension
    Complaints complaints;
    for (const SourceFile& file : tree) {
        if (!is_product(file.path)) continue;
        const std::string stem = file.path.substr(0, file.path.rfind('.'));
        const std::string name = stem.substr(stem.rfind('/') + 1);
        const auto [at, fresh] = seen.emplace(name, stem);
        if (!fresh && at->second != stem)
            complaints.push_back({file.path, "has the name of " + at->second + ": say which one it is"});
    }
    return complaints;
}

Complaints check_module_arrows(const Tree& tree) {
    Complaints complaints;
    const ModuleRows rows = module_rows(tree);
    for (const SourceFile& file : tree) {
        if (!is_product(file.path)) continue;
        const std::string folder = folder_of(file.path);
        const auto row = rows.find(folder);
        if (row == rows.end()) {
            complaints.push_back(
                {file.path, "lies in a folder that is no module: give it a deadrank_module row"});
            continue;
        }
        for (const auto& [line, target] : own_includes(file)) {
            const std::string other = folder_of(target);
            if (other.empty() || other == folder || row->second.count(other) > 0) continue;
            complaints.push_back(
                {file.path + ":" + std::to_string(line),
                 "includes " + target + ", but the row of " + folder + " does not use " + other});
        }
    }
    return complaints;
}

Complaints check_module_circles(const Tree& tree) {
    Complaints complaints;
    const ModuleRows rows = module_rows(tree);
    std::set<std::string> done;
    for (const auto& [folder, uses] : rows) {
        std::vector<std::string> way;
        visit(rows, folder, way, done, complaints);
    }
    return complaints;
}

Complaints check_folders(const Tree& tree) {
    Complaints complaints;
    std::map<std::string, std::size_t> sizes;
    for (const SourceFile& file : tree) {
        if (is_product(file.path)) ++sizes[folder_of(file.path)];
    }
    for (const auto& [folder, count] : sizes) {
        if (count > files_most)
            complaints.push_back({folder, "holds " + std::to_string(count) + " C++ files; " +
                                              std::to_string(files_most) + " are as many as one can survey"});
        for (std::string above = folder_of(folder); !above.empty(); above = folder_of(above)) {
            if (sizes.count(above) > 0)
                complaints.push_back({folder, "lies below " + above + ", which holds sources itself"});
        }
    }
    return complaints;
}

// As clang-format writes it, a function ends with a `}` in the column of its first line: the first column,
// or, for the member of a class, the fifth.
Complaints check_function_lengths(const SourceFile& file) {
    constexpr std::size_t lines_most = 60, member_indent = 4;
    struct Line {
        std::size_t number = 0;
        std::string text;
    };
    Complaints complaints;
    if (!is_product(file.path)) return complaints;
    Line at_scope, in_class;  // the last line seen in each of the two columns
    const auto end = [&](const Line& head, std::size_t number) {
        const std::size_t lines = number - head.number + 1;
        if (lines > lines_most)
            complaints.push_back({file.path + ":" + std::to_string(head.number),
                                  std::to_string(lines) + " lines in one function, " +
                                      std::to_string(lines_most) + " are the bound: " + head.text});
    };
    std::istringstream text(file.text);
    std::size_t number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        const std::size_t indent = line.find_first_not_of(' ');
        if (indent == std::string::npos || line.substr(indent).starts_with("//")) continue;
        const bool in_type = opens_a_type(at_scope.text);
        if (indent == 0) {
            if (line == "}" && !in_type) end(at_scope, number);
            at_scope = {number, line};
            in_class = {};
        } else if (indent == member_indent && in_type) {
            const std::string member = line.substr(indent);
            if (member == "}" && !opens_a_type(in_class.text)) end(in_class, number);
            in_class = {number, member};
        }
    }
    return complaints;
}

}  // namespace deadrank::tests

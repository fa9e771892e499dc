// tests/support/tidy/modules.cpp — One folder is one library: the rows of CMake are the include arrows. They
// form no circle.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tests/support/tidy/tidy.h"

namespace deadrank::tests {

namespace {

std::string folder_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return std::string(path.substr(0, slash == std::string_view::npos ? 0 : slash));
}

// sim/examples is a project of its own on the installed package. cmake/glibc stands in for a system library.
bool is_product(std::string_view path) {
    return is_cpp(path) && !path.starts_with("sim/examples/") && !path.starts_with("cmake/") &&
           path.find('/') != std::string_view::npos && !path.starts_with("tests/");
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
        {"inject/standin/runtime/cuda12", {"inject/standin/device", "inject/standin/runtime"}},
        {"inject/standin/runtime/cuda13", {"inject/standin/device", "inject/standin/runtime"}},
        {"runners/campaign/mpi_bridge", {}},
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

Complaints check_unused_rows(const Tree& tree) {
    ModuleRows included;
    for (const SourceFile& file : tree) {
        if (!is_product(file.path)) continue;
        for (const auto& [line, target] : own_includes(file))
            included[folder_of(file.path)].insert(folder_of(target));
    }
    Complaints complaints;
    for (const auto& [folder, uses] : words_of_rows(tree, "USES")) {
        for (const std::string& other : uses) {
            if (included[folder].count(other) > 0) continue;
            complaints.push_back({folder, "its row uses " + other + ", which none of its files includes"});
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

}  // namespace deadrank::tests

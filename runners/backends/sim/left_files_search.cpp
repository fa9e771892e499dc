// runners/backends/sim/left_files_search.cpp — Lists files, compares bytes, and lets a fork of the warm Python read tensors.
#include "runners/backends/sim/left_files_search.h"

#include <algorithm>
#include <cctype>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/core/kept.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using results::LeftFile;
using results::LeftFiles;

namespace {

constexpr const char* distributed_index = ".metadata";

bool is_below(const fs::path& path, const fs::path& directory) {
    const std::string inner = path.string(), outer = directory.string() + "/";
    return inner.starts_with(outer);
}

// A cache, a lock, or what the interpreter or an editor keeps for itself.
bool is_hidden(const fs::path& path, const fs::path& directory) {
    const fs::path shown = is_below(path, directory) ? path.lexically_relative(directory) : path;
    return std::any_of(shown.begin(), shown.end(), [](const fs::path& part) {
        const std::string name = part.string();
        return (name.starts_with('.') && name != ".." && name != distributed_index) || name == "__pycache__";
    });
}

bool is_regular(const fs::path& path) {
    struct stat seen {};
    return ::lstat(path.c_str(), &seen) == 0 && S_ISREG(seen.st_mode);
}

// The files of a distributed checkpoint are one thing: how tensors are spread over them is no result.
std::string unit_of(const fs::path& path) {
    std::error_code none;
    const fs::path parent = path.parent_path();
    return fs::exists(parent / distributed_index, none) ? parent.string() + "/" : path.string();
}

std::set<std::string> list_units(const LeftFilesSearch& search) {
    std::set<std::string> units;
    for (const fs::path& path : search.changed) {
        const bool is_result = !is_below(path, search.temporary) && !is_below(path, "/dev") &&
                               !is_hidden(path, search.directory) && is_regular(path);
        if (is_result) units.insert(unit_of(path));
    }
    return units;
}

std::vector<fs::path> files_of_unit(const std::string& unit) {
    if (!unit.ends_with('/')) return {unit};
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(unit, none))
        if (is_regular(entry.path())) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

LeftFile with_bytes(const std::string& unit) {
    LeftFile file;
    file.there = unit.ends_with('/') ? is_regular(unit + distributed_index) : is_regular(unit);
    if (!file.there) return file;
    for (const fs::path& path : files_of_unit(unit)) {
        const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) continue;
        std::error_code none;
        file.bytes += static_cast<std::int64_t>(fs::file_size(path, none));
        if (unit.ends_with('/')) file.digest += path.filename().string() + " ";
        file.digest += inject::digest_of(descriptor) + " ";
        ::close(descriptor);
    }
    return file;
}

// "runs/2026-11-29/step_4.pt": "runs/#-#-#/step_#.pt".
std::string without_numbers(const std::string& path) {
    std::string words;
    for (const char letter : path) {
        const bool digit = std::isdigit(static_cast<unsigned char>(letter)) != 0;
        if (!digit) words += letter;
        if (digit && !words.ends_with('#')) words += '#';
    }
    return words;
}

// A file whose name has a time or a process's number is the healthy run's under another name.
std::map<std::string, std::string> match_units(const LeftFiles& healthy, const std::set<std::string>& own) {
    std::map<std::string, std::string> matched;
    std::multimap<std::string, std::string> spare;
    for (const std::string& unit : own)
        if (!healthy.contains(unit)) spare.emplace(without_numbers(unit), unit);
    for (const auto& [unit, file] : healthy) {
        matched[unit] = unit;
        const bool there = unit.ends_with('/') ? is_regular(unit + distributed_index) : is_regular(unit);
        const auto other = there ? spare.end() : spare.find(without_numbers(unit));
        if (other == spare.end()) continue;
        matched[unit] = other->second;
        spare.erase(other);
    }
    return matched;
}

class LeftFilesReader {
public:
    LeftFilesReader(const LeftFilesSearch& search, sim::managed::Zygote& zygote)
        : search_(search), zygote_(zygote) {}

    LeftFiles all() {
        const std::set<std::string> own = list_units(search_);
        LeftFiles left;
        std::map<std::string, std::string> matched;
        if (search_.healthy)
            matched = match_units(*search_.healthy, own);
        else
            for (const std::string& unit : own) matched[unit] = unit;
        std::vector<std::string> to_read;
        for (const auto& [name, unit] : matched) {
            LeftFile& file = left[name] = with_bytes(unit);
            if (!file.there) continue;
            const bool is_healthy = search_.healthy && !is_spoilt(unit) &&
                                    search_.healthy->at(name).digest == file.digest;
            if (is_healthy)
                file = search_.healthy->at(name);
            else
                to_read.push_back(unit);
        }
        if (!to_read.empty()) read(to_read, matched, left);
        return left;
    }

private:
    bool is_spoilt(const std::string& unit) const {
        return std::any_of(search_.spoilt.begin(), search_.spoilt.end(), [&](const auto& one) {
            return one.first == unit || (unit.ends_with('/') && one.first.starts_with(unit));
        });
    }

    nlohmann::json spoilt_json() const {
        nlohmann::json all = nlohmann::json::object();
        for (const auto& [path, what] : search_.spoilt)
            all[path] = {{"there", what.there}, {"version", what.version}, {"kept", what.kept},
                         {"of", what.of},       {"flips", what.flips}};
        return all;
    }

    void read(const std::vector<std::string>& units, const std::map<std::string, std::string>& matched,
              LeftFiles& left) {
        const fs::path request = search_.scratch / "left.json", answer = search_.scratch / "left.answer.json";
        std::ofstream(request) << nlohmann::json{{"files", units},
                                                 {"spoilt", spoilt_json()},
                                                 {"temporary", search_.scratch.string()},
                                                 {"answer", answer.string()}}
                                      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        zygote_.examine(request, search_.within);
        std::ifstream in(answer);
        const auto said = nlohmann::json::parse(in, nullptr, false);
        if (!said.is_object())
            throw sim::managed::HostTrouble("the files that the run leaves could not be read",
                                            "run it again; if it stays, report it");
        for (const auto& [name, unit] : matched) {
            const auto found = said.find(unit);
            if (found == said.end()) continue;
            LeftFile& file = left[name];
            file.there = !found->contains("gone");
            file.trouble = found->value("trouble", "");
            file.has_tensors = found->contains("tensors");
            if (file.has_tensors) file.tensors = found->at("tensors").get<std::map<std::string, std::string>>();
        }
    }

    const LeftFilesSearch& search_;
    sim::managed::Zygote& zygote_;
};

}  // namespace

LeftFiles find_left_files(const LeftFilesSearch& search, sim::managed::Zygote& zygote) {
    return LeftFilesReader(search, zygote).all();
}

}  // namespace deadrank::runners

// runners/backends/process/kept_files.cpp — Newest first, so that a file which was damaged twice becomes what
// it was.
#include "runners/backends/process/kept_files.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/stat.h>
#include <vector>

#include "results/text/words.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct Kept {
    std::string path, backup;
    bool left = false;  // it is known how the damage left it
    std::int64_t size = -1, written = -1;
};

std::vector<Kept> read_list(const fs::path& file) {
    std::vector<Kept> all;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const json said = json::parse(line, nullptr, false);
        if (!said.is_object()) continue;  // torn: nothing was damaged yet
        const Kept kept{said.value("path", ""), said.value("backup", ""), said.contains("size"),
                        said.value("size", std::int64_t{-1}), said.value("written", std::int64_t{-1})};
        const auto before =
            std::find_if(all.begin(), all.end(), [&](const Kept& one) { return one.backup == kept.backup; });
        if (before == all.end()) {
            all.push_back(kept);
        } else {
            *before = kept;
        }
    }
    std::reverse(all.begin(), all.end());
    return all;
}

bool as_we_left_it(const Kept& kept) {
    if (!kept.left) return true;  // killed in the middle of it
    struct stat now {};
    if (stat(kept.path.c_str(), &now) != 0) return kept.size < 0;
    const std::int64_t written = std::int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec;
    return kept.size == now.st_size && kept.written == written;
}

}  // namespace

Undone restore_kept(const Deed& deed) {
    Undone undone{deed, true, {}};
    std::set<std::string> restored;
    std::size_t written_since = 0;
    std::error_code trouble;
    for (const auto& entry : fs::directory_iterator(deed.of, trouble)) {
        if (entry.path().extension() != ".jsonl") continue;
        for (const Kept& kept : read_list(entry.path())) {
            std::error_code failed;
            if (!fs::exists(kept.backup, failed)) continue;  // taken back before
            if (!restored.contains(kept.path) && !as_we_left_it(kept)) {
                ++written_since;
                continue;
            }
            fs::copy_file(kept.backup, kept.path, fs::copy_options::overwrite_existing, failed);
            if (failed) {
                undone.done = false;
                undone.says = fmt::format("{} could not be restored: {}", kept.path, failed.message());
                continue;
            }
            fs::remove(kept.backup, failed);
            restored.insert(kept.path);
        }
    }
    if (undone.done) {
        undone.says =
            fmt::format("restored {}{}", results::counted(restored.size(), "damaged file"),
                        written_since ? fmt::format("; {} written anew since then", written_since) : "");
    }
    return undone;
}

}  // namespace deadrank::runners

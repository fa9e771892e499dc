// results/importers/import.cpp — NCCL's logs are read first: they say which pid is which rank, which
// torchrun's agent does not.
#include "results/importers/import.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "results/importers/dump_reader.h"
#include "results/importers/log_reader.h"
#include "results/importers/unpickle.h"
#include "results/text/text_file.h"

namespace deadrank::results::importers {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

constexpr std::size_t files_most = 100'000;
constexpr std::int64_t a_day = 86'400'000'000'000;

// "comm_lib_trace_rank_12", "rank_3.log" → 12, 3; no_rank when the stem does not end with digits.
Rank rank_at_end(const fs::path& file) {
    std::string stem = file.filename().string();
    for (const char* suffix : {".json", ".log", ".pkl", ".pickle", ".txt"}) {
        if (stem.ends_with(suffix)) stem.resize(stem.size() - std::string_view(suffix).size());
    }
    const std::size_t digits = stem.find_last_not_of("0123456789") + 1;
    if (digits >= stem.size() || stem.size() - digits > 8) return no_rank;
    return static_cast<Rank>(std::atoi(stem.c_str() + digits));
}

// "attempt_0/3/stderr.log" and "attempt_0/3/error.json" → 3
Rank rank_of_directory(const fs::path& file) {
    const std::string name = file.parent_path().filename().string();
    const bool number = !name.empty() && name.find_first_not_of("0123456789") == name.npos && name.size() < 9;
    const std::string above = file.parent_path().parent_path().filename().string();
    return number && above.starts_with("attempt") ? static_cast<Rank>(std::atoi(name.c_str())) : no_rank;
}

LogPlace place_of(const fs::path& file) {
    LogPlace place;
    const std::string directory = file.parent_path().filename().string(), stem = file.stem().string();
    place.rank = rank_of_directory(file);
    if (place.rank == no_rank && file.filename().string().find("rank") != std::string::npos)
        place.rank = rank_at_end(file);
    if (directory == "kernel" || stem.find("dmesg") != stem.npos)
        place.host = directory == "kernel" ? stem : "";
    return place;
}

std::string read_json(const Json& json, const fs::path& file, Story& story) {
    if (json.contains("pg_config") && json.contains("version")) {
        const Rank rank = rank_at_end(file);
        if (rank == no_rank) throw std::runtime_error("its name does not end with a rank");
        read_dump(json, rank, story);
        return fmt::format("Flight Recorder dump of rank {}", rank);
    }
    if (json.contains("communicators") && json.contains("nccl_version")) {
        read_ras(json, story);
        return "RAS answer";
    }
    if (json.contains("message")) {
        const Rank rank = rank_of_directory(file);
        if (rank == no_rank)
            throw std::runtime_error("its directory does not say whose it is (attempt_N/RANK/)");
        read_error_file(json, rank, story);
        return fmt::format("error file of rank {}", rank);
    }
    return {};
}

ImportedFile read_file(const fs::path& file, Story& story) {
    ImportedFile one{file, {}, {}};
    auto bytes = reports::read_text(file);
    if (!bytes) {
        one.trouble = bytes.error().what;
        return one;
    }
    try {
        if (looks_like_pickle(*bytes)) {
            auto tree = from_pickle(*bytes);
            if (tree)
                one.as = read_json(*tree, file, story);
            else
                one.trouble = tree.error().what;
            return one;
        }
        if (bytes->starts_with("{")) {
            const Json json = Json::parse(*bytes, nullptr, false);
            if (json.is_object()) one.as = read_json(json, file, story);
            if (!one.as.empty() || json.is_object()) return one;
        }
        one.as = read_log(*bytes, place_of(file), story);
    } catch (const std::exception& wrong) {
        one.trouble = fmt::format("it has not the shape that was expected: {}", wrong.what());
    }
    return one;
}

std::int64_t modified(const fs::path& file) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) return no_time;
    return status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec;
}

// NCCL's logs first, then dumps and answers, then the rest; each by name.
int turn_of(const fs::path& file) {
    const std::string path = file.generic_string();
    if (path.find("nccl/") != path.npos || path.find("NCCL") != path.npos) return 0;
    return path.find("trace_rank") != path.npos || path.ends_with(".json") ? 1 : 2;
}

// When a file was last written is when somebody still watched, unless it has been copied since.
std::optional<std::int64_t> watched_until(const std::vector<ImportedFile>& files, std::int64_t newest_line) {
    std::optional<std::int64_t> until;
    for (const ImportedFile& one : files) {
        const std::int64_t at = one.as.empty() ? no_time : modified(one.file);
        if (at >= newest_line && at < newest_line + a_day) until = std::max(until.value_or(at), at);
    }
    return until;
}

}  // namespace

Result<Imported> import_directory(const fs::path& directory, const ImportOptions& options) {
    std::error_code trouble;
    std::vector<fs::path> paths;
    for (fs::recursive_directory_iterator at(directory, trouble), end; !trouble && at != end;
         at.increment(trouble)) {
        if (at->is_regular_file()) paths.push_back(at->path());
        if (paths.size() > files_most) break;
    }
    if (trouble) {
        return refuse(ErrorCode::io, fmt::format("it cannot be listed: {}", trouble.message()),
                      "name a directory with dumps and logs", {directory.string()});
    }
    std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) {
        return std::pair(turn_of(a), a) < std::pair(turn_of(b), b);
    });
    Story story;
    Imported imported;
    for (const fs::path& path : paths) imported.files.push_back(read_file(path, story));
    const bool any = std::any_of(imported.files.begin(), imported.files.end(),
                                 [](const auto& one) { return !one.as.empty(); });
    if (!any) {
        return refuse(
            ErrorCode::bad_input, fmt::format("none of its {} files is one that we know", paths.size()),
            "Flight Recorder dumps, NCCL logs, ranks' output, torchrun's files, dmesg and RAS answers are "
            "read; see `deadrank emit --list`",
            {directory.string()});
    }
    auto until = options.observed_until;
    if (!until) until = watched_until(imported.files, story.latest());
    Story::Ending ending = story.finish(until);
    imported.evidence = std::move(ending.evidence);
    imported.zero = ending.zero;
    imported.lacks = std::move(ending.lacks);
    return imported;
}

}  // namespace deadrank::results::importers

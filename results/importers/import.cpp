// results/importers/import.cpp — NCCL's logs are read first: they say which pid is which rank, which
// torchrun's agent does not.
#include "results/importers/import.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include "results/importers/dump_reader.h"
#include "results/importers/incident_log.h"
#include "results/importers/text_source.h"
#include "results/importers/wrapping.h"
#include "results/record/believed_ranks.h"

namespace deadrank::results::importers {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

constexpr std::size_t files_most = 100'000;
constexpr std::size_t dump_most = std::size_t{1} << 30;
constexpr std::int64_t a_day = 86'400'000'000'000;

// "comm_lib_trace_rank_12", "rank_3.log" → 12, 3; no_rank when the stem does not end with digits.
Rank rank_at_end(const fs::path& file) {
    std::string stem = file.filename().string();
    for (const char* suffix : {".json", ".log", ".pkl", ".pickle", ".txt"}) {
        if (stem.ends_with(suffix)) stem.resize(stem.size() - std::string_view(suffix).size());
    }
    const std::size_t digits = stem.find_last_not_of("0123456789") + 1;
    if (digits >= stem.size() || stem.size() - digits > 8) return no_rank;
    const int rank = std::atoi(stem.c_str() + digits);
    return rank < most_ranks ? static_cast<Rank>(rank) : no_rank;
}

// "attempt_0/3/stderr.log" and "attempt_0/3/error.json" → 3
Rank rank_of_directory(const fs::path& file) {
    const std::string name = file.parent_path().filename().string();
    const bool number = !name.empty() && name.find_first_not_of("0123456789") == name.npos && name.size() < 8;
    const std::string above = file.parent_path().parent_path().filename().string();
    return number && above.starts_with("attempt") ? static_cast<Rank>(std::atoi(name.c_str())) : no_rank;
}

std::int64_t modified(const fs::path& file) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) return no_time;
    return status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec;
}

bool ranked_by_name(const fs::path& file) {
    return rank_of_directory(file) != no_rank || file.filename().string().find("rank") != std::string::npos;
}

// The directory within which a file's rank counts: its own, or for torchrun's files the one above attempt_N.
fs::path site_of(const fs::path& file) {
    return rank_of_directory(file) != no_rank ? file.parent_path().parent_path().parent_path()
                                              : file.parent_path();
}

// Two hosts may have sent files of equal names, whose numbers are then local ranks. Site → the number of
// ranks on the sites before it; empty when all names differ.
std::map<fs::path, Rank> sites_apart(const std::vector<fs::path>& files) {
    std::map<std::string, std::set<fs::path>> by_name;
    std::map<fs::path, Rank> sizes;
    for (const fs::path& file : files) {
        if (!ranked_by_name(file) || file.filename().string().find("trace_rank") != std::string::npos)
            continue;
        const fs::path site = site_of(file);
        by_name[file.lexically_relative(site).generic_string()].insert(site);
        const Rank rank = rank_of_directory(file) != no_rank ? rank_of_directory(file) : rank_at_end(file);
        sizes[site] = std::max(sizes[site], rank + 1);
    }
    std::map<fs::path, Rank> before;
    for (const auto& [name, sites] : by_name) {
        for (const fs::path& site : sites) {
            if (sites.size() > 1) before[site] = 0;
        }
    }
    Rank sum = 0;
    for (auto& [site, ranks] : before) ranks = sum, sum = std::min<Rank>(sum + sizes[site], most_ranks);
    return before;
}

LogPlace place_of(const fs::path& file, const std::map<fs::path, Rank>& sites) {
    LogPlace place;
    const std::string directory = file.parent_path().filename().string(), stem = file.stem().string();
    place.rank = rank_of_directory(file);
    if (place.rank == no_rank && ranked_by_name(file)) place.rank = rank_at_end(file);
    if (const auto site = sites.find(site_of(file)); site != sites.end() && place.rank != no_rank)
        place.rank += site->second;
    if (directory == "kernel" || stem.find("dmesg") != stem.npos)
        place.host = directory == "kernel" ? stem : "";
    const std::int64_t written = modified(file);
    place.year = year_of(written == no_time ? std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                  std::chrono::system_clock::now().time_since_epoch())
                                                  .count()
                                            : written);
    return place;
}

// Programs, settings and weights are often beside logs; a program's text contains every phrase of a failure.
bool no_log_by_name(const fs::path& file) {
    static const std::set<std::string> others = {
        ".py",   ".pyc", ".sh",   ".yaml",    ".yml",   ".toml",   ".cfg",  ".ini", ".cpp",
        ".h",    ".cu",  ".md",   ".rst",     ".ipynb", ".pt",     ".pth",  ".bin", ".safetensors",
        ".ckpt", ".so",  ".html", ".css",     ".js",    ".csv",    ".tsv",  ".png", ".jpg",
        ".pdf",  ".npy", ".npz",  ".parquet", ".slurm", ".sbatch", ".jsonl"};
    return others.count(file.extension().string()) > 0;
}

bool listable(const fs::path& directory) {
    return ::faccessat(AT_FDCWD, directory.c_str(), R_OK | X_OK, AT_EACCESS) == 0;
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

std::string read_dump_bytes(const std::string& bytes, const fs::path& file, Story& story,
                            std::string& trouble) {
    if (looks_like_pickle(bytes)) {
        auto tree = from_pickle(bytes, &trouble);
        if (tree) return read_json(*tree, file, story);
        trouble = tree.error().what;
        return {};
    }
    const Json json = Json::parse(bytes, nullptr, false);
    return json.is_object() ? read_json(json, file, story) : std::string();
}

// Whether the whole file is one JSON object. JSON lines are a log, and so is a file that only begins with an
// object, or with a dictionary as Python prints it.
bool one_object(const fs::path& file, std::string_view head, TextSource::Clock::time_point deadline) {
    const std::size_t begin = head.substr(0, 1) == "{" ? head.find_first_not_of(" \t\r\n", 1) : head.npos;
    if (begin == head.npos || (head[begin] != '"' && head[begin] != '}')) return false;
    const std::size_t line = head.find('\n');
    if (line != head.npos && line + 1 < head.size() && Json::accept(head.substr(0, line))) return false;
    if (file == "-" || !fs::is_regular_file(file)) return true;
    auto source = TextSource::open(file, deadline);
    return source && Json::accept((*source)->all(dump_most));
}

ImportedFile read_file(const fs::path& file, const std::map<fs::path, Rank>& sites,
                       const ImportOptions& options, TextSource::Clock::time_point deadline, Story& story) {
    ImportedFile one{.file = file};
    auto source = TextSource::open(file, deadline);
    if (!source) {
        one.trouble = source.error().what;
        return one;
    }
    TextSource& text = **source;
    const bool pickle = looks_like_pickle(text.head()), object = one_object(file, text.head(), deadline);
    try {
        one.empty = text.head().empty();
        if (one.empty) {  // nothing was printed: no trouble, and no log
            const bool late = TextSource::Clock::now() >= deadline;
            if (!text.trouble().empty())
                one.trouble = late ? text.trouble() : "its packed data is damaged from the beginning";
            return one;
        }
        if (pickle || object) {
            const std::string bytes = text.all(dump_most);
            if (bytes.empty()) one.trouble = "it is larger than a dump can be";
            one.as = read_dump_bytes(bytes, file, story, one.trouble);
        } else if (text.binary()) {
            one.trouble = "it is binary, and no known dump";
        } else {
            ++story.reading().files;
            one.as = read_log(text, place_of(file, sites), story, [&](std::int64_t bytes) {
                if (options.progress) options.progress(file, bytes);
            });
        }
        if (one.trouble.empty()) one.trouble = text.trouble();
    } catch (const std::exception& wrong) {
        if (scenarios::is_host_failure(wrong)) throw;
        one.trouble = fmt::format("it has not the shape that was expected: {}", wrong.what());
    }
    return one;
}

// NCCL's logs first, then dumps and answers, then the rest; each by name.
int turn_of(const fs::path& file) {
    const std::string path = file.generic_string();
    if (path.find("nccl/") != path.npos || path.find("NCCL") != path.npos) return 0;
    return path.find("trace_rank") != path.npos || path.ends_with(".json") ? 1 : 2;
}

// Somebody still watched when a file was last written, unless it has been copied since.
std::optional<std::int64_t> watched_until(const std::vector<ImportedFile>& files, std::int64_t newest_line) {
    std::optional<std::int64_t> until;
    for (const ImportedFile& one : files) {
        const std::int64_t at = one.as.empty() ? no_time : modified(one.file);
        if (at >= newest_line && at < newest_line + a_day) until = std::max(until.value_or(at), at);
    }
    return until;
}

}  // namespace

Result<Imported> import_paths(const std::vector<fs::path>& places, const ImportOptions& options) {
    std::vector<fs::path> paths;
    std::vector<ImportedFile> left_out;
    for (const fs::path& place : places) {
        std::error_code trouble;
        if (place == "-" || fs::is_regular_file(place, trouble) || fs::is_fifo(place, trouble)) {
            paths.push_back(place);
            continue;
        }
        const auto inside =
            listable(place) ? fs::directory_options::skip_permission_denied : fs::directory_options::none;
        for (fs::recursive_directory_iterator at(place, inside, trouble), end; !trouble && at != end;
             at.increment(trouble)) {
            std::error_code unseen;  // a link that leads to itself
            if (at->is_directory(unseen) && !listable(at->path()))
                left_out.push_back({at->path(), {}, "it cannot be listed: Permission denied"});
            if (!at->is_regular_file(unseen)) continue;
            if (no_log_by_name(at->path()))
                left_out.push_back({at->path(), {}, "its name is not that of a log's"});
            else
                paths.push_back(at->path());
            if (paths.size() > files_most) break;
        }
        if (trouble) {
            return refuse(ErrorCode::io, fmt::format("it cannot be listed: {}", trouble.message()),
                          "name a log, a directory with dumps and logs, or - for standard input",
                          {place.string()});
        }
    }
    std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) {
        return std::pair(turn_of(a), a) < std::pair(turn_of(b), b);
    });
    Story story;
    Imported imported;
    const auto sites = sites_apart(paths);
    const auto deadline = TextSource::Clock::now() + options.read_for;
    for (const fs::path& path : paths)
        imported.files.push_back(read_file(path, sites, options, deadline, story));
    const bool any = std::any_of(imported.files.begin(), imported.files.end(),
                                 [](const auto& one) { return !one.as.empty(); });
    if (!any) {
        std::string why =
            paths.empty() && left_out.empty()
                ? "there is no file"
                : fmt::format("none of its {} files is of a known kind", paths.size() + left_out.size());
        if (paths.size() == 1 && left_out.empty()) {
            const ImportedFile& only = imported.files[0];
            if (only.empty && only.trouble.empty() && paths[0] == "-")
                return refuse(ErrorCode::bad_input, "standard input is empty: no line came through the pipe",
                              "errors go to another stream: COMMAND 2>&1 | deadrank diagnose -");
            why = !only.trouble.empty() ? only.trouble
                  : only.empty          ? "it is empty"
                                        : "it is a JSON object, and no known dump";
        }
        return refuse(
            ErrorCode::bad_input, std::move(why),
            "logs of any kind, Flight Recorder dumps, torchrun's files, dmesg and RAS answers are read; "
            "see `deadrank score emit --list`",
            {places.empty() ? std::string() : places[0].string()});
    }
    imported.files.insert(imported.files.end(), left_out.begin(), left_out.end());
    auto until = options.observed_until;
    if (!until) until = watched_until(imported.files, story.latest());
    Story::Ending ending = story.finish(until);
    imported.evidence = std::move(ending.evidence);
    for (const ImportedFile& one : imported.files) {
        if (!one.trouble.empty() && (!one.as.empty() || TextSource::Clock::now() >= deadline))
            imported.evidence.note(fmt::format("{}: {}", one.file.string(), one.trouble));
    }
    imported.zero = ending.zero;
    imported.lacks = std::move(ending.lacks);
    return imported;
}

}  // namespace deadrank::results::importers

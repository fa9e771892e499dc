// runners/backends/process/process_records.cpp — A killed process leaves truncated lines: they are counted,
// never fatal.
#include "runners/backends/process/process_records.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "runners/backends/process/event_reader.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using nlohmann::json;
using results::Time;

std::vector<fs::path> files_below(const fs::path& directory, std::string_view ending) {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(directory, ignored)) {
        if (entry.path().filename().string().ends_with(ending)) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

int read_left_events(const fs::path& directory, std::int64_t started, results::EventSink& sink) {
    int torn = 0;
    for (const fs::path& file : files_below(directory / "evidence", ".jsonl")) {
        std::ifstream in(file);
        for (std::string line; std::getline(in, line);) torn += !read_event(line, started, sink);
    }
    return torn;
}

std::vector<json> read_left_truth(const fs::path& directory) {
    std::vector<json> lines;
    for (const fs::path& file : files_below(directory / "truth", ".jsonl")) {
        std::ifstream in(file);
        for (std::string line; std::getline(in, line);) {
            if (json said = json::parse(line, nullptr, false); said.is_object())
                lines.push_back(std::move(said));
        }
    }
    const auto time_of = [](const json& said) { return said.value("t", std::int64_t{0}); };
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const json& a, const json& b) { return time_of(a) < time_of(b); });
    return lines;
}

FaultLine::FaultLine(const json& said, std::int64_t started)
    : fault(said.value("fault", std::numeric_limits<std::size_t>::max())),
      call(said.value("call", "")),
      says(said.value("says", "")) {
    moment.rank = said.value("rank", results::no_rank);
    moment.now = Time(said.value("t", started) - started);
    moment.step = said.value("step", std::int64_t{-1});
    moment.call = call;
}

std::optional<results::Mark> parse_mark(std::string_view word, const FaultLine& said,
                                        const inject::PlannedFault& planned, const inject::Levers& levers) {
    const inject::Moment& moment = said.moment;
    const auto kind = results::mark_kind_named(word);
    if (kind == results::MarkKind::applied)
        return inject::applied_mark(said.fault, planned, moment.rank, moment, levers);
    if (kind == results::MarkKind::reverted)
        return inject::reverted_mark(said.fault, planned, moment.rank, moment.now);
    if (kind == results::MarkKind::refused)
        return inject::refused_mark(said.fault, planned, moment.rank, moment,
                                    {scenarios::ErrorCode::unsupported, said.says});
    return std::nullopt;
}

void sort_by_time(std::vector<results::Mark>& marks) {
    std::stable_sort(marks.begin(), marks.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
}

}  // namespace deadrank::runners

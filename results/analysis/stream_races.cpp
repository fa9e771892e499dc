// results/analysis/stream_races.cpp — Reads the report of torch's CUDA Stream Sanitizer (torch/cuda/_sanitizer.py).
#include "results/analysis/stream_races.h"

#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "scenarios/model/text.h"

namespace deadrank::results::analysis {

namespace {

// The first report of one rank, line by line.
class RaceReader {
public:
    explicit RaceReader(Rank rank) { race_.rank = rank; }

    void read(Time at, std::string_view line) {
        if (is_closed_) return;
        if (line.starts_with("CSAN detected a possible data race")) {
            race_.at = at;
        } else if (line.starts_with("Access by stream ")) {
            begin(race_.now, line);
        } else if (line.starts_with("Previous access by stream ")) {
            begin(race_.before, line);
        } else if (line.starts_with("Tensor was allocated") || line.starts_with("Trace for tensor allocation")) {
            is_closed_ = true;
        } else if (access_) {
            read_access(line);
        }
    }

    std::optional<StreamRace> race() const {
        return race_.before.kernel.empty() ? std::nullopt : std::optional(race_);
    }

private:
    // "Access by stream 128805808 during kernel:"
    void begin(StreamAccess& access, std::string_view line) {
        access_ = &access;
        access.in_default_stream = line.find(" stream 0 ") != std::string_view::npos;
    }

    void read_access(std::string_view line) {
        const std::string_view words = scenarios::trimmed(line);
        if (access_->kernel.empty()) {
            access_->kernel = words.substr(0, words.find_first_of(".("));
        } else if (words.starts_with("reading from") || words.starts_with("writing to")) {
            access_->writes = words.starts_with("writing");
        } else if (const auto frame = read_frame(words)) {
            expects_source_ = is_program_file(frame->file);
            if (!expects_source_) return;
            access_->line.file = frame->file;
            access_->line.number = frame->number;
        } else if (expects_source_) {
            access_->line.source = words;
            expects_source_ = false;
        }
    }

    StreamRace race_;
    StreamAccess* access_ = nullptr;  // that the lines are about
    bool is_closed_ = false, expects_source_ = false;
};

std::string stream_text(const StreamAccess& access, const StreamAccess& other) {
    if (access.in_default_stream) return "the default stream";
    return other.in_default_stream ? "a side stream" : "another side stream";
}

std::string place_text(const StreamAccess& access) {
    return access.line.number == 0 ? access.kernel
                                   : fmt::format("{} at {}", access.kernel, access.line.text());
}

}  // namespace

std::string StreamRace::text() const {
    return fmt::format("{} {} a tensor in {}, and nothing makes it wait until {} has {} it in {}", place_text(now),
                       now.writes ? "writes" : "reads", stream_text(now, before), place_text(before),
                       before.writes ? "written" : "read", stream_text(before, now));
}

std::vector<StreamRace> find_stream_races(const Evidence& evidence) {
    std::map<Rank, RaceReader> readers;
    visit_log_lines(evidence, "CSAN detected", [&](Rank rank, Time at, std::string_view line) {
        readers.try_emplace(rank, rank).first->second.read(at, line);
    });
    std::vector<StreamRace> races;
    for (const auto& [rank, reader] : readers)
        if (auto race = reader.race()) races.push_back(std::move(*race));
    return races;
}

}  // namespace deadrank::results::analysis

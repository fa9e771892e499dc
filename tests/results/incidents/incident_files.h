// tests/results/incidents/incident_files.h — An incident's files written down, and what the reader and the
// diagnosis make of them. The lines have the shape that the programs print; hosts, numbers and names are made
// up.
#pragma once

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "results/detectors/detector.h"
#include "results/diagnosis/operator_answer.h"
#include "results/external/tool_program.h"
#include "results/importers/import.h"

namespace deadrank::tests {

using results::Event;
using results::no_rank;
using results::Rank;
using results::RankLog;

class IncidentFiles {
public:
    IncidentFiles() : scratch_(*results::external::Scratch::make()) {}

    std::filesystem::path path(const std::string& name) const { return scratch_.path() / name; }
    IncidentFiles& put(const std::string& name, const std::string& bytes) {
        std::filesystem::create_directories(path(name).parent_path());
        std::ofstream(path(name), std::ios::binary) << bytes;
        return *this;
    }

    scenarios::Result<results::importers::Imported> imported() const {
        return results::importers::import_paths({scratch_.path()});
    }
    results::diagnosis::Diagnosis diagnosed() const {
        static const scenarios::Taxonomy taxonomy =
            *scenarios::load_taxonomy(scenarios_directory() + "taxonomy.toml");
        static const scenarios::ClueTable clues =
            *scenarios::ClueTable::load(scenarios_directory() + "clues.toml", taxonomy);
        const auto read = imported();
        EXPECT_TRUE(read) << read.error().text();
        if (!read) return {};
        const auto findings = results::detect(read->evidence, results::all_detectors());
        return results::diagnosis::diagnose(read->evidence, findings, taxonomy, clues);
    }
    std::string answered(const results::diagnosis::AnswerOptions& options = {}) const {
        const scenarios::Taxonomy taxonomy =
            *scenarios::load_taxonomy(scenarios_directory() + "taxonomy.toml");
        return results::diagnosis::answer_text(diagnosed(), "here", taxonomy, options, {});
    }

private:
    static std::string scenarios_directory() { return DEADRANK_SOURCE_DIRECTORY "/scenarios/"; }

    results::external::Scratch scratch_;
};

inline results::diagnosis::Diagnosis told_by(const std::string& log) {
    return IncidentFiles().put("job.log", log).diagnosed();
}

// "collective_timeout_abort of 3", "unknown", "completed"
inline std::string gist_of(const results::diagnosis::Diagnosis& diagnosis) {
    if (!diagnosis.finding) return std::string(name_of(diagnosis.incident.outcome));
    std::string text = diagnosis.finding->symptom;
    for (const Rank rank : diagnosis.finding->blame.ranks)
        text += (rank == diagnosis.finding->blame.ranks.front() ? " of " : ",") + std::to_string(rank);
    return text;
}

}  // namespace deadrank::tests

// results/external/command_detector.h — A user's detector as one of ours: a command that gets the evidence
// and answers with findings. docs/guides/external_tools.md has the protocol.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "results/detectors/detector.h"
#include "results/external/answer.h"
#include "results/processes/bounded.h"

namespace deadrank::results::external {

struct DetectorCommand {
    std::string name;               // signs its findings; taken from the command when the detector gives none
    std::vector<std::string> argv;  // "{evidence}" in a word stands for the evidence directory

    bool takes_directory() const;  // otherwise events are on its standard input
};

// Splits words as a shell does, with single and double quotes; nothing is expanded. "NAME=COMMAND …" names
// it. Errors: usage (empty, or an open quote).
scenarios::Result<DetectorCommand> parse_command(std::string_view text);

class CommandDetector final : public Detector {
public:
    CommandDetector(DetectorCommand command, std::vector<std::string> symptoms, processes::Bounds bounds);

    std::string_view name() const override { return command_.name; }
    std::vector<std::string_view> symptoms() const override;
    // Throws std::runtime_error with one sentence: it could not be started, crashed, took too long, or its
    // output is not findings.
    std::vector<Finding> examine(const Evidence& evidence) const override;

    // The same, with the failure as an Error.
    scenarios::Result<Answer> analyse(const Evidence& evidence) const;
    // The same for an evidence file's bytes as they are, to see what it does with malformed ones.
    scenarios::Result<Answer> analyse_bytes(std::string_view file, const Limits& limits) const;

    // Asks it about a run without events, and remembers its name and the symptoms that it reports.
    scenarios::Result<Answer> introduce();

private:
    scenarios::Result<Answer> analyse_directory(const std::filesystem::path& directory,
                                                const Limits& limits) const;

    DetectorCommand command_;
    std::vector<std::string> known_, reports_;
    processes::Bounds bounds_;
};

}  // namespace deadrank::results::external

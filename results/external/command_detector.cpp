// results/external/command_detector.cpp — Evidence goes to a scratch directory; the answer is read from
// standard output, and no other output counts.
#include "results/external/command_detector.h"

#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

#include "results/external/tool_program.h"
#include "results/record/text_file.h"

namespace deadrank::results::external {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

constexpr std::string_view evidence_word = "{evidence}";

std::string replaced(std::string word, const std::string& directory) {
    for (std::size_t at = word.find(evidence_word); at != std::string::npos;
         at = word.find(evidence_word, at + directory.size())) {
        word.replace(at, evidence_word.size(), directory);
    }
    return word;
}

// "NAME=" in front of a command, where NAME is a plain word.
std::string take_name(std::string_view& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) return {};
    const std::string_view name = text.substr(0, equals);
    for (const char c : name) {
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') return {};
    }
    text.remove_prefix(equals + 1);
    return std::string(name);
}

Result<std::vector<std::string>> command_words(std::string_view text) {
    std::vector<std::string> words;
    bool inside = false;
    char quote = 0;
    for (const char c : text) {
        if (quote != 0 ? c == quote : c == '"' || c == '\'') {
            quote = quote != 0 ? 0 : c;
            if (!inside) words.emplace_back();
            inside = true;
        } else if (quote == 0 && std::isspace(static_cast<unsigned char>(c))) {
            inside = false;
        } else {
            if (!inside) words.emplace_back();
            inside = true;
            words.back() += c;
        }
    }
    if (quote != 0) {
        return refuse(ErrorCode::usage, fmt::format("the command '{}' has an open quote", text),
                      "close the quote");
    }
    return words;
}

// "python3 tools/mine.py {evidence}" → "mine"
std::string name_from(const std::vector<std::string>& argv) {
    std::string name = argv.front();
    for (const std::string& word : argv) {
        if (word.ends_with(".py") || word.ends_with(".sh")) name = word;
    }
    return std::filesystem::path(name).stem().string();
}

}  // namespace

bool DetectorCommand::takes_directory() const {
    for (const std::string& word : argv) {
        if (word.find(evidence_word) != std::string::npos) return true;
    }
    return false;
}

Result<DetectorCommand> parse_command(std::string_view text) {
    DetectorCommand command;
    command.name = take_name(text);
    auto words = command_words(text);
    if (!words) return tl::unexpected(words.error());
    if (words->empty()) {
        return refuse(ErrorCode::usage, "a detector's command is empty",
                      "give a command, such as 'python3 mine.py {evidence}'");
    }
    command.argv = std::move(*words);
    if (command.name.empty()) command.name = name_from(command.argv);
    return command;
}

CommandDetector::CommandDetector(DetectorCommand command, std::vector<std::string> symptoms,
                                 processes::Bounds bounds)
    : command_(std::move(command)), known_(std::move(symptoms)), bounds_(bounds) {}

std::vector<std::string_view> CommandDetector::symptoms() const {
    const auto& words = reports_.empty() ? known_ : reports_;
    return {words.begin(), words.end()};
}

Result<Answer> CommandDetector::analyse(const Evidence& evidence) const {
    auto scratch = Scratch::make();
    if (!scratch) return tl::unexpected(scratch.error());
    const auto file = scratch->path() / "evidence.jsonl";
    return write_evidence(evidence, file).and_then([&] {
        return analyse_directory(scratch->path(), {known_, evidence.world_size(), evidence.observed_until()});
    });
}

Result<Answer> CommandDetector::analyse_bytes(std::string_view file, const Limits& limits) const {
    auto scratch = Scratch::make();
    if (!scratch) return tl::unexpected(scratch.error());
    if (auto written = write_text(file, scratch->path() / "evidence.jsonl"); !written)
        return tl::unexpected(written.error());
    return analyse_directory(scratch->path(), limits);
}

Result<Answer> CommandDetector::analyse_directory(const std::filesystem::path& directory,
                                                  const Limits& limits) const {
    const std::string place = directory.string();
    std::vector<std::string> argv;
    for (const std::string& word : command_.argv) argv.push_back(replaced(word, place));
    const std::string input = command_.takes_directory() ? std::string() : place + "/evidence.jsonl";
    auto answer =
        processes::run_bounded(argv, bounds_, input, {"DEADRANK_PROTOCOL=1", "DEADRANK_EVIDENCE=" + place});
    if (!answer) return tl::unexpected(answer.error());
    if (!answer->well()) {
        const std::string said = answer->last_error_text();
        return refuse(ErrorCode::environment, fmt::format("{} {}{}{}", command_.name, answer->how(),
                                                          said.empty() ? "" : "; it said: ", said));
    }
    auto read = read_answer(answer->out, limits);
    if (!read) {
        scenarios::Error error = read.error();
        error.what = fmt::format("{} answered nonsense on {}", command_.name, error.what);
        return tl::unexpected(std::move(error));
    }
    for (Finding& finding : read->findings) {
        finding.detector = finding.detector.empty() ? command_.name : command_.name + "/" + finding.detector;
    }
    return read;
}

std::vector<Finding> CommandDetector::examine(const Evidence& evidence) const {
    auto answer = analyse(evidence);
    if (!answer) throw std::runtime_error(answer.error().text());
    return std::move(answer->findings);
}

Result<Answer> CommandDetector::introduce() {
    auto answer = analyse(Evidence{});
    if (answer && !answer->symptoms.empty()) reports_ = answer->symptoms;
    return answer;
}

}  // namespace deadrank::results::external

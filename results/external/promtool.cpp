// results/external/promtool.cpp — Runs promtool and remembers its answers: same rules, same test, same
// version, same words.
#include "results/external/promtool.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "results/external/program.h"

namespace deadrank::results::external {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

std::string read_whole(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

// Form of a kept answer: exit code, bytes of stdout, then stdout and stderr as they were.
void keep(const std::filesystem::path& file, const ProgramAnswer& answer) {
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    const auto partial = file.string() + "." + std::to_string(getpid());
    std::ofstream(partial, std::ios::binary) << answer.code << ' ' << answer.out.size() << '\n'
                                             << answer.out << answer.err;
    std::filesystem::rename(partial, file, ignored);
}

std::optional<ProgramAnswer> kept(const std::filesystem::path& file) {
    const std::string text = read_whole(file);
    ProgramAnswer answer;
    std::size_t length = 0;
    std::istringstream head(text);
    const std::size_t line = text.find('\n');
    if (line == std::string::npos || !(head >> answer.code >> length) || line + 1 + length > text.size()) {
        return std::nullopt;
    }
    answer.out = text.substr(line + 1, length);
    answer.err = text.substr(line + 1 + length);
    return answer;
}

}  // namespace

Result<Promtool> Promtool::find(const std::string& name) {
    Promtool tool;
    tool.path_ = find_program(name);
    if (tool.path_.empty()) {
        return refuse(ErrorCode::environment, "there is no '" + name + "' on this machine",
                      "install Prometheus (Debian: apt install prometheus), or give --promtool PATH");
    }
    auto answer = run_program({tool.path_, "--version"});
    if (!answer) return tl::unexpected(answer.error());
    const std::string said = answer->out + answer->err;  // 2.x prints on stderr or stdout, by release
    const std::size_t at = said.find("version ");
    if (answer->code != 0 || at == std::string::npos) {
        return refuse(ErrorCode::environment, "'" + tool.path_ + "' does not answer as promtool does",
                      "give --promtool the path of a promtool");
    }
    const std::size_t end = said.find_first_of(" ,\n", at + 8);
    tool.version_ = said.substr(at + 8, end - at - 8);
    return tool;
}

Result<std::vector<LoadTrouble>> Promtool::check_rules(const std::string& file) const {
    auto answer = run_program({path_, "check", "rules", file});
    if (!answer) return tl::unexpected(answer.error());
    std::vector<LoadTrouble> troubles;
    if (answer->code == 0) return troubles;
    const TestAnswer read = read_test_output(answer->code, "", answer->err);
    troubles = read.load;
    for (const std::string& line : read.other) {
        if (troubles.empty() && line.find("Checking ") == std::string::npos)
            troubles.push_back({file, 0, 0, line});
    }
    if (troubles.empty()) troubles.push_back({file, 0, 0, "promtool check rules refused it"});
    return troubles;
}

Result<TestAnswer> Promtool::test_rules(const std::string& test_file, const std::string& cache,
                                        const std::string& key) const {
    const std::filesystem::path file = std::filesystem::path(cache) / (key + ".promtool");
    if (!cache.empty()) {
        if (auto answer = kept(file)) {
            TestAnswer read = read_test_output(answer->code, answer->out, answer->err);
            read.cached = true;
            return read;
        }
    }
    // More garbage between collections: a fifth less CPU time for three times the memory, which stays small
    // here.
    auto answer = run_program({path_, "test", "rules", test_file}, {"GOGC=400"});
    if (!answer) return tl::unexpected(answer.error());
    TestAnswer read = read_test_output(answer->code, answer->out, answer->err);
    read.cpu_seconds = answer->cpu_seconds;
    if (!cache.empty() && read.other.empty() && answer->code <= 1) keep(file, *answer);
    return read;
}

}  // namespace deadrank::results::external

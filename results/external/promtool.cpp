// results/external/promtool.cpp — promtool: runs its checks and tests of rules, and parses its output.
#include "results/external/promtool.h"

#include <cstdlib>
#include <fmt/format.h>

#include "results/processes/bounded.h"
#include "results/processes/private_directory.h"
#include "scenarios/model/text.h"

namespace deadrank::results::external {

// ── Runs promtool.

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

}  // namespace

Result<Promtool> Promtool::find(const std::string& name) {
    Promtool tool;
    tool.path_ = processes::find_program(name);
    if (tool.path_.empty()) {
        return refuse(ErrorCode::environment, "there is no '" + name + "' on this machine",
                      "install Prometheus (Debian: apt install prometheus), or give --promtool PATH");
    }
    auto answer = processes::run_bounded({tool.path_, "--version"}, processes::Bounds::none());
    if (!answer) return tl::unexpected(answer.error());
    const std::string said = answer->out + answer->err;  // 2.x prints on stderr or stdout, by release
    constexpr std::string_view name_and = "promtool, version ";
    const std::size_t at = said.find(name_and);
    if (answer->code != 0 || at == std::string::npos) {
        return refuse(ErrorCode::environment, "'" + tool.path_ + "' does not answer as promtool does",
                      "give --promtool the path of a promtool");
    }
    const std::size_t begin = at + name_and.size(), end = said.find_first_of(" ,\n", begin);
    tool.version_ = said.substr(begin, end - begin);
    return tool;
}

namespace {

// promtool ends with 0, with 1 where it found something, and with 3 where it only warns. Anything else is no
// answer.
Result<void> check_ending(const processes::BoundedAnswer& answer) {
    const bool usual = answer.code == 0 || answer.code == 1 || answer.code == 3;
    if (answer.ending == processes::Ending::by_itself && usual) return {};
    return refuse(ErrorCode::environment, fmt::format("promtool {}", answer.how()),
                  "see whether this machine lacks memory, and run it again");
}

}  // namespace

Result<std::vector<LoadTrouble>> Promtool::check_rules(const std::string& file) const {
    auto answer = processes::run_bounded({path_, "check", "rules", file}, processes::Bounds::none());
    if (!answer) return tl::unexpected(answer.error());
    if (auto ended = check_ending(*answer); !ended) return tl::unexpected(ended.error());
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

Result<TestAnswer> Promtool::test_rules(const std::string& test_file,
                                        const std::function<bool()>& stopped) const {
    // More garbage between collections, by one thread: a third less CPU time for three times the memory,
    // which stays small here.
    // A promtool that is killed leaves its storage behind, so it has a directory of its own.
    const auto scratch = processes::PrivateDirectory::make();
    if (!scratch) return tl::unexpected(scratch.error());
    auto answer =
        processes::run_bounded({path_, "test", "rules", test_file}, processes::Bounds::none(stopped), {},
                               {"GOGC=400", "GOMAXPROCS=1", "TMPDIR=" + scratch->path().string()});
    if (!answer) return tl::unexpected(answer.error());
    if (stopped && stopped()) return refuse(ErrorCode::environment, "promtool was stopped");
    if (auto ended = check_ending(*answer); !ended) return tl::unexpected(ended.error());
    TestAnswer read = read_test_output(answer->code, answer->out, answer->err);
    read.cpu_seconds = answer->cpu_seconds;
    return read;
}

// ── A character-level reader of promtool's report; commas inside quoted labels do not separate, and what is
// not understood is kept as a line instead of being dropped.

namespace {

// A Go-quoted text beginning at `at`; leaves `at` past its closing quote.
std::optional<std::string> go_quoted(std::string_view text, std::size_t& at) {
    if (at >= text.size() || text[at] != '"') return std::nullopt;
    std::string value;
    for (++at; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"') {
            ++at;
            return value;
        }
        if (c != '\\') {
            value += c;
            continue;
        }
        if (++at >= text.size()) return std::nullopt;
        if (text[at] == 'n')
            value += '\n';
        else if (text[at] == 't')
            value += '\t';
        else if (text[at] == 'x' && at + 2 < text.size()) {
            value += static_cast<char>(std::strtol(std::string(text.substr(at + 1, 2)).c_str(), nullptr, 16));
            at += 2;
        } else
            value += text[at];
    }
    return std::nullopt;
}

double go_duration(std::string_view text) {
    double total = 0;
    for (std::size_t at = 0; at < text.size();) {
        char* end = nullptr;
        const std::string rest(text.substr(at));
        const double number = std::strtod(rest.c_str(), &end);
        at += static_cast<std::size_t>(end - rest.c_str());
        if (end == rest.c_str()) break;
        const std::string_view unit = text.substr(at);
        if (unit.starts_with("ms"))
            total += number / 1000, at += 2;
        else if (unit.starts_with("d"))
            total += number * 86400, ++at;
        else if (unit.starts_with("w"))
            total += number * 604800, ++at;
        else if (unit.starts_with("y"))
            total += number * 31536000, ++at;
        else if (unit.starts_with("h"))
            total += number * 3600, ++at;
        else if (unit.starts_with("m"))
            total += number * 60, ++at;
        else
            total += number, ++at;
    }
    return total;
}

// "FILE: 12:9: group …" → place and words; a file name holds no ": ".
std::optional<LoadTrouble> load_trouble(std::string_view line) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) return std::nullopt;
    LoadTrouble trouble{.file = std::string(line.substr(0, colon))};
    std::string_view rest = line.substr(colon + 2);
    const std::size_t group = rest.find("group \"");
    const bool yaml =
        rest.find("yaml:") != std::string_view::npos || rest.find("not found in type") != rest.npos;
    if (group == std::string_view::npos && !yaml) return std::nullopt;
    char* end = nullptr;
    const std::string head(rest);
    trouble.line = static_cast<int>(std::strtol(head.c_str(), &end, 10));
    if (end != head.c_str() && *end == ':') {
        trouble.column = static_cast<int>(std::strtol(end + 1, &end, 10));
        if (*end == ':') rest.remove_prefix(std::min<std::size_t>(end - head.c_str() + 2, rest.size()));
    } else if (const std::size_t at = head.find("line "); at != std::string::npos) {
        trouble.line = static_cast<int>(std::strtol(head.c_str() + at + 5, nullptr, 10));
    }
    trouble.words = std::string(rest);
    return trouble;
}

class TestOutputReader {
public:
    explicit TestOutputReader(TestAnswer& answer) : answer_(answer) {}

    void line(std::string_view raw) {
        const std::string_view text = scenarios::trimmed(raw);
        if (text.empty() || text == "FAILED:" || text == "SUCCESS" || text.starts_with("Unit Testing:") ||
            text.starts_with("exp:") || text.starts_with("name:")) {
            return;
        }
        if (text.starts_with("expr: ")) return expression(text.substr(6));
        if (text.starts_with("got: ")) return samples(text.substr(5));
        if (text.starts_with("rule: ")) return rule(text.substr(6));
        if (is_unknown_field(text)) return;
        if (auto trouble = load_trouble(text))
            answer_.load.push_back(std::move(*trouble));
        else
            answer_.other.emplace_back(text);
    }

private:
    // "FILE: yaml: unmarshal errors:" and then "  line 3: field type not found in type rulefmt.RuleGroup",
    // one for each field.
    bool is_unknown_field(std::string_view text) {
        constexpr std::string_view head = ": yaml: unmarshal errors:", before = "line ";
        if (text.ends_with(head)) {
            strange_ = text.substr(0, text.size() - head.size());
            return true;
        }
        const std::size_t colon = text.find(": ");
        if (strange_.empty() || !text.starts_with(before) || colon == std::string_view::npos) return false;
        answer_.load.push_back({strange_, std::atoi(std::string(text.substr(before.size(), 10)).c_str()), 0,
                                std::string(text.substr(colon + 2))});
        return true;
    }

    void expression(std::string_view text) {
        Mismatch mismatch;
        std::size_t at = 0;
        if (auto expr = go_quoted(text, at)) mismatch.expr = std::move(*expr);
        const std::size_t time = text.find(", time: ", at);
        if (time == std::string_view::npos) return answer_.other.emplace_back(text), void();
        const std::size_t end = text.find(',', time + 8);
        mismatch.time = go_duration(text.substr(time + 8, end - time - 8));
        answer_.mismatches.push_back(std::move(mismatch));
        const std::size_t trouble = text.find("err: ", end);
        if (trouble != std::string_view::npos) answer_.other.emplace_back(text.substr(trouble));
    }

    void samples(std::string_view text) {
        auto read = read_samples(text);
        if (read && !answer_.mismatches.empty())
            answer_.mismatches.back().got = std::move(*read);
        else
            answer_.other.emplace_back(text);
    }

    void rule(std::string_view text) {
        const std::size_t time = text.find(", time: ");
        const std::size_t trouble = text.find(", err: ");
        if (time == std::string_view::npos || trouble == std::string_view::npos) {
            answer_.other.emplace_back(text);
            return;
        }
        answer_.rules.push_back({std::string(text.substr(0, time)), std::string(text.substr(trouble + 7)),
                                 go_duration(text.substr(time + 8, trouble - time - 8))});
    }

    TestAnswer& answer_;
    std::string strange_;  // the file whose fields are listed
};

}  // namespace

std::optional<std::vector<Sample>> read_samples(std::string_view text) {
    std::vector<Sample> samples;
    if (text == "nil") return samples;
    std::size_t at = 0;
    while (at < text.size()) {
        if (text[at] != '{') return std::nullopt;
        Sample sample;
        ++at;
        while (at < text.size() && text[at] != '}') {
            const std::size_t equals = text.find('=', at);
            if (equals == std::string_view::npos) return std::nullopt;
            const std::string name(scenarios::trimmed(text.substr(at, equals - at)));
            at = equals + 1;
            auto value = go_quoted(text, at);
            if (!value) return std::nullopt;
            sample.labels[name] = std::move(*value);
            if (text.substr(at).starts_with(", ")) at += 2;
        }
        if (at + 1 >= text.size()) return std::nullopt;
        at += 2;
        const std::size_t end = std::min(text.find(", {", at), text.size());
        sample.value = std::strtod(std::string(text.substr(at, end - at)).c_str(), nullptr);
        samples.push_back(std::move(sample));
        at = end == text.size() ? end : end + 2;
    }
    return samples;
}

TestAnswer read_test_output(int code, const std::string& out, const std::string& err) {
    TestAnswer answer;
    answer.code = code;
    TestOutputReader reader(answer);
    for (const std::string* text : {&out, &err}) {
        for (std::size_t at = 0; at < text->size();) {
            const std::size_t end = std::min(text->find('\n', at), text->size());
            reader.line(std::string_view(*text).substr(at, end - at));
            at = end + 1;
        }
    }
    return answer;
}

}  // namespace deadrank::results::external

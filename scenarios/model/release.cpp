// scenarios/model/release.cpp — The settings of the workload, read back.
#include "scenarios/model/release.h"

#include <algorithm>
#include <fmt/format.h>

namespace deadrank::scenarios {

namespace {

std::string text_of(const Values& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second.text;
}

// Letters, digits and what else the index allows: such a word is safe on a command line and as a directory.
bool is_plain(std::string_view word, std::string_view also) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               also.find(c) != std::string_view::npos;
    });
}

}  // namespace

const Kind& release_kind() {
    static const Kind kind{
        .name = std::string(release_workload),
        .what = "A program on published releases of a package, in real processes.",
        .parameters = {{"package", ValueType::text, "", "the package that has the bug"},
                       {"bug", ValueType::text, "", "the release that has it"},
                       {"fixed", ValueType::text, "", "a release that no longer has it"},
                       {"with", ValueType::text, "", "further packages, as NAME==VERSION", {}, true},
                       {"program", ValueType::text, "", "the program, a file of Python"},
                       {"shows", ValueType::text, "", "pattern of a line that shows the bug", {}, true},
                       {"ends", ValueType::text, "", "how the job ends with the bug alone", {}, true},
                       {"twin", ValueType::text, "", "the simulated scenario of the same report", {}, true}}};
    return kind;
}

Result<Pin> parse_pin(std::string_view text) {
    const std::size_t equals = text.find("==");
    const std::string_view name = text.substr(0, equals);
    const std::string_view version =
        equals == std::string_view::npos ? std::string_view() : text.substr(equals + 2);
    if (!is_plain(name, "-_.") || !is_plain(version, "-_.+!"))
        return refuse(ErrorCode::bad_input, fmt::format("'{}' is not a release", text),
                      "write NAME==VERSION, as in \"torchmetrics==1.3.2\"");
    return Pin{std::string(name), std::string(version)};
}

std::vector<Pin> Release::all() const {
    std::vector<Pin> pins = {bug, fixed};
    pins.insert(pins.end(), with.begin(), with.end());
    return pins;
}

Release release_of(const Values& workload) {
    const std::string package = text_of(workload, "package");
    Release release{.bug = {package, text_of(workload, "bug")},
                    .fixed = {package, text_of(workload, "fixed")},
                    .with = {},
                    .program = text_of(workload, "program"),
                    .shows = text_of(workload, "shows"),
                    .ends = read_word<ReleaseEnd>(text_of(workload, "ends")),
                    .twin = text_of(workload, "twin")};
    const std::string with = text_of(workload, "with");
    for (std::size_t at = 0; at < with.size();) {
        const std::size_t end = std::min(with.find(' ', at), with.size());
        if (const auto pin = parse_pin(std::string_view(with).substr(at, end - at)))
            release.with.push_back(*pin);
        at = end + 1;
    }
    return release;
}

}  // namespace deadrank::scenarios

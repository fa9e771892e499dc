// results/reports/findings_file.cpp — {"format": 1, "findings": […]}; a newer format is refused, not guessed
// at.
#include "results/reports/findings_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/reports/json_parts.h"
#include "results/text/text_file.h"

namespace deadrank::results::reports {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

constexpr int format = 1;

Result<std::vector<Finding>> parse(const std::string& text, const std::filesystem::path& file) {
    try {
        const Json json = Json::parse(text);
        if (const int found = json.at("format").get<int>(); found != format) {
            return refuse(ErrorCode::bad_input, fmt::format("findings of format {}", found),
                          fmt::format("this build reads format {}", format), {file.string()});
        }
        std::vector<Finding> findings;
        for (const Json& one : json.at("findings")) findings.push_back(finding_from(one));
        return findings;
    } catch (const Json::exception& wrong) {
        return refuse(ErrorCode::bad_input, fmt::format("this is no findings file: {}", wrong.what()),
                      "deadrank judge writes one", {file.string()});
    }
}

}  // namespace

Result<void> write_findings(const std::vector<Finding>& findings, const std::filesystem::path& file) {
    return write_text(dumped({{"format", format}, {"findings", findings_json(findings)}}, 2) + "\n", file);
}

Result<std::vector<Finding>> read_findings(const std::filesystem::path& file) {
    return read_text(file).and_then([&](const std::string& text) { return parse(text, file); });
}

}  // namespace deadrank::results::reports

// results/external/nvrx_answers.cpp — Its JSON and its table as values.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/external/bounded.h"
#include "results/external/nvrx.h"

namespace deadrank::results::external {

namespace {

using Json = nlohmann::json;

std::string text_or_empty(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string_view> columns_of(std::string_view line) {
    std::vector<std::string_view> columns;
    for (std::size_t at = 0; at <= line.size();) {
        const std::size_t end = std::min(line.find('|', at), line.size());
        columns.push_back(trimmed(line.substr(at, end - at)));
        at = end + 1;
    }
    return columns;
}

}  // namespace

scenarios::Result<RestartVerdict> read_restart_response(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || text_or_empty(json, "schema_version") != "restart_agent_response.v1") {
        return scenarios::refuse(scenarios::ErrorCode::bad_input,
                                 fmt::format("'{}' is no restart_agent_response.v1", text.substr(0, 80)),
                                 "another release of the tool may answer in another form");
    }
    RestartVerdict verdict;
    verdict.decision = text_or_empty(json, "decision");
    const auto primary = json.find("primary_failure");
    if (primary == json.end() || !primary->is_object()) return verdict;
    verdict.failure_class = text_or_empty(*primary, "failure_class");
    verdict.signature = text_or_empty(*primary, "signature");
    const auto rank = primary->find("rank");
    if (rank != primary->end() && rank->is_number_integer()) verdict.rank = rank->get<Rank>();
    if (rank != primary->end() && rank->is_string())
        verdict.rank = std::atoi(rank->get<std::string>().c_str());
    return verdict;
}

std::vector<AttributionRow> read_attribution(std::string_view table) {
    std::vector<AttributionRow> rows;
    bool inside = false;
    for (std::size_t at = 0; at < table.size();) {
        const std::size_t end = std::min(table.find('\n', at), table.size());
        const std::string_view line = table.substr(at, end - at);
        at = end + 1;
        const auto columns = columns_of(line);
        if (columns.size() != 6) {
            inside = false;
        } else if (columns[0] == "PGID") {
            inside = true;
        } else if (inside) {
            AttributionRow row{std::string(columns[1]), std::string(columns[2]), {}};
            for (std::string_view rest = columns[5]; !rest.empty();) {
                const std::size_t comma = std::min(rest.find(','), rest.size());
                row.missing.push_back(std::atoi(std::string(rest.substr(0, comma)).c_str()));
                rest.remove_prefix(std::min(comma + 1, rest.size()));
            }
            std::sort(row.missing.begin(), row.missing.end());
            if (!row.missing.empty()) rows.push_back(std::move(row));
        }
    }
    return rows;
}

}  // namespace deadrank::results::external

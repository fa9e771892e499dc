// results/reports/standing_json.cpp — How one framework stood one bug, as part of a line of `run --json`, and
// back: runs that were played one after the other, or on several machines, make one table.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "results/reports/json_parts.h"
#include "results/reports/resilience_table.h"
#include "results/text/text_file.h"

namespace deadrank::results::reports {

std::string with_standing(const std::string& json_line, const Standing& standing) {
    Json json = Json::parse(json_line);
    json["cause"] = standing.cause;
    json["subject"] = {{"name", standing.subject.name},
                       {"framework", standing.subject.framework},
                       {"version", standing.subject.version},
                       {"debug", standing.subject.debug}};
    json["again"] = standing.again;
    json["stood"] = nullptr;
    if (!standing.grade) json["untold"] = standing.untold;
    if (standing.grade) {
        const Time took = standing.grade->took;
        json["stood"] = {{"response", table_word(standing.grade->reaction).id},
                         {"took", took == never ? Json(nullptr) : Json(took.count())},
                         {"says", standing.grade->says}};
    }
    return dumped(json);
}

namespace {

Reaction reaction_called(const std::string& name) {
    for (const TableWord& word : table_words) {
        if (word.id == name) return word.reaction;
    }
    throw std::invalid_argument(fmt::format("there is no response '{}'", name));
}

Standing standing_from(const Json& json) {
    const Json& subject = json.at("subject");
    Standing one{.scenario = json.at("scenario"),
                 .cause = json.at("cause"),
                 .subject = {subject.at("name"), subject.at("framework"), subject.at("version"), Time(0),
                             subject.value("debug", "")},
                 .again = json.at("again"),
                 .grade = std::nullopt,
                 .untold = json.value("untold", "")};
    if (const Json& stood = json.at("stood"); !stood.is_null()) {
        const Json& took = stood.at("took");
        one.grade = Grade{.reaction = reaction_called(stood.at("response")),
                          .took = took.is_null() ? never : Time(took.get<std::int64_t>()),
                          .says = stood.at("says")};
    }
    return one;
}

}  // namespace

scenarios::Result<std::vector<Standing>> read_standings(const std::filesystem::path& file) {
    const auto text = read_text(file);
    if (!text) return tl::unexpected(text.error());
    std::vector<Standing> standings;
    std::istringstream in(*text);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line.empty()) continue;
        try {
            const Json json = Json::parse(line);
            if (json.contains("subject")) standings.push_back(standing_from(json));
        } catch (const std::exception& wrong) {
            if (in.eof()) break;  // its writer was killed in the middle of it
            return scenarios::refuse(scenarios::ErrorCode::bad_input,
                                     fmt::format("{}:{}: this is no line of `deadrank run --json`: {}",
                                                 file.string(), number, wrong.what()),
                                     "give it what `deadrank run --runner local --json` printed");
        }
    }
    return standings;
}

}  // namespace deadrank::results::reports

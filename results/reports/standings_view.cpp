// results/reports/standings_view.cpp — A bad cell is told with its command, and so is one that could not
// be told with its reason; the page draws, it does not judge.
#include "results/reports/standings_view.h"

#include <nlohmann/json.hpp>

#include "results/reports/resilience_table.h"

namespace deadrank::results::reports {

Json standing_view(const Standing& standing) {
    Json json = {{"bug", standing.scenario},
                 {"cause", standing.cause},
                 {"program", framework_text(standing.subject)},
                 {"again", standing.again}};
    if (!standing.grade) {
        json["untold"] = standing.untold;
        return json;
    }
    json["response"] = table_word(standing.grade->reaction).text;
    json["good"] = is_good(standing.grade->reaction);
    json["took"] = took_text(*standing.grade);
    json["says"] = standing.grade->says;
    return json;
}

}  // namespace deadrank::results::reports

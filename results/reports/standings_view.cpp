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
    if (!standing.stood) {
        json["untold"] = standing.untold;
        return json;
    }
    json["response"] = text_of(standing.stood->response);
    json["good"] = is_good(standing.stood->response);
    json["took"] = took_text(*standing.stood);
    json["says"] = standing.stood->says;
    return json;
}

}  // namespace deadrank::results::reports

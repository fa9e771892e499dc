// runners/commands/learn_list.cpp — ✔ solved, … begun, · not yet.
#include "runners/commands/learn_list.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/reports/json_files.h"
#include "results/text/words.h"
#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

using learn::Done;
using results::reports::Ink;
using results::reports::pad_right;

void list_text(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress) {
    constexpr std::size_t title_columns = 40;
    const auto style = style_of(stdout);
    std::string stage;
    for (const auto& scenario : course) {
        if (scenario.bug.stage != stage) {
            fmt::print("{}{}\n", stage.empty() ? "" : "\n", style.paint(Ink::bold, scenario.bug.stage));
            stage = scenario.bug.stage;
        }
        const Done* done = progress.find(scenario.id);
        const std::string_view mark = !done ? "·" : done->solved ? "✔" : "…";
        const std::string title = scenario.teach.title.empty() ? scenario.id : scenario.teach.title;
        fmt::print("  {} {}  {}\n", mark, pad_right(style.cut(title, title_columns), title_columns),
                   style.paint(Ink::dim, scenario.id));
    }
    say_solved(course, progress);
}

void list_json(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress) {
    auto all = results::reports::Json::array();
    for (const auto& scenario : course) {
        const Done* done = progress.find(scenario.id);
        all.push_back({{"id", scenario.id},
                       {"title", scenario.teach.title},
                       {"stage", scenario.bug.stage},
                       {"symptom", scenario.bug.symptom},
                       {"begun", done != nullptr},
                       {"solved", done && done->solved},
                       {"tries", done ? done->tries : 0},
                       {"hints", done ? done->hints : 0}});
    }
    fmt::print("{}\n", results::reports::dumped(all, 2));
}

void say_solved(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress) {
    const auto solved = std::count_if(course.begin(), course.end(), [&](const auto& scenario) {
        const Done* done = progress.find(scenario.id);
        return done && done->solved;
    });
    fmt::print("\n  {} of {} solved; deadrank learn goes on where you are.\n", solved,
               results::counted(course.size(), "lesson"));
}

}  // namespace deadrank::runners::commands

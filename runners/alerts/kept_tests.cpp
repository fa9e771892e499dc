// runners/alerts/kept_tests.cpp — Only exit codes count here: promtool's output was read before.
#include "runners/alerts/kept_tests.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>

#include "results/alerts/promtool_player.h"
#include "results/processes/bounded.h"
#include "results/record/text_file.h"

namespace deadrank::runners::alerts {

namespace {

bool any_activity(const results::alerts::PlayerAnswer& played) {
    for (std::size_t i = 0; i < played.activity.size(); ++i) {
        const bool asked = i >= played.reused.size() || !played.reused[i];
        if (asked && !played.activity[i].empty()) return true;
    }
    return false;
}

}  // namespace

scenarios::Result<void> write_tests(const results::alerts::Study& study,
                                    const std::vector<results::exporters::Incident>& incidents,
                                    const std::filesystem::path& directory) {
    std::vector<results::exporters::Incident> all = incidents;
    all.push_back(results::exporters::healthy_run());
    for (const auto& incident : all) {
        results::alerts::TestInput input{{}, incident.id, "", study.world.window, study.world.window.eval};
        for (const auto& file : study.files) input.rule_files.push_back(file.loaded);
        input.series =
            results::alerts::series_block(results::alerts::series_for(study.world, incident, study.analysis));
        std::string name = incident.id;
        std::replace(name.begin(), name.end(), '/', '_');
        if (auto written = results::write_text(results::alerts::edge_test(input),
                                               directory / (results::file_name_of(name) + ".edges.yml"));
            !written)
            return written;
    }
    return {};
}

std::vector<std::string> verify_kept(const results::alerts::Study& study,
                                     const results::external::Promtool& tool,
                                     const std::filesystem::path& directory) {
    std::vector<std::string> disagreements;
    const auto run = [&](const std::filesystem::path& file) {
        auto answer = results::processes::run_bounded({tool.path(), "test", "rules", file.string()},
                                                      results::processes::Bounds::none());
        return answer ? answer->code : -1;
    };
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".test.yml") || name.starts_with("suggested")) continue;
        if (const int code = run(entry.path()); code != 0)
            disagreements.push_back(fmt::format("{} exits {}", name, code));
    }
    const auto edges = [&](const results::alerts::PlayerAnswer& played) {
        if (played.kept.empty()) return;
        const int code = run(played.kept), expected = any_activity(played) ? 1 : 0;
        if (code != expected) {
            disagreements.push_back(
                fmt::format("{} exits {}, we say {}", played.kept.filename().string(), code, expected));
        }
    };
    edges(study.healthy_played);
    for (const auto& row : study.rows) {
        if (row.trouble.empty()) edges(row.played);
    }
    return disagreements;
}

}  // namespace deadrank::runners::alerts

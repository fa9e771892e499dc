// runners/alerts/kept_tests.cpp — Only exit codes count here: promtool's output was read before.
#include "runners/alerts/kept_tests.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>

#include "results/alerts/promtool_player.h"
#include "results/processes/bounded.h"
#include "results/record/text_file.h"

namespace deadrank::runners::alerts {

scenarios::Result<void> write_tests(const results::alerts::Study& study,
                                    const std::vector<results::exporters::Incident>& incidents,
                                    const std::filesystem::path& directory) {
    std::vector<results::exporters::Incident> all = incidents;
    all.push_back(results::exporters::healthy_run());
    std::vector<bool> asked;
    for (const auto& rule : study.rules) asked.push_back(rule.is_alert);
    double hold_most = 0;
    for (const auto& rule : study.rules) hold_most = std::max(hold_most, rule.hold);
    const auto parts =
        results::alerts::parts_of(asked, study.rules, study.analysis, study.world.window, hold_most);
    for (const auto& incident : all) {
        for (const auto& part : parts) {
            auto written = results::alerts::write_part(part, study.world, incident, study.rules,
                                                       study.analysis, {}, directory);
            if (!written) return tl::unexpected(written.error());
        }
    }
    return {};
}

std::vector<std::string> verify_kept(const results::external::Promtool& tool,
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
    return disagreements;
}

}  // namespace deadrank::runners::alerts

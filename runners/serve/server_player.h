// runners/serve/server_player.h — Plays rules with a Prometheus server, over its own API.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results/alerts/promtool_player.h"
#include "results/alerts/study.h"
#include "runners/serve/served_run.h"
#include "runners/serve/server_pool.h"

namespace deadrank::runners::serve {

// The alternative to promtool: a real Prometheus server on loopback holds the series, and each expression is
// queried over the whole run. Its clock begins at 0 with the history before the run, as promtool's does, or
// whole weeks later where a run before had the server. Recording rules are evaluated over the run and written
// back before the alerts that read them, as is the state of alerts for rules about ALERTS; the states of an
// alert are counted from the answers. A failing run is asked from the failure on: until then every answer is
// that of the healthy run. What this cannot do is played by promtool: see needs_promtool().
class ServerPlayer final : public results::alerts::Player {
public:
    struct Options {
        std::string program;              // the prometheus to start
        std::filesystem::path directory;  // for the kept files
        bool keep = true;
    };
    ServerPlayer(Options options, std::optional<results::external::Promtool> promtool);

    std::string name() const override;
    void stop_when(std::function<bool()> stopped) override;
    scenarios::Result<results::alerts::PlayerAnswer> play(
        const results::exporters::World& world, const results::exporters::Incident& incident,
        const std::vector<results::alerts::RuleFile>& files, const std::vector<results::alerts::Rule>& rules,
        const results::alerts::StaticAnalysis& analysis) override;

private:
    // Plays the asked rules, those of long `for` first over a short past. Then, in stretches of their own,
    // the rules about the states of these.
    scenarios::Result<void> serve_all(const results::exporters::World& world,
                                      const results::exporters::Incident& incident, const Question& question,
                                      Conditions& held, results::alerts::PlayerAnswer& played);
    // Plays rules in one stretch of a server, and returns which are undecided.
    scenarios::Result<std::vector<bool>> serve(results::exporters::World world,
                                               const results::exporters::Incident& incident,
                                               const Question& question, Conditions& held,
                                               results::alerts::PlayerAnswer& played);
    scenarios::Result<void> play_exactly(const results::exporters::World& world,
                                         const results::exporters::Incident& incident,
                                         const std::vector<results::alerts::RuleFile>& files,
                                         const std::vector<results::alerts::Rule>& rules,
                                         const results::alerts::StaticAnalysis& analysis,
                                         const std::vector<bool>& asked,
                                         results::alerts::PlayerAnswer& played);

    Options options_;
    std::optional<results::alerts::PromtoolPlayer> exact_;
    results::alerts::HealthyMemory healthy_;
    Conditions healthy_held_;
    ServerPool pool_;
};

}  // namespace deadrank::runners::serve

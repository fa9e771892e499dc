// runners/serve/server_player.h — The second path: a real Prometheus server on loopback holds the series, and
// each expression is asked of it over the whole run. For clusters beyond promtool's limit of samples.
#pragma once

#include <memory>

#include "results/alerts/study.h"

namespace deadrank::runners::serve {

// Handled differently from a live Prometheus, and said in the notes where it matters: `for` is counted by us
// from the query's results; recording rules are put into the expressions that read them; keep_firing_for and
// templates in labels are not played.
class ServerPlayer final : public results::alerts::Player {
public:
    // `program`: the prometheus to start; `out`: where its data may lie while it runs.
    ServerPlayer(std::string program, std::filesystem::path out)
        : program_(std::move(program)), out_(std::move(out)) {}

    std::string name() const override { return "a Prometheus server (" + program_ + ")"; }
    scenarios::Result<results::alerts::Played> play(const results::exporters::World& world,
                                                    const results::exporters::Incident& incident,
                                                    const std::vector<results::alerts::RuleFile>& files,
                                                    const std::vector<results::alerts::Rule>& rules,
                                                    const results::alerts::StaticAnalysis& analysis) override;

private:
    std::string program_;
    std::filesystem::path out_;
};

}  // namespace deadrank::runners::serve

// runners/serve/server_player.h — The second path: a real Prometheus server on loopback holds the series, and each
// expression is asked of it over the whole run. For clusters beyond promtool's limit of samples.
#pragma once

#include <memory>

#include "results/alerts/study.h"

namespace deadrank::runners::serve {

class PrometheusServer;

// Handled differently from a live Prometheus: `for` is counted by us from the query's results; recording rules are put into
// the expressions that read them; keep_firing_for, ALERTS read by alerts, and templates in labels are not.
class ServerPlayer final : public results::alerts::Player {
public:
    // Errors: environment, when there is no such program or it does not come up.
    static scenarios::Result<std::unique_ptr<ServerPlayer>> start(const std::string& program, const std::filesystem::path& out);
    ~ServerPlayer() override;

    std::string name() const override;
    scenarios::Result<results::alerts::Played> play(const results::exporters::World& world,
                                                    const results::exporters::Incident& incident,
                                                    const std::vector<results::alerts::RuleFile>& files,
                                                    const std::vector<results::alerts::Rule>& rules,
                                                    const results::alerts::StaticAnalysis& analysis) override;

private:
    ServerPlayer(std::string program, std::string version);
    std::string program_, version_;
};

}  // namespace deadrank::runners::serve

// results/alerts/promtool_player.h — Prometheus' own rule engine in virtual time: generated unit tests, rule
// files untouched.
#pragma once

#include "results/alerts/study.h"

namespace deadrank::results::alerts {

class PromtoolPlayer final : public Player {
public:
    struct Options {
        std::filesystem::path directory;  // where the generated files stay
        std::string cache;                // where promtool's answers are remembered; empty = nowhere
        bool keep = true;                 // the kept file beside the edge file
    };
    PromtoolPlayer(external::Promtool tool, Options options)
        : tool_(std::move(tool)), options_(std::move(options)) {}

    std::string name() const override { return "promtool " + tool_.version(); }
    scenarios::Result<Played> play(const exporters::World& world, const exporters::Incident& incident,
                                   const std::vector<RuleFile>& files, const std::vector<Rule>& rules,
                                   const StaticAnalysis& analysis) override;

    const external::Promtool& tool() const { return tool_; }
    const Options& options() const { return options_; }

private:
    // Alerts whose answer of the healthy run stands for this incident.
    std::vector<bool> unmoved(const exporters::World& world, const exporters::Incident& incident,
                              const std::vector<Rule>& rules, const StaticAnalysis& analysis) const;
    scenarios::Result<std::vector<RuleFile>> reduced(const std::vector<RuleFile>& files,
                                                     const std::vector<Rule>& rules,
                                                     const std::vector<bool>& reused,
                                                     const std::string& id) const;

    external::Promtool tool_;
    Options options_;
    Played healthy_;  // of the rules below
    const std::vector<Rule>* healthy_rules_ = nullptr;
};

// Only the series that some rule may read; all of them when a rule selects without a name.
std::vector<exporters::Series> series_for(const exporters::World& world, const exporters::Incident& incident,
                                          const StaticAnalysis& analysis);

}  // namespace deadrank::results::alerts

// results/alerts/promtool_player.h — Lets promtool play the rules, in virtual time.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/alerts/promtool_runs.h"
#include "results/alerts/study.h"
#include "results/alerts/test_file.h"

namespace deadrank::results::alerts {

// Prometheus' own rule engine: every expression, every recording rule and every state of an alert is its own.
class PromtoolPlayer final : public Player {
public:
    struct Options {
        std::filesystem::path directory;  // where the generated files stay
        bool keep = true;                 // write the kept file, beside the edge file
        bool probe = true;                // record how near each alert came to its threshold
    };
    PromtoolPlayer(external::Promtool tool, Options options)
        : tool_(std::move(tool)), options_(std::move(options)) {}

    std::string name() const override { return "promtool " + tool_.version(); }
    scenarios::Result<PlayerAnswer> play(const exporters::World& world, const exporters::Incident& incident,
                                         const std::vector<RuleFile>& files, const std::vector<Rule>& rules,
                                         const StaticAnalysis& analysis, const PlayerAnswer* usual) override;
    scenarios::Result<Presence> presence(const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                                         const Emitted& emitted) override;

    const external::Promtool& tool() const { return tool_; }

private:
    external::Promtool tool_;
    Options options_;
};

// The edge file of one run and the rules that it names, written below `directory`.
struct WrittenPart {
    std::filesystem::path test, rules;
};
scenarios::Result<WrittenPart> write_part(const Part& part, const exporters::World& world,
                                          const exporters::Incident& incident, const std::vector<Rule>& rules,
                                          const StaticAnalysis& analysis, const std::vector<Probe>& probes,
                                          const std::filesystem::path& directory);

}  // namespace deadrank::results::alerts

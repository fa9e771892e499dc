// results/alerts/promtool_player.cpp — A rule that promtool cannot evaluate is left out, with those that read
// it, and the rest is played again.
#include "results/alerts/promtool_player.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "results/exporters/toml_file.h"
#include "results/record/text_file.h"

namespace deadrank::results::alerts {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

// "deadrank_probe_12_0": of rule 12, its threshold 0.
std::string probe_name(std::size_t rule, std::size_t threshold) {
    return fmt::format("{}{}_{}", probe_prefix, rule, threshold);
}

constexpr std::string_view farthest = "_far";
constexpr std::string_view value_prefix = "deadrank_value_";

// One call of an aggregation, whose label sets are distinct: "sum by (instance) (rate(x[6h]))".
bool is_aggregation(std::string_view expr) {
    const std::vector<Token> tokens = tokens_of(expr);
    if (tokens.empty() || !one_of(tokens[0].text, {"sum", "min", "max", "avg", "count", "group", "stddev",
                                                   "stdvar", "quantile"}))
        return false;
    int depth = 0;
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        if (tokens[i].text == "(")
            ++depth;
        else if (tokens[i].text == ")")
            --depth;
        else if (depth == 0 && !one_of(tokens[i].text, {"by", "without"}))
            return false;
    }
    return true;
}

// Can a recording rule hold its value? Without the names of metrics its label sets have to stay distinct.
// Where a rule reads all series, it would count those of a value with many.
bool is_recordable(const std::string& value, bool whole) {
    if (is_aggregation(value)) return true;
    const Reads reads = scan(value);
    return !whole && !reads.identifiers.contains("or") && !reads.everything;
}

// For each threshold of the asked alerts, the value that comes nearest to it, and the one farthest from it.
// A value that can be recorded is evaluated once for both.
std::vector<Probe> probes_of(const std::vector<bool>& asked, const StaticAnalysis& analysis, bool whole) {
    std::vector<Probe> probes;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto& thresholds = analysis.rules[i].thresholds;
        for (std::size_t k = 0; asked[i] && k < thresholds.size(); ++k) {
            const Threshold& one = thresholds[k];
            const Reads reads = scan(one.left);
            if (reads.selectors.empty() || reads.identifiers.contains("scalar")) continue;
            const bool equal = one.op == Comparison::equal, unequal = one.op == Comparison::unequal;
            std::string value = one.left;
            // What is in parentheses behind a bare group_left would be its labels.
            const bool bare = one.matching.ends_with("group_left") || one.matching.ends_with("group_right");
            if (!one.number || equal || unequal)
                value = fmt::format("({}) - {}{} ({})", one.left, one.matching, bare ? " ()" : "", one.limit);
            if (equal || unequal) value = "abs(" + value + ")";
            const bool up = is_upward(one.op) || unequal;
            if (is_recordable(value, whole)) {
                const std::string held = fmt::format("{}{}_{}", value_prefix, i, k);
                probes.push_back({held, std::exchange(value, held)});
            }
            probes.push_back({probe_name(i, k), (up ? "max(" : "min(") + value + ")"});
            probes.push_back(
                {probe_name(i, k) + std::string(farthest), (up ? "min(" : "max(") + value + ")"});
        }
    }
    return probes;
}

// Is it this rule's probe?
bool probes_rule(const std::string& name, std::size_t rule) {
    return name.starts_with(fmt::format("{}{}_", probe_prefix, rule)) ||
           name.starts_with(fmt::format("{}{}_", value_prefix, rule));
}

bool is_pending_at_start(const std::vector<Instance>& instances) {
    return std::any_of(instances.begin(), instances.end(), [](const Instance& one) {
        return !one.pending.empty() && one.pending.front().begin <= 0;
    });
}

double rules_hold_most(const std::vector<Rule>& rules) {
    double most = 0;
    for (const Rule& rule : rules) most = std::max(most, rule.hold);
    return most;
}

class Run {
public:
    Run(const external::Promtool& tool, const PromtoolPlayer::Options& options, Part part,
        const exporters::World& world, const exporters::Incident& incident, const std::vector<Rule>& rules,
        const StaticAnalysis& analysis, const std::function<bool()>& stopped)
        : tool_(tool),
          options_(options),
          part_(std::move(part)),
          world_(world),
          incident_(incident),
          rules_(rules),
          analysis_(analysis),
          stopped_(stopped) {
        if (options_.probe) probes_ = probes_of(part_.asked, analysis_, part_.whole);
    }

    Result<void> play(PlayerAnswer& played) {
        for (int attempt = 0; attempt < 12 && any_pending(); ++attempt) {
            auto written =
                write_part(part_, world_, incident_, rules_, analysis_, probes_, options_.directory);
            if (!written) return tl::unexpected(written.error());
            if (played.kept.empty()) played.kept = written->test;
            auto answer = tool_.test_rules(written->test.string(), stopped_);
            if (!answer) return tl::unexpected(answer.error());
            played.cpu_seconds += answer->cpu_seconds;
            if (!answer->rules.empty()) {
                drop(answer->rules, played);
                continue;
            }
            if (!answer->load.empty() && !probes_.empty()) {  // the operator's own rules were checked before
                probes_.clear();
                continue;
            }
            if (answer->code != 0 && answer->mismatches.empty()) return no_verdict(*answer, written->test);
            take(*answer, played);
            return {};
        }
        if (!any_pending()) return {};
        return refuse(ErrorCode::internal, "promtool could not evaluate these rules");
    }

private:
    bool any_pending() const {
        return std::find(part_.asked.begin(), part_.asked.end(), true) != part_.asked.end();
    }

    Result<void> no_verdict(const external::TestAnswer& answer, const std::filesystem::path& test) const {
        const std::string words = !answer.load.empty()   ? answer.load[0].words
                                  : answer.other.empty() ? "no reason given"
                                                         : answer.other[0];
        return refuse(ErrorCode::environment, "promtool gave no verdict: " + words, "",
                      {test.string(), 0, 0});
    }

    // promtool ends at the first evaluation that fails, so that nothing is known of these rules.
    void drop(const std::vector<external::RuleTrouble>& troubles, PlayerAnswer& played) {
        std::map<std::string, const external::RuleTrouble*> failed;
        for (const external::RuleTrouble& one : troubles) failed.emplace(one.rule, &one);
        std::erase_if(probes_, [&](const Probe& one) { return failed.contains(one.name); });
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            if (!part_.asked[i] && !(part_.whole && rules_[i].is_alert)) continue;
            for (const auto& [name, trouble] : failed) {
                const bool own = rules_[i].name == name;
                const bool reads = !own && analysis_.rules[i].names.contains(name) && is_recorded(name);
                if (!own && !reads) continue;
                part_.asked[i] = false;
                left_out_ = true;
                std::erase_if(probes_, [&](const Probe& one) { return probes_rule(one.name, i); });
                played.unjudged[i] = true;
                played.why_unjudged[i] = {trouble->words, trouble->time - part_.history, own ? "" : name};
            }
        }
        if (!part_.whole || !left_out_) return;
        // Those that read the state of others cannot be judged without them.
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            if (!part_.asked[i]) continue;
            part_.asked[i] = false;
            played.unjudged[i] = true;
            played.why_unjudged[i] = {troubles[0].words, troubles[0].time - part_.history, troubles[0].rule};
        }
    }

    bool is_recorded(const std::string& name) const {
        return std::any_of(rules_.begin(), rules_.end(),
                           [&](const Rule& one) { return !one.is_alert && one.name == name; });
    }

    void take(const external::TestAnswer& answer, PlayerAnswer& played) {
        std::vector<external::Mismatch> edges;
        for (const external::Mismatch& one : answer.mismatches) {
            if (one.expr.find(probe_prefix) == std::string::npos)
                edges.push_back(one);
            else
                take_probes(one, played);
        }
        Activity activity = activity_of(edges, rules_, part_.history);
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            if (part_.asked[i]) played.activity[i] = std::move(activity[i]);
            if (part_.asked[i]) played.eval[i] = part_.eval;
        }
    }

    void take_probes(const external::Mismatch& one, PlayerAnswer& played) {
        for (const external::Sample& sample : one.got) {
            const auto name = sample.labels.find("__name__");
            if (name == sample.labels.end()) continue;
            char* at = nullptr;
            const char* text = name->second.c_str() + std::string_view(probe_prefix).size();
            const std::size_t rule = std::strtoul(text, &at, 10), threshold = std::strtoul(at + 1, &at, 10);
            Curves& side = at == farthest ? played.far : played.curves;
            side[{rule, threshold}].emplace_back(one.time - part_.history, sample.value);
        }
    }

    const external::Promtool& tool_;
    const PromtoolPlayer::Options& options_;
    Part part_;
    const exporters::World& world_;
    const exporters::Incident& incident_;
    const std::vector<Rule>& rules_;
    const StaticAnalysis& analysis_;
    const std::function<bool()>& stopped_;
    std::vector<Probe> probes_;
    bool left_out_ = false;
};

constexpr double kept_history_most = 31 * 3600.0;

// The operator's own files with what was found of the asked alerts that need no long past.
Result<void> write_kept(const std::vector<Part>& parts, const exporters::World& world,
                        const exporters::Incident& incident, const std::vector<RuleFile>& files,
                        const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                        const PlayerAnswer& played, const std::string& judge,
                        const std::filesystem::path& directory) {
    for (const Part& part : parts) {
        if (part.history > kept_history_most || part.whole) continue;
        const std::string id = file_safe(incident.id) + part.name;
        TestInput input{{},
                        incident.id,
                        series_block(series_of(part, world, incident, rules, analysis)),
                        world.window,
                        part.eval};
        input.window.history = part.history;
        for (const Rule& rule : rules) {
            if (input.groups.empty() || input.groups.back() != rule.group) input.groups.push_back(rule.group);
        }
        std::sort(input.groups.begin(), input.groups.end());
        input.groups.erase(std::unique(input.groups.begin(), input.groups.end()), input.groups.end());
        bool all = true;
        for (std::size_t i = 0; i < rules.size(); ++i) all = all && !played.unjudged[i];
        if (all) {
            for (const RuleFile& file : files) input.rule_files.push_back(file.loaded);
        } else {  // promtool would end at a rule that it cannot evaluate
            std::vector<bool> kept = rules_in(part, rules, analysis);
            for (std::size_t i = 0; i < rules.size(); ++i) kept[i] = kept[i] && !played.unjudged[i];
            const auto reduced = std::filesystem::absolute(directory / (id + ".judged.rules.json"));
            if (auto written = write_text(rules_text(rules, kept, {}), reduced); !written) return written;
            input.rule_files.push_back(reduced.string());
            input.groups = groups_of(rules);
        }
        std::vector<Expectation> expectations;
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (part.asked[i] && !played.unjudged[i])
                expect_rule(rules[i], played.activity[i], input.window, expectations);
        }
        const auto kept = directory / (id + ".test.yml");
        const std::string why =
            fmt::format("# {}: what these rules do today, by {}. Run: promtool test rules {}\n",
                        incident.title, judge, kept.filename().string());
        if (auto written = write_text(kept_test(input, expectations, why), kept); !written) return written;
    }
    return {};
}

}  // namespace

Result<WrittenPart> write_part(const Part& part, const exporters::World& world,
                               const exporters::Incident& incident, const std::vector<Rule>& rules,
                               const StaticAnalysis& analysis, const std::vector<Probe>& probes,
                               const std::filesystem::path& directory) {
    const std::string id = file_safe(incident.id) + part.name;
    const WrittenPart files{directory / (id + ".edges.yml"),
                            std::filesystem::absolute(directory / (id + ".rules.json"))};
    TestInput input{
        {files.rules.string()}, incident.id, series_block(series_of(part, world, incident, rules, analysis)),
        world.window,           part.eval,   groups_of(rules),
        !probes.empty()};
    input.window.history = part.history;
    const std::string text = rules_text(rules, rules_in(part, rules, analysis), probes, !part.whole);
    if (auto written = write_text(text, files.rules); !written) return tl::unexpected(written.error());
    if (auto written = write_text(edge_test(input), files.test); !written)
        return tl::unexpected(written.error());
    return files;
}

Result<PlayerAnswer> PromtoolPlayer::play(const exporters::World& world, const exporters::Incident& incident,
                                          const std::vector<RuleFile>& files, const std::vector<Rule>& rules,
                                          const StaticAnalysis& analysis, const PlayerAnswer* usual) {
    PlayerAnswer played;
    played.activity.resize(rules.size());
    played.unjudged.resize(rules.size(), false);
    played.reused.resize(rules.size(), false);
    played.eval.resize(rules.size(), world.window.eval);
    const auto play_parts = [&](const std::vector<Part>& parts) -> Result<void> {
        for (const Part& part : parts) {
            auto done = Run(tool_, options_, part, world, incident, rules, analysis, stopped_).play(played);
            if (!done) return done;
        }
        return {};
    };
    std::vector<bool> asked(rules.size());
    const auto reached =
        usual != nullptr ? reached_by(exporters::touched(world, incident), rules, analysis) : asked;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        asked[i] = rules[i].is_alert && (usual == nullptr || reached[i]);
        played.reused[i] = !asked[i];
        if (asked[i] || usual == nullptr) continue;
        played.activity[i] = usual->activity[i];
        played.unjudged[i] = usual->unjudged[i];
        played.eval[i] = usual->eval[i];
        if (usual->unjudged[i] && rules[i].is_alert) played.why_unjudged[i] = usual->why_unjudged.at(i);
    }
    // A long `for` counts from when its condition became true. Only what is pending as the run begins may
    // have been so for longer.
    constexpr double hold_most = 600;
    auto parts = parts_of(asked, rules, analysis, world.window, hold_most);
    if (auto done = play_parts(parts); !done) return tl::unexpected(done.error());
    std::vector<bool> longer(rules.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
        longer[i] = asked[i] && rules[i].hold > hold_most && !analysis.rules[i].states &&
                    is_pending_at_start(played.activity[i]);
    }
    for (Curves* side : {&played.curves, &played.far})
        std::erase_if(*side, [&](const auto& one) { return longer[one.first.first]; });
    auto more = parts_of(longer, rules, analysis, world.window, rules_hold_most(rules));
    for (Part& part : more) part.name += ".for";
    if (auto done = play_parts(more); !done) return tl::unexpected(done.error());
    for (Part& part : parts) {
        for (std::size_t i = 0; i < rules.size(); ++i) part.asked[i] = part.asked[i] && !longer[i];
    }
    if (options_.keep && !files.empty()) {
        auto written =
            write_kept(parts, world, incident, files, rules, analysis, played, name(), options_.directory);
        if (!written) return tl::unexpected(written.error());
    }
    return played;
}

Result<Presence> PromtoolPlayer::presence(const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                                          const Emitted& emitted) {
    const auto file = std::filesystem::absolute(options_.directory / "presence.rules.json");
    const auto test = options_.directory / "presence.yml";
    if (auto written = write_text(presence_rules(rules), file); !written)
        return tl::unexpected(written.error());
    if (auto written = write_text(presence_test(rules, analysis, emitted, file.string()), test); !written)
        return tl::unexpected(written.error());
    auto answer = tool_.test_rules(test.string(), stopped_);
    if (!answer) return tl::unexpected(answer.error());
    // A recording rule that fails in a world of everything at once: then nothing is known.
    Presence presence{.valueless = std::vector<bool>(rules.size(), false)};
    if (answer->rules.empty() && answer->load.empty()) presence = presence_of(*answer, rules, analysis);
    const std::string reach = reach_test(analysis, emitted);
    if (reach.empty()) return presence;
    const auto bounds = options_.directory / "reach.yml";
    if (auto written = write_text(reach, bounds); !written) return tl::unexpected(written.error());
    auto reached = tool_.test_rules(bounds.string(), stopped_);
    if (!reached) return tl::unexpected(reached.error());
    find_unreached(*reached, analysis, emitted, presence);
    return presence;
}

}  // namespace deadrank::results::alerts

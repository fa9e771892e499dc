// results/alerts/promtool_player.cpp — Plays rules with promtool, from a generated test file.
#include "results/alerts/promtool_player.h"

#include <algorithm>
#include <fmt/format.h>
#include <xxhash.h>

#include "results/exporters/toml_file.h"
#include "results/record/text_file.h"

namespace deadrank::results::alerts {

// ── One run for each evaluation interval among the groups, since a unit test has only one. A rule that
// breaks promtool's limit of samples is reported and left out of a copy, and the rest is judged without it.

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

std::string key_of(const std::string& version, const std::string& test, const std::vector<RuleFile>& files) {
    std::string all = version;
    for (const RuleFile& file : files) all += file.content;
    const auto hash = XXH3_128bits((all + test).data(), all.size() + test.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::vector<double> intervals_of(const std::vector<Rule>& rules, double eval) {
    std::vector<double> all;
    for (const Rule& rule : rules) {
        if (rule.is_alert) all.push_back(rule.interval > 0 ? rule.interval : eval);
    }
    if (all.empty()) all.push_back(eval);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

class Run {
public:
    Run(const external::Promtool& tool, const PromtoolPlayer::Options& options,
        const std::vector<Rule>& rules, TestInput input, std::vector<RuleFile> files, std::string id,
        const std::function<bool()>& stopped)
        : tool_(tool),
          options_(options),
          rules_(rules),
          input_(std::move(input)),
          files_(std::move(files)),
          id_(std::move(id)),
          stopped_(stopped) {}

    // Drops the rules that promtool cannot evaluate, until it can evaluate the rest.
    Result<external::TestAnswer> edges(PlayerAnswer& played) {
        for (int attempt = 0; attempt < 8; ++attempt) {
            input_.rule_files.clear();
            for (const RuleFile& file : files_) input_.rule_files.push_back(file.loaded);
            const std::string test = edge_test(input_);
            played.kept = options_.directory / (id_ + ".edges.yml");
            if (auto written = write_text(test, played.kept); !written)
                return tl::unexpected(written.error());
            auto answer = tool_.test_rules(played.kept.string(), options_.cache,
                                           key_of(tool_.version(), test, files_), stopped_);
            if (!answer) return answer;
            played.cpu_seconds += answer->cpu_seconds;
            played.cached = answer->cached;
            if (answer->rules.empty()) return answer;
            if (auto dropped = drop(answer->rules, played); !dropped) return tl::unexpected(dropped.error());
        }
        return refuse(ErrorCode::internal, "promtool could not evaluate these rules at this size");
    }

private:
    Result<void> drop(const std::vector<external::RuleTrouble>& troubles, PlayerAnswer& played) {
        std::set<std::string> names;
        for (const auto& trouble : troubles) {
            if (!names.insert(trouble.rule).second) continue;
            played.notes.push_back(fmt::format("{} could not be evaluated: {}", trouble.rule, trouble.words));
            for (std::size_t i = 0; i < rules_.size(); ++i) {
                if (rules_[i].name != trouble.rule) continue;
                played.unjudged[i] = true;
                played.why_unjudged[i] = trouble.words;
            }
        }
        for (RuleFile& file : files_) {
            auto copy = without_rules(file, names, options_.directory / "copies" / relative_path_of(id_));
            if (!copy) return tl::unexpected(copy.error());
            file = std::move(*copy);
        }
        return {};
    }

    const external::Promtool& tool_;
    const PromtoolPlayer::Options& options_;
    const std::vector<Rule>& rules_;
    TestInput input_;
    std::vector<RuleFile> files_;
    std::string id_;
    const std::function<bool()>& stopped_;
};

std::vector<bool> alerts_of(const std::vector<Rule>& rules) {
    std::vector<bool> alerts(rules.size());
    for (std::size_t i = 0; i < rules.size(); ++i) alerts[i] = rules[i].is_alert;
    return alerts;
}

// Alerts whose answer is known, and those that can never fire. A file is reduced by name, so that the alerts
// of one name are asked together.
std::vector<bool> not_asked(const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                            const std::vector<bool>& reused) {
    std::set<std::string> asked;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!rules[i].is_alert || (!reused[i] && !analysis.rules[i].dead)) asked.insert(rules[i].name);
    }
    std::vector<bool> left_out(rules.size());
    for (std::size_t i = 0; i < rules.size(); ++i) left_out[i] = !asked.contains(rules[i].name);
    return left_out;
}

// Keeps promtool's answer for the rules with this interval.
void take(const external::TestAnswer& answer, const std::vector<Rule>& rules, const TestInput& input,
          bool only_own, double global, PlayerAnswer& played) {
    Activity activity = activity_of(answer.mismatches, rules, input.window.start());
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const double own = rules[i].interval > 0 ? rules[i].interval : global;
        if (!only_own || own == input.eval) played.activity[i] = std::move(activity[i]);
    }
}

}  // namespace

std::vector<std::string> groups_of(const std::vector<Rule>& rules) {
    std::vector<std::string> groups;
    for (const Rule& rule : rules) {
        if (std::find(groups.begin(), groups.end(), rule.group) == groups.end()) groups.push_back(rule.group);
    }
    return groups;
}

std::string file_safe(std::string id) {
    std::replace_if(
        id.begin(), id.end(),
        [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-'; }, '_');
    return id;
}

std::vector<exporters::Series> series_for(const exporters::World& world, const exporters::Incident& incident,
                                          const StaticAnalysis& analysis) {
    exporters::World dated = world;
    dated.epoch += world.window.start();
    if (analysis.everything) return exporters::render(dated, incident);
    return exporters::render(dated, incident,
                             [&](const std::string& name) { return analysis.wanted.contains(name); });
}

std::vector<exporters::Series> series_for(const exporters::World& world, const exporters::Incident& incident,
                                          const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                                          const std::vector<bool>& asked, const OnlyMetrics& only) {
    exporters::World dated = world;
    dated.epoch += world.window.start();
    NeededSeries needed(rules, analysis, asked, only);
    return exporters::render(
        dated, incident, [&](const std::string& name) { return needed.metric(name); },
        [&](const exporters::Series& one) { return needed(one); });
}

Result<std::vector<RuleFile>> PromtoolPlayer::reduced(const std::vector<RuleFile>& files,
                                                      const std::vector<Rule>& rules,
                                                      const std::vector<bool>& reused,
                                                      const std::string& id) const {
    std::set<std::string> names;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (reused[i]) names.insert(rules[i].name);
    }
    std::vector<RuleFile> left = files;
    if (names.empty()) return left;
    for (RuleFile& file : left) {
        auto copy = without_rules(file, names, options_.directory / "copies" / relative_path_of(id));
        if (!copy) return tl::unexpected(copy.error());
        file = std::move(*copy);
    }
    return left;
}

Result<PlayerAnswer> PromtoolPlayer::play(const exporters::World& world, const exporters::Incident& incident,
                                          const std::vector<RuleFile>& files, const std::vector<Rule>& rules,
                                          const StaticAnalysis& analysis) {
    PlayerAnswer played;
    played.activity.resize(rules.size());
    played.unjudged.resize(rules.size(), false);
    played.reused = healthy_.unmoved(world, incident, rules, analysis);
    const std::string id = file_safe(incident.id);
    const std::vector<bool> left_out = not_asked(rules, analysis, played.reused);
    const bool none = left_out == alerts_of(rules);
    auto asked = reduced(files, rules, left_out, id);
    if (!asked) return tl::unexpected(asked.error());
    std::vector<bool> alive = left_out;
    for (std::size_t i = 0; i < rules.size(); ++i) alive[i] = rules[i].is_alert && !left_out[i];
    const std::string block = none ? ""
                                   : series_block(options_.needed_only || analysis.everything
                                                      ? series_for(world, incident, rules, analysis, alive)
                                                      : series_for(world, incident, analysis));
    const auto intervals = none ? std::vector<double>{} : intervals_of(rules, world.window.eval);
    for (const double interval : intervals) {
        const bool several = intervals.size() > 1;
        TestInput input{{}, incident.id, block, world.window, interval, groups_of(rules)};
        Run run(tool_, options_, rules, input, *asked,
                several ? id + "." + exporters::duration_text(interval) : id, stopped_);
        auto answer = run.edges(played);
        if (!answer) return tl::unexpected(answer.error());
        if (!answer->load.empty() || (answer->code != 0 && answer->mismatches.empty())) {
            const std::string words = !answer->load.empty()   ? answer->load[0].words
                                      : answer->other.empty() ? "no reason given"
                                                              : answer->other[0];
            return refuse(ErrorCode::environment, "promtool gave no verdict: " + words, "",
                          {played.kept.string(), 0, 0});
        }
        played.exit_code = std::max(played.exit_code, answer->code);
        take(*answer, rules, input, several, world.window.eval, played);
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (played.reused[i]) played.activity[i] = healthy_.activity()[i];
        }
    }
    healthy_.keep(incident, rules, analysis, played);
    if (options_.keep) {
        auto written =
            write_kept(world, incident, files, rules, analysis, played, name(), options_.directory);
        if (!written) return tl::unexpected(written.error());
    }
    return played;
}

// ── YAML by hand: series are in single quotes, where only a single quote needs doubling.

namespace {

std::string in_single_quotes(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
    return out + "'";
}

std::string test_file_head(const TestInput& input, const std::string& why) {
    std::string text = why + "rule_files:\n";
    for (const std::string& file : input.rule_files) text += "  - " + in_single_quotes(file) + "\n";
    if (!input.groups.empty()) text += "group_eval_order:\n";
    for (const std::string& group : input.groups) text += "  - " + in_single_quotes(group) + "\n";
    text += fmt::format("evaluation_interval: {}\ntests:\n- interval: {}\n  name: {}\n  input_series:\n{}",
                        exporters::duration_text(input.eval), exporters::duration_text(input.window.scrape),
                        in_single_quotes(input.name), input.series);
    return text + "  promql_expr_test:\n";
}

std::string alert_selector(const Rule& rule) {
    std::string text = "ALERTS{alertstate=\"firing\",alertname=" + exporters::label_value(rule.name);
    for (const auto& [name, value] : rule.labels) {
        if (value.find("{{") == std::string::npos) text += "," + name + "=" + exporters::label_value(value);
    }
    return text + "}";
}

std::string alert_series(const Instance& instance) {
    exporters::Series series{.name = "ALERTS", .labels = instance.labels};
    series.labels["alertstate"] = "firing";
    return exporters::series_text(series);
}

bool fires_at(const Instance& instance, double time) {
    return std::any_of(instance.firing.begin(), instance.firing.end(), [&](const Interval& one) {
        return one.begin <= time && (one.open() || time < one.end);
    });
}

}  // namespace

std::string series_block(const std::vector<exporters::Series>& series) {
    std::string text;
    text.reserve(series.size() * 600);
    for (const exporters::Series& one : series) {
        text += "  - series: " + in_single_quotes(exporters::series_text(one)) + "\n    values: '";
        text += exporters::expanding_text(one.values) + "'\n";
    }
    return text;
}

std::string edge_test(const TestInput& input) {
    std::string text =
        test_file_head(input,
                       "# Which alerts begin (1) or end (0) at each evaluation: promtool prints them as "
                       "mismatches, and exits 0 when none does.\n");
    const std::string query = in_single_quotes(edge_query(input.eval));
    const double origin = input.window.start();
    const int steps = static_cast<int>(input.window.duration / input.eval);
    for (int step = 0; step <= steps; ++step) {
        const double time = origin + step * input.eval;
        text += fmt::format("  - {{expr: {}, eval_time: {}, exp_samples: []}}\n",
                            step == 0 && origin > 0 ? "ALERTS" : query, exporters::duration_text(time));
    }
    return text;
}

std::string kept_test(const TestInput& input, const std::vector<Expectation>& expectations,
                      const std::string& why) {
    std::string text = test_file_head(input, why);
    for (const Expectation& one : expectations) {
        text += fmt::format("  - expr: {}\n    eval_time: {}\n    exp_samples:", in_single_quotes(one.expr),
                            exporters::duration_text(input.window.start() + one.time));
        if (one.samples.empty()) text += " []";
        text += '\n';
        for (const auto& [labels, value] : one.samples) {
            text += fmt::format("    - labels: {}\n      value: {}\n", in_single_quotes(labels), value);
        }
    }
    if (expectations.empty()) text += "  - {expr: 'vector(1)', eval_time: 0s, exp_samples: [{value: 1}]}\n";
    return text;
}

void expect_rule(const Rule& rule, const std::vector<Instance>& instances, const exporters::Window& window,
                 std::vector<Expectation>& expectations) {
    std::vector<double> times;
    for (const Instance& instance : instances) {
        for (const Interval& one : instance.firing) times.push_back(one.begin);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    const std::string selector = alert_selector(rule);
    if (times.empty()) {
        const std::string whole = exporters::duration_text(window.start() + window.duration);
        expectations.push_back({"count_over_time(" + selector + "[" + whole + "])", window.duration, {}});
        return;
    }
    if (times.size() > 4) times.resize(4);
    times.push_back(window.duration);
    for (const double time : times) {
        Expectation expectation{.expr = selector, .time = time};
        for (const Instance& instance : instances) {
            if (fires_at(instance, time)) expectation.samples.emplace_back(alert_series(instance), 1);
        }
        if (expectation.samples.size() > 16) {
            expectation.expr = "count(" + selector + ")";
            expectation.samples = {{"{}", static_cast<double>(expectation.samples.size())}};
        }
        expectations.push_back(std::move(expectation));
    }
}

Result<void> write_kept(const exporters::World& world, const exporters::Incident& incident,
                        const std::vector<RuleFile>& files, const std::vector<Rule>& rules,
                        const StaticAnalysis& analysis, const PlayerAnswer& played, const std::string& judge,
                        const std::filesystem::path& directory) {
    const std::string id = file_safe(incident.id);
    std::set<std::string> unjudged;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (played.unjudged[i]) unjudged.insert(rules[i].name);
    }
    TestInput input{{},           incident.id, series_block(series_for(world, incident, analysis)),
                    world.window, 0,           groups_of(rules)};
    for (const RuleFile& file : files) {
        if (unjudged.empty()) {
            input.rule_files.push_back(file.loaded);  // the operator's own, untouched
            continue;
        }
        auto copy = without_rules(file, unjudged, directory / "copies" / id);
        if (!copy) return tl::unexpected(copy.error());
        input.rule_files.push_back(copy->loaded);
    }
    const auto intervals = intervals_of(rules, world.window.eval);
    for (const double interval : intervals) {
        input.eval = interval;
        std::vector<Expectation> expectations;
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const double own = rules[i].interval > 0 ? rules[i].interval : world.window.eval;
            if (!rules[i].is_alert || played.unjudged[i] || own != interval) continue;
            expect_rule(rules[i], played.activity[i], world.window, expectations);
        }
        const std::string part = intervals.size() > 1 ? "." + exporters::duration_text(interval) : "";
        const auto kept = directory / (id + part + ".test.yml");
        const std::string why =
            fmt::format("# {}: what these rules do today, by {}. Run: promtool test rules {}\n",
                        incident.title, judge, kept.filename().string());
        if (auto written = write_text(kept_test(input, expectations, why), kept); !written) return written;
    }
    return {};
}

}  // namespace deadrank::results::alerts

// results/alerts/emitted.cpp — Collects label sets once; in a large cluster a few nodes represent all.
#include "results/alerts/emitted.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <functional>

#include "results/alerts/static_check.h"
#include "results/exporters/toml_file.h"
#include "results/record/words.h"
#include "scenarios/model/pattern.h"
#include "scenarios/model/text.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::results::alerts {

namespace {

std::string label_of(const exporters::Labels& labels, const std::string& name) {
    const auto at = labels.find(name);
    return at == labels.end() ? std::string() : at->second;
}

// The first of a matcher's alternatives, when they are plain words: "a" of job=~"a|b"; else nothing.
std::string first_word(const Matcher& matcher) {
    if (matcher.op == MatchOp::equal) return matcher.value;
    std::string word = matcher.value.substr(0, matcher.value.find('|'));
    if (word.starts_with('(')) word.erase(0, 1);
    if (word.ends_with(')')) word.pop_back();
    return word.find_first_of("\\^$.*+?()[]{}") == std::string::npos ? word : "";
}

// The words of a job's name, without those that every site adds as it likes.
std::set<std::string> words_of(const std::string& job) {
    static const std::set<std::string> filling = {"exporter", "metrics", "main", "job", "k8s", "prod"};
    std::set<std::string> words;
    std::string word;
    for (const char c : job + "-") {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        } else if (!word.empty() && !filling.contains(word)) {
            words.insert(word);
        }
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) word.clear();
    }
    return words;
}

// Which exporter `up{job="…"}` is about: the only one whose job is called by the same words, or none.
std::string named_by(const Matcher& matcher, const std::map<std::string, std::string>& jobs) {
    const std::set<std::string> words = words_of(first_word(matcher));
    std::string found;
    for (const auto& [exporter, job] : jobs) {
        if (words.empty() || (words_of(job) != words && words_of(exporter) != words)) continue;
        if (!found.empty()) return {};
        found = exporter;
    }
    return found;
}

// Exporter → the job of its targets.
std::map<std::string, std::string> names_of_jobs(const exporters::World& world) {
    std::map<std::string, std::string> jobs;
    for (const exporters::Metric& metric : world.catalog->metrics) {
        // The NCCL Inspector's metrics come through node_exporter: its target is that one.
        if (metric.exporter != exporters::ExporterId::prometheus &&
            metric.exporter != exporters::ExporterId::inspector)
            jobs.emplace(metric.exporter, world.profile.job_of(metric.exporter, metric.job));
    }
    return jobs;
}

// Does the exporter itself show this label, in place of the one that its target has?
bool exports_own_label(const exporters::Metric& metric, const std::string& label,
                       const exporters::Profile& profile) {
    if (!metric.honor_labels) return false;
    return metric.labels.contains(label) ||
           (metric.exporter == exporters::ExporterId::dcgm && profile.dcgm_labels.contains(label)) ||
           std::any_of(metric.variants.begin(), metric.variants.end(),
                       [&](const exporters::Variant& one) { return one.labels.contains(label); });
}

// Every matcher that says what this label of an exporter's targets is. Whose target `up` is about, its job
// tells.
void each_matcher(const std::vector<Rule>& rules, const std::string& label,
                  const std::map<std::string, std::string>& jobs, const exporters::World& world,
                  const std::function<void(const std::string& exporter, const Matcher&)>& use) {
    const auto says = [](const Selector& selector, const std::string& name) {
        return std::find_if(selector.matchers.begin(), selector.matchers.end(),
                            [&](const Matcher& one) { return one.label == name && asks_for_values(one); });
    };
    for (const Rule& rule : rules) {
        for (const Selector& selector : scan(rule.expr).selectors) {
            const exporters::Metric* metric = world.catalog->find(selector.metric);
            if (metric == nullptr || exports_own_label(*metric, label, world.profile)) continue;
            std::string exporter = metric->exporter;
            if (exporter == exporters::ExporterId::prometheus) {
                const auto job = says(selector, "job");
                exporter = job == selector.matchers.end() ? "" : named_by(*job, jobs);
            }
            if (exporter.empty()) continue;
            for (const Matcher& matcher : selector.matchers) {
                if (matcher.label == label && asks_for_values(matcher)) use(exporter, matcher);
            }
        }
    }
}

// Does this selector ask for a label or a job that only a Prometheus Operator gives?
bool wants_operator(const Selector& selector, const exporters::Metric& metric,
                    const exporters::Profile& there) {
    const auto target = there.kubernetes.find(metric.exporter);
    return std::any_of(selector.matchers.begin(), selector.matchers.end(), [&](const Matcher& matcher) {
        if (one_of(matcher.label, {"namespace", "service", "pod", "container", "endpoint"}))
            return !metric.labels.contains(matcher.label) && !fits(matcher, "");
        return matcher.label == "job" && target != there.kubernetes.end() && !fits(matcher, metric.job) &&
               fits(matcher, target->second.at("job"));
    });
}

}  // namespace

std::string kubernetes_reason(const std::vector<RuleFile>& files, const exporters::World& world) {
    exporters::Profile there = world.profile;
    exporters::put_in_kubernetes(there, *world.catalog);
    for (const RuleFile& file : files) {
        if (file.resource) return file.path + " is a PrometheusRule, which a Prometheus Operator loads";
        for (const Rule& rule : file.rules) {
            for (const Selector& selector : scan(rule.expr).selectors) {
                const exporters::Metric* metric = world.catalog->find(selector.metric);
                if (metric != nullptr && wants_operator(selector, *metric, there))
                    return fmt::format("{} asks {} for what only a Prometheus Operator gives its targets",
                                       rule.name, selector.metric);
            }
        }
    }
    return {};
}

bool fits(const Matcher& matcher, const std::string& value) {
    if (matcher.op == MatchOp::equal) return value == matcher.value;
    if (matcher.op == MatchOp::unequal) return value != matcher.value;
    const auto pattern = scenarios::Pattern::of_text(matcher.value);
    if (!pattern) return true;  // RE2 accepts forms that std::regex does not
    return pattern->fits(value) == (matcher.op == MatchOp::matches);
}

std::map<std::string, std::string> map_jobs(const std::vector<Rule>& rules, const exporters::World& world) {
    auto ours = names_of_jobs(world);
    std::map<std::string, std::map<std::string, int>> uses;  // exporter → job → how often
    const auto jobs = ours;
    each_matcher(rules, "job", jobs, world, [&](const std::string& exporter, const Matcher& matcher) {
        if (fits(matcher, ours[exporter]))
            ++uses[exporter][ours[exporter]];
        else if (const std::string word = first_word(matcher); !word.empty())
            ++uses[exporter][word];
    });
    std::map<std::string, std::string> named;
    for (const auto& [exporter, words] : uses) {
        const auto most = std::max_element(words.begin(), words.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        const bool fixed = world.profile.map.jobs.contains(exporter) || words.contains(ours[exporter]);
        named[exporter] = fixed ? ours[exporter] : most->first;
    }
    return named;
}

std::map<std::string, std::string> jobs_in(const std::vector<Rule>& rules, const exporters::World& world) {
    auto named = map_jobs(rules, world);
    const auto ours = names_of_jobs(world);
    std::erase_if(named, [&](const auto& one) { return one.second == ours.at(one.first); });
    return named;
}

std::map<std::string, std::string> namespaces_in(const std::vector<Rule>& rules,
                                                 const exporters::World& world) {
    std::map<std::string, std::set<std::string>> uses;
    each_matcher(rules, "namespace", names_of_jobs(world), world,
                 [&](const std::string& exporter, const Matcher& matcher) {
                     if (const std::string word = first_word(matcher); !word.empty())
                         uses[exporter].insert(word);
                 });
    std::map<std::string, std::string> adopted;
    for (const auto& [exporter, words] : uses) {
        const auto target = world.profile.kubernetes.find(exporter);
        if (target == world.profile.kubernetes.end() || words.size() != 1) continue;
        const std::string& ours = target->second.at("namespace");
        if (*words.begin() != ours && !differs_by_typo(ours, *words.begin()))
            adopted[exporter] = *words.begin();
    }
    return adopted;
}

void adopt_names(const std::vector<Rule>& rules, exporters::World& world, std::vector<std::string>& notes) {
    for (const auto& [exporter, job] : jobs_in(rules, world)) {
        world.profile.map.jobs[exporter] = job;
        notes.push_back(fmt::format("the rules call the job of the {} exporter '{}', and so does this run",
                                    exporter, job));
    }
    for (const auto& [exporter, space] : namespaces_in(rules, world)) {
        world.profile.kubernetes[exporter]["namespace"] = space;
        notes.push_back(fmt::format(
            "the rules put the {} exporter into the namespace '{}', and so does this run", exporter, space));
    }
}

bool differs_by_typo(const std::string& near, const std::string& name) {
    const auto words = [](std::string text) {
        std::replace(text.begin(), text.end(), '-', '_');
        const auto parts = scenarios::parts_of(text, '_');
        return std::multiset<std::string>(parts.begin(), parts.end());
    };
    if (near.empty()) return false;
    return scenarios::edit_distance(near, name) <= 1 || words(near) == words(name);
}

std::string find_typo(const std::string& name, const std::vector<std::string>& known) {
    for (const std::string& one : known) {
        if (one.size() == name.size() && differs_by_typo(one, name)) return one;
    }
    const std::string near = scenarios::nearest(name, known);
    const bool same_word = near.substr(0, near.find('_')) == name.substr(0, name.find('_'));
    return same_word || scenarios::edit_distance(near, name) <= 2 ? near : "";
}

Emitted::Emitted(const exporters::World& world, const exporters::SignatureCatalog& signatures) {
    for (const exporters::Metric& metric : world.catalog->metrics) {
        if (!world.profile.emits(metric)) continue;
        const std::string name = world.profile.shown_name(metric);
        metrics_[name] = &metric;
        auto& labels = series_[name];
        for (exporters::Series& series : exporters::instances(world, metric)) {
            // In a large cluster the first nodes and the last one represent all.
            if (series.node > 15 && series.node < world.cluster.nodes - 1 &&
                metric.exporter != exporters::ExporterId::prometheus)
                continue;
            labels.push_back(std::move(series.labels));
        }
        const std::size_t healthy = labels.size();
        for (const exporters::Signature& signature : signatures.signatures) {
            for (const exporters::Change& change : signature.changes) {
                if (change.labels.empty() || !change.touches(metric)) continue;
                for (std::size_t i = 0; i < healthy; ++i) {
                    exporters::Labels changed = labels[i];
                    for (const auto& [label, value] : change.labels) changed[label] = value;
                    labels.push_back(std::move(changed));
                }
            }
        }
    }
}

const exporters::Metric* Emitted::metric(const std::string& shown) const {
    const auto at = metrics_.find(shown);
    return at == metrics_.end() ? nullptr : at->second;
}

const Matcher* Emitted::blocking(const Selector& selector) const {
    const auto at = series_.find(selector.metric);
    if (at == series_.end()) return nullptr;
    std::vector<const exporters::Labels*> left;
    for (const exporters::Labels& labels : at->second) left.push_back(&labels);
    for (const Matcher& matcher : selector.matchers) {
        if (matcher.label == "__name__") continue;
        std::erase_if(left,
                      [&](const auto* labels) { return !fits(matcher, label_of(*labels, matcher.label)); });
        if (left.empty()) return &matcher;
    }
    return nullptr;
}

std::set<std::string> Emitted::series_of(const std::set<std::string>& names) const {
    std::set<std::string> texts;
    for (const auto& [name, all] : series_) {
        if (!names.contains(name)) continue;
        for (const exporters::Labels& labels : all)
            texts.insert(exporters::series_text({.name = name, .labels = labels}));
    }
    return texts;
}

std::set<std::string> Emitted::label_names(const std::string& metric) const {
    std::set<std::string> names;
    if (const auto at = series_.find(metric); at != series_.end()) {
        for (const exporters::Labels& labels : at->second) {
            for (const auto& [name, value] : labels) names.insert(name);
        }
    }
    return names;
}

std::set<std::string> Emitted::label_values(const std::string& metric, const std::string& label) const {
    std::set<std::string> values;
    if (const auto at = series_.find(metric); at != series_.end()) {
        for (const exporters::Labels& labels : at->second) values.insert(label_of(labels, label));
    }
    return values;
}

}  // namespace deadrank::results::alerts

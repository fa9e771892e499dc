// results/alerts/emitted.h — Every series that a site may ever show, healthy or failing. A selector that fits
// none of them can never match here.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/alerts/promql.h"
#include "results/alerts/rule.h"
#include "results/exporters/render.h"
#include "results/exporters/signature.h"

namespace deadrank::results::alerts {

class Emitted {
public:
    Emitted(const exporters::World& world, const exporters::SignatureCatalog& signatures);

    bool has(const std::string& metric) const { return series_.contains(metric); }
    const exporters::Metric* metric(const std::string& shown) const;

    // The first matcher that keeps the selector from ever matching; nullptr when it can match.
    const Matcher* blocking(const Selector& selector) const;

    // All series of the metrics with these shown names, as text.
    std::set<std::string> series_of(const std::set<std::string>& names) const;

    std::set<std::string> label_names(const std::string& metric) const;
    std::set<std::string> label_values(const std::string& metric, const std::string& label) const;

private:
    std::map<std::string, std::vector<exporters::Labels>> series_;
    std::map<std::string, const exporters::Metric*> metrics_;
};

// Exporter → the job name that the rules use for it, where no rule uses ours. Sites choose their job names,
// so a different one makes no rule dead.
std::map<std::string, std::string> jobs_in(const std::vector<Rule>& rules, const exporters::World& world);

// Exporter → the job name that the rules use, ours where they use it.
std::map<std::string, std::string> map_jobs(const std::vector<Rule>& rules, const exporters::World& world);

// Exporter → the namespace that all rules about its targets name, where that is not ours: a site chooses
// where its monitoring runs. Not what merely misspells ours, and only for targets that a Prometheus Operator
// found.
std::map<std::string, std::string> namespaces_in(const std::vector<Rule>& rules,
                                                 const exporters::World& world);

// Calls jobs and namespaces of this run as the rules do, and notes it.
void adopt_names(const std::vector<Rule>& rules, exporters::World& world, std::vector<std::string>& notes);

// Why these rules were written for a Kubernetes cluster with a Prometheus Operator: a file is a
// PrometheusRule, or a rule asks for a label or a job that only such a site gives its targets. Empty when
// nothing says so.
std::string kubernetes_reason(const std::vector<RuleFile>& files, const exporters::World& world);

// The known metric that this name misspells: the nearest one, if it begins with the same word or differs in
// at most two letters. Long names of two exporters resemble each other by their endings (…_usage_bytes).
std::string find_typo(const std::string& name, const std::vector<std::string>& known);

// Are these two one letter apart, or of the same words in another order?
bool differs_by_typo(const std::string& near, const std::string& name);

// Does `value` satisfy the matcher? A pattern that std::regex cannot read counts as a match.
bool fits(const Matcher& matcher, const std::string& value);

}  // namespace deadrank::results::alerts

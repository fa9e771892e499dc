// results/exporters/profile.cpp — Profiles by name or from a counters file, and the name map.
#include "results/exporters/profile.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "results/exporters/render.h"
#include "results/exporters/toml_file.h"
#include "scenarios/model/document.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::results::exporters {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

std::string trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

std::vector<std::string> fields_of(const std::string& line) {
    const std::size_t first = line.find(',');
    if (first == std::string::npos) return {trimmed(line)};
    const std::size_t second = line.find(',', first + 1);
    std::vector<std::string> fields = {trimmed(line.substr(0, first)),
                                       trimmed(line.substr(first + 1, second - first - 1))};
    if (second != std::string::npos) fields.push_back(trimmed(line.substr(second + 1)));
    return fields;
}

void switch_on(const std::vector<std::string>& fields, Profile& profile, MetricCatalog& catalog) {
    if (fields[1] == "label") {
        profile.dcgm_labels[fields[0]] = "-";
        return;
    }
    const Metric* known = catalog.find(fields[0]);
    if (known != nullptr) {
        profile.dcgm.insert(known->name);
        if (known->old == fields[0]) profile.old_names = true;
        return;
    }
    Metric metric{.name = fields[0],
                  .exporter = "dcgm",
                  .job = "dcgm-exporter",
                  .port = 9400,
                  .scope = Scope::gpu,
                  .type = fields[1] == "counter" ? MetricType::counter : MetricType::gauge,
                  .stock = false,
                  .help = fields.size() > 2 ? fields[2] : ""};
    profile.dcgm.insert(metric.name);
    catalog.metrics.push_back(std::move(metric));
}

Result<void> read_counters(const std::filesystem::path& file, Profile& profile, MetricCatalog& catalog) {
    auto in = scenarios::open_input(file);
    if (!in) {
        return refuse(ErrorCode::usage, "there is no profile and no counters file '" + file.string() + "'",
                      "use dcgm-default, dcgm-full, dcgm-kubernetes, kubernetes, dcgm-1x, or the path of a "
                      "counters.csv");
    }
    std::string line;
    for (int number = 1; std::getline(*in, line); ++number) {
        line = trimmed(line);
        if (line.empty() || line.front() == '#') continue;
        const auto fields = fields_of(line);
        if (fields.size() < 2 || fields[0].empty() ||
            (fields[1] != "gauge" && fields[1] != "counter" && fields[1] != "label")) {
            return refuse(ErrorCode::bad_input, "'" + line + "' is not a line of a counters file",
                          "the form is FIELD, gauge|counter|label, help", {file.string(), number, 0});
        }
        switch_on(fields, profile, catalog);
    }
    return {};
}

// What dcgm-exporter tells of the pod that holds the GPU.
Labels workload_labels() {
    return {{"namespace", "training"}, {"pod", "pretrain-$host"}, {"container", "pytorch"}};
}

// Every label that a target may show, with and without a Prometheus Operator.
std::vector<std::string> label_names(const MetricCatalog& catalog) {
    Profile plain;
    for (const Metric& metric : catalog.metrics) {
        plain.exporters.insert(metric.exporter);
        if (metric.exporter == ExporterId::dcgm) plain.dcgm.insert(metric.name);
    }
    Profile operated = plain;
    put_in_kubernetes(operated, catalog);
    std::set<std::string> names;
    for (const Profile* profile : {&plain, &operated}) {
        const World world{&catalog, *profile, {1, 1}, {}, 1, 0};
        for (const Metric& metric : catalog.metrics) {
            for (const Series& series : instances(world, metric))
                for (const auto& [name, value] : series.labels) names.insert(name);
        }
    }
    return {names.begin(), names.end()};
}

// The keys of a name map are words of these tables, its values the site's own.
Result<void> check_keys(const scenarios::Node& table, const char* what, std::vector<std::string> known,
                        const std::string& file) {
    for (const auto& [name, place, value] : table.members) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string near = scenarios::nearest(name, known);
        const bool few = known.size() <= 40;
        return refuse(ErrorCode::bad_input, fmt::format("'{}' is no {} of this run", name, what),
                      !near.empty() ? "did you mean '" + near + "'?"
                      : few         ? fmt::format("known are {}", fmt::join(known, ", "))
                            : fmt::format("the key is the {} as its exporter calls it, the value your "
                                          "own name of it",
                                          what),
                      {file, place.line, place.column});
    }
    return {};
}

void read_texts(const scenarios::Node& node, std::map<std::string, std::string>& into) {
    for (const auto& [name, place, value] : node.members) into[name] = value.text;
}

}  // namespace

bool Profile::emits(const Metric& metric) const {
    if (metric.exporter == ExporterId::prometheus) return true;
    if (!exporters.contains(metric.exporter)) return false;
    if (metric.exporter == ExporterId::dcgm)
        return dcgm.contains(metric.name) && (!old_names || !metric.old.empty());
    return metric.stock;
}

std::string Profile::shown_name(const Metric& metric) const {
    for (const std::string& key : {metric.canonical, metric.name}) {
        if (const auto at = map.metrics.find(key); !key.empty() && at != map.metrics.end()) return at->second;
    }
    return old_names && !metric.old.empty() ? metric.old : metric.name;
}

std::string Profile::job_of(const std::string& exporter, const std::string& otherwise) const {
    if (const auto at = map.jobs.find(exporter); at != map.jobs.end()) return at->second;
    const auto target = kubernetes.find(exporter);
    return target == kubernetes.end() ? otherwise : target->second.at("job");
}

void put_in_kubernetes(Profile& profile, const MetricCatalog& catalog) {
    profile.name = "kubernetes";
    profile.dcgm_labels.merge(workload_labels());
    for (const Metric& metric : catalog.metrics) {
        if (metric.exporter == ExporterId::prometheus)
            continue;  // `up` itself: its labels are those of the targets
        Labels labels = metric.kubernetes;
        const std::string job = labels.emplace("job", metric.job).first->second;
        const bool one = !metric.instance.empty();
        labels.merge(Labels{{"namespace", "monitoring"},
                            {"service", job},
                            {"pod", job + (one ? "-0" : "-$host")},
                            {"container", job},
                            {"endpoint", "metrics"}});
        profile.kubernetes.emplace(metric.exporter, std::move(labels));
    }
}

Result<Profile> load_profile(const std::string& name, MetricCatalog& catalog) {
    Profile profile{.name = name};
    for (const Metric& metric : catalog.metrics) {
        if (metric.exporter != ExporterId::prometheus && metric.exporter != ExporterId::inspector)
            profile.exporters.insert(metric.exporter);
    }
    if (name == "dcgm-kubernetes") {
        auto stock = load_profile("dcgm-default", catalog);
        stock->name = name;
        stock->dcgm_labels = workload_labels();
        return stock;
    }
    if (name == "kubernetes") {
        auto stock = load_profile("dcgm-default", catalog);
        put_in_kubernetes(*stock, catalog);
        return stock;
    }
    const bool full = name == "dcgm-full";
    if (full || name == "dcgm-default" || name == "dcgm-1x") {
        for (const Metric& metric : catalog.metrics) {
            if (metric.exporter != ExporterId::dcgm) continue;
            if (full || (metric.stock && (name != "dcgm-1x" || !metric.old.empty()))) {
                profile.dcgm.insert(metric.name);
            }
        }
        profile.old_names = name == "dcgm-1x";
        if (full) profile.exporters.insert("inspector");
        return profile;
    }
    if (auto read = read_counters(name, profile, catalog); !read) return tl::unexpected(read.error());
    return profile;
}

Result<NameMap> load_name_map(const std::filesystem::path& file, const MetricCatalog& catalog) {
    auto tree = read_toml(file);
    if (!tree) return tl::unexpected(tree.error());
    static const std::vector<std::string> keys = {"metrics", "labels", "extra", "jobs", "cluster", "target"};
    if (auto checked = check_members(*tree, keys, file.string()); !checked) {
        return tl::unexpected(checked.error());
    }
    std::vector<std::string> signals = catalog.names();
    std::set<std::string> exporters;
    for (const Metric& metric : catalog.metrics) {
        if (!metric.canonical.empty()) signals.push_back(metric.canonical);
        if (metric.exporter != ExporterId::prometheus) exporters.insert(metric.exporter);
    }
    for (const Result<void>& checked :
         {check_keys((*tree)["metrics"], "metric", signals, file.string()),
          check_keys((*tree)["labels"], "label", label_names(catalog), file.string()),
          check_keys((*tree)["jobs"], "exporter", {exporters.begin(), exporters.end()}, file.string()),
          check_keys((*tree)["cluster"], "key", {"host"}, file.string())}) {
        if (!checked) return tl::unexpected(checked.error());
    }
    NameMap map;
    read_texts((*tree)["metrics"], map.metrics);
    read_texts((*tree)["labels"], map.labels);
    read_texts((*tree)["extra"], map.extra);
    read_texts((*tree)["jobs"], map.jobs);
    map.host = (*tree)["cluster"]["host"].text_or(map.host);
    if (map.host.find('#') == std::string::npos) {
        return refuse(ErrorCode::bad_input, "the host pattern '" + map.host + "' names all nodes alike",
                      "write # where the node's number goes: gpu-node-###",
                      {file.string(), (*tree)["cluster"]["host"].place.line, 0});
    }
    for (const scenarios::Node& item : (*tree)["target"].items) {
        Labels labels;
        read_texts(item, labels);
        map.targets.push_back(std::move(labels));
    }
    return map;
}

std::string why_absent(const Profile& profile, const Metric& metric) {
    if (!profile.exporters.contains(metric.exporter)) {
        return fmt::format("comes from the {} exporter, which is not part of this run (--exporters)",
                           metric.exporter == ExporterId::inspector ? "NCCL Inspector" : metric.exporter);
    }
    if (metric.exporter == ExporterId::node) return "is off by default in node_exporter";
    if (metric.exporter != ExporterId::dcgm) return "is off by default in its exporter";
    if (profile.old_names) return "has no name in dcgm-exporter 1.x";
    if (profile.name == "dcgm-default") {
        return "is off in dcgm-exporter's default counters; switch it on in its counters.csv";
    }
    return "is not switched on in " + profile.name;
}

}  // namespace deadrank::results::exporters

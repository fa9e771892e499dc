// results/exporters/metric.cpp — Reads the metric tables; an unknown key or scope is refused with its line.
#include "results/exporters/metric.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "results/exporters/toml_file.h"

namespace deadrank::results::exporters {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

constexpr std::array<std::string_view, 9> scopes = {"target", "node", "gpu",          "port", "nic",
                                                    "mount",  "rank", "communicator", "job"};

Labels labels_of(const scenarios::Node& node) {
    Labels labels;
    for (const auto& [name, place, value] : node.members) labels[name] = value.text;
    return labels;
}

Result<Scope> scope_of(const scenarios::Node& node, Scope otherwise, const std::string& file) {
    if (!node) return otherwise;
    const auto at = std::find(scopes.begin(), scopes.end(), node.text);
    if (at == scopes.end()) {
        return refuse(ErrorCode::bad_input, "unknown scope '" + node.text + "'", "",
                      {file, node.place.line, 0});
    }
    return static_cast<Scope>(at - scopes.begin());
}

const std::vector<std::string>& metric_keys() {
    static const std::vector<std::string> keys = {
        "name",  "canonical", "old",     "type",  "scope",     "value", "rate",        "noise", "quantum",
        "stock", "labels",    "variant", "every", "unix_time", "clock", "clock_every", "floor", "per_rank",
        "help",  "changing",  "min",     "max",   "bounds",    "cpus",  "follows",     "unit"};
    return keys;
}

void read_levels(const scenarios::Node& node, Metric& metric) {
    metric.value = node["value"].number_or(0);
    metric.rate = node["rate"].number_or(0);
    metric.noise = node["noise"].number_or(0);
    metric.quantum = node["quantum"].number_or(1);
    metric.every = std::max(0.0, seconds_of(node["every"].text_or()));
    metric.clock_every = std::max(0.0, seconds_of(node["clock_every"].text_or()));
    metric.unix_time = node["unix_time"].is_true();
    metric.clock = node["clock"].is_true();
    metric.floor = node["floor"].is_true();
    metric.per_rank = node["per_rank"].is_true();
    // `cpus`: each variant once for each processor, told apart by the label cpu.
    const int cpus = std::max(1, static_cast<int>(node["cpus"].number_or(1)));
    for (int cpu = 0; cpu < cpus; ++cpu) {
        for (const scenarios::Node& item : node["variant"].items) {
            Variant variant{labels_of(item["labels"]), item["value"].number_or(metric.value),
                            item["rate"].number_or(metric.rate), item["absent"].is_true()};
            if (node["cpus"]) variant.labels["cpu"] = fmt::format("{}", cpu);
            metric.variants.push_back(std::move(variant));
        }
    }
}

Result<void> read_file(const std::filesystem::path& file, MetricCatalog& catalog) {
    auto tree = read_toml(file);
    if (!tree) return tl::unexpected(tree.error());
    const std::string exporter = (*tree)["exporter"].text_or();
    auto scope = scope_of((*tree)["scope"], Scope::node, file.string());
    if (!scope) return tl::unexpected(scope.error());
    for (const scenarios::Node& node : (*tree)["metric"].items) {
        if (auto checked = check_members(node, metric_keys(), file.string()); !checked) return checked;
        Metric metric{.name = node["name"].text_or(),
                      .canonical = node["canonical"].text_or(),
                      .old = node["old"].text_or(),
                      .exporter = exporter,
                      .job = (*tree)["job"].text_or(),
                      .port = static_cast<int>((*tree)["port"].number_or(0)),
                      .instance = (*tree)["instance"].text_or(),
                      .type = node["type"].text_or() == "counter" ? MetricType::counter : MetricType::gauge,
                      .stock = node["stock"] ? node["stock"].is_true() : exporter != ExporterId::dcgm,
                      .changing = node["changing"].text_or(),
                      .help = node["help"].text_or(),
                      .labels = labels_of(node["labels"]),
                      .kubernetes = labels_of((*tree)["kubernetes"]),
                      .honor_labels = (*tree)["honor_labels"].is_true()};
        auto own_scope = scope_of(node["scope"], *scope, file.string());
        if (!own_scope) return tl::unexpected(own_scope.error());
        metric.scope = *own_scope;
        read_levels(node, metric);
        metric.least = node["min"].number_or(metric.least);
        metric.most = node["max"].number_or(metric.most);
        metric.bounds = node["bounds"].text_or();
        metric.follows = node["follows"].text_or();
        metric.unit = node["unit"].number_or(1);
        catalog.metrics.push_back(std::move(metric));
    }
    return {};
}

// A metric that follows another has its healthy levels.
Result<void> resolve_follows(MetricCatalog& catalog, const std::filesystem::path& place) {
    for (Metric& metric : catalog.metrics) {
        if (metric.follows.empty()) continue;
        const Metric* leader = catalog.find(metric.follows);
        if (leader == nullptr || !leader->follows.empty())
            return refuse(ErrorCode::bad_input,
                          "'" + metric.name + "' follows '" + metric.follows +
                              "', which itself follows another metric or does not exist",
                          "name a metric that has levels", {place.string(), 0, 0});
        metric.type = leader->type;
        metric.value = leader->value, metric.rate = leader->rate, metric.noise = leader->noise;
        metric.quantum = leader->quantum, metric.every = leader->every, metric.floor = leader->floor;
    }
    return {};
}

Result<void> read_others(const std::filesystem::path& file, MetricCatalog& catalog) {
    auto tree = read_toml(file);
    if (!tree) return tl::unexpected(tree.error());
    for (const scenarios::Node& item : (*tree)["exporter"].items)
        catalog.others.push_back({item["name"].text_or(), item["prefixes"].texts()});
    for (const std::string& name : (*tree)["real"].texts()) catalog.real.insert(name);
    for (const scenarios::Node& item : (*tree)["renamed"].items) {
        catalog.renamings.push_back({item["old"].text_or(), item["now"].text_or(), item["since"].text_or()});
    }
    for (const scenarios::Node& item : (*tree)["label"].items) {
        catalog.labels.push_back({item["prefix"].text_or(), item["metrics"].text_or(), item["says"].text_or(),
                                  item["off"].is_true()});
    }
    return {};
}

}  // namespace

std::string source_of_bounds(const Metric& metric) {
    if (!metric.bounds.empty()) return metric.bounds;
    return metric.help.empty() ? "of its exporter" : fmt::format("{}: {}", metric.job, metric.help);
}

const Metric* MetricCatalog::find(std::string_view name) const {
    for (const Metric& metric : metrics) {
        if (metric.name == name || (!metric.old.empty() && metric.old == name)) return &metric;
    }
    return nullptr;
}

std::optional<Renaming> MetricCatalog::renamed(const std::string& name) const {
    for (const Renaming& one : renamings) {
        const std::size_t star = one.old.find('*');
        if (!name.starts_with(one.old.substr(0, star)) || (star == std::string::npos && name != one.old))
            continue;
        Renaming found = one;
        found.old = name;
        if (const std::size_t at = found.now.find('*'); star != std::string::npos && at != std::string::npos)
            found.now.replace(at, 1, name.substr(star));
        if (find(found.now.substr(0, found.now.find('{'))) != nullptr) return found;
    }
    return std::nullopt;
}

const LabelElsewhere* MetricCatalog::label_elsewhere(std::string_view metric, std::string_view label) const {
    const auto at = std::find_if(labels.begin(), labels.end(), [&](const LabelElsewhere& one) {
        return metric.starts_with(one.metrics) && label.starts_with(one.prefix);
    });
    return at == labels.end() ? nullptr : &*at;
}

std::string MetricCatalog::other_exporter(std::string_view name) const {
    std::size_t longest = 0;
    std::string whose;
    for (const OtherExporter& other : others) {
        for (const std::string& prefix : other.prefixes) {
            if (prefix.size() <= longest || !name.starts_with(prefix)) continue;
            longest = prefix.size();
            whose = other.name;
        }
    }
    return whose;
}

std::vector<std::string> MetricCatalog::names() const {
    std::vector<std::string> all;
    for (const Metric& metric : metrics) all.push_back(metric.name);
    return all;
}

Result<MetricCatalog> load_metrics(const std::filesystem::path& directory) {
    MetricCatalog catalog;
    std::vector<std::filesystem::path> files;
    std::error_code trouble;
    for (const auto& entry : std::filesystem::directory_iterator(directory, trouble)) {
        if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
    if (trouble || files.empty()) {
        return refuse(ErrorCode::environment, "the metric tables are not at '" + directory.string() + "'",
                      "set DEADRANK_HOME to the directory that has results/exporters");
    }
    std::sort(files.begin(), files.end());
    catalog.metrics.push_back({.name = "up",
                               .exporter = "prometheus",
                               .scope = Scope::target,
                               .least = 0,
                               .most = 1,
                               .bounds = "Prometheus sets it to 1 if the scrape succeeded, else to 0",
                               .value = 1});
    for (const auto& file : files) {
        if (file.filename() == "known.toml") {
            if (auto read = read_others(file, catalog); !read) return tl::unexpected(read.error());
            continue;
        }
        if (auto read = read_file(file, catalog); !read) return tl::unexpected(read.error());
    }
    if (auto done = resolve_follows(catalog, directory); !done) return tl::unexpected(done.error());
    return catalog;
}

Result<void> add_metrics(const std::filesystem::path& file, MetricCatalog& catalog) {
    MetricCatalog own;
    if (auto read = read_file(file, own); !read) return read;
    for (Metric& metric : own.metrics) {
        if (metric.name.empty() || metric.exporter.empty()) {
            return refuse(ErrorCode::bad_input,
                          "'" + file.string() + "' has a metric without a name, or names no exporter",
                          "write exporter = \"mine\", job and port at its top, and a name in each [[metric]]",
                          {file.string(), 1, 0});
        }
        std::erase_if(catalog.metrics, [&](const Metric& one) { return one.name == metric.name; });
        catalog.metrics.push_back(std::move(metric));
    }
    return resolve_follows(catalog, file);
}

}  // namespace deadrank::results::exporters

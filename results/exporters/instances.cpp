// results/exporters/instances.cpp — Which series a metric has on a cluster, with the labels its exporter
// gives them. dcgm-exporter's labels: pkg/rendermetrics of NVIDIA/dcgm-exporter 4.x; node_exporter's: its
// infiniband, netclass and filesystem collectors.
#include <fmt/format.h>
#include <set>

#include "results/exporters/render.h"

namespace deadrank::results::exporters {

namespace {

struct Mount {
    const char *device, *type, *point;
};
constexpr Mount mounts[] = {{"/dev/md0", "ext4", "/"},
                            {"/dev/nvme0n1", "xfs", "/scratch"},
                            {"storage:/checkpoints", "nfs4", "/checkpoints"}};

std::string job_name(const Profile& profile, const Metric& metric) {
    const std::string key = metric.exporter == ExporterId::inspector
                                ? std::string(scenarios::enum_name(ExporterId::node))
                                : metric.exporter;
    return profile.job_of(key, metric.job);
}

class Maker {
public:
    Maker(const World& world, const Metric& metric) : world_(world), metric_(metric) {}

    std::vector<Series> all() {
        if (metric_.scope == Scope::target) return targets();
        if (metric_.scope == Scope::job) {
            add(base(0), -1, -1);
            return std::move(made_);
        }
        for (int node = 0; node < world_.cluster.nodes; ++node) each_of(node);
        return std::move(made_);
    }

private:
    void each_of(int node) {
        switch (metric_.scope) {
            case Scope::node:
                return add(base(node), node, -1);
            case Scope::nic:
                return add(with(base(node), {{"device", "eth0"}}), node, -1);
            case Scope::mount:
                for (const Mount& mount : mounts) {
                    add(with(base(node),
                             {{"device", mount.device}, {"fstype", mount.type}, {"mountpoint", mount.point}}),
                        node, -1);
                }
                return;
            default:
                break;
        }
        for (int gpu = 0; gpu < world_.cluster.gpus_per_node; ++gpu) {
            add(with(base(node), of_gpu(node, gpu)), node, gpu);
        }
    }

    Labels of_gpu(int node, int gpu) {
        const std::string host = host_name(world_.profile, node);
        const int rank = node * world_.cluster.gpus_per_node + gpu;
        if (metric_.scope == Scope::port) return {{"device", fmt::format("mlx5_{}", gpu)}, {"port", "1"}};
        if (metric_.scope == Scope::rank) return {{"rank", fmt::format("{}", rank)}, {"node", host}};
        if (metric_.scope == Scope::communicator) {
            return {{"version", "v4.0"},
                    {"slurm_job_id", "4242"},
                    {"node", host},
                    {"gpu", fmt::format("GPU{}", gpu)},
                    {"comm_name", "world"},
                    {"n_nodes", fmt::format("{}", world_.cluster.nodes)},
                    {"nranks", fmt::format("{}", world_.cluster.ranks())},
                    {"collective", "AllReduce"},
                    {"message_size", "1-4GB"},
                    {"algo_proto", "Ring_Simple"}};
        }
        const std::string uuid = fmt::format("{:08x}-5a1d-4e2b-9c3f-{:012x}", 0x9e3779b9u * (rank + 1), rank);
        if (metric_.exporter == ExporterId::nvidia_smi) return {{"uuid", uuid}};
        if (metric_.exporter == ExporterId::nvidia_nvml)
            return {{"minor_number", fmt::format("{}", gpu)},
                    {"uuid", "GPU-" + uuid},
                    {"name", "NVIDIA H100 80GB HBM3"}};
        Labels labels = {{"gpu", fmt::format("{}", gpu)},
                         {"device", fmt::format("nvidia{}", gpu)},
                         {"Hostname", host},
                         {"UUID", "GPU-" + uuid},
                         {"pci_bus_id", fmt::format("00000000:{:02X}:00.0", 0x19 + gpu * 0x12)},
                         {"modelName", "NVIDIA H100 80GB HBM3"},
                         {"DCGM_FI_DRIVER_VERSION", "580.65.06"}};
        for (const auto& [name, value] : world_.profile.dcgm_labels)
            labels.emplace(name, filled(value, node, gpu));
        return labels;
    }

    Labels base(int node) {
        Labels labels = metric_.labels;
        for (auto& [name, value] : labels) value = filled(value, node, 0);
        labels["job"] = job_name(world_.profile, metric_);
        labels["instance"] =
            metric_.instance.empty() ? target_instance(world_.profile, node, metric_.port) : metric_.instance;
        return labels;
    }

    // $host and $gpu in a label's value.
    std::string filled(std::string value, int node, int gpu) const {
        const auto put = [&](std::string_view word, const std::string& text) {
            if (const std::size_t at = value.find(word); at != std::string::npos)
                value.replace(at, word.size(), text);
        };
        put("$host", host_name(world_.profile, node));
        put("$gpu", fmt::format("{}", gpu));
        return value;
    }

    static Labels with(Labels labels, const Labels& more) {
        labels.insert(more.begin(), more.end());
        return labels;
    }

    // One series, or one for each variant. Site-specific label names come last.
    void add(const Labels& labels, int node, int gpu) {
        if (metric_.variants.empty()) return keep(labels, node, gpu);
        for (const Variant& variant : metric_.variants) {
            Labels more = variant.labels;
            for (auto& [name, value] : more) value = filled(value, std::max(node, 0), std::max(gpu, 0));
            keep(with(labels, more), node, gpu);
        }
    }

    // The labels of a target that a Prometheus Operator found, beside what its exporter shows.
    Labels in_kubernetes(const Metric& metric, const Labels& shown, int node) const {
        const auto target = world_.profile.kubernetes.find(metric.exporter);
        if (target == world_.profile.kubernetes.end()) return shown;
        Labels labels = shown;
        for (const auto& [name, value] : target->second) {
            const auto own = shown.find(name);
            if (name == "job" || value.empty() || (own != shown.end() && metric.honor_labels)) continue;
            if (own != shown.end()) labels["exported_" + name] = own->second;
            labels[name] = filled(value, std::max(node, 0), 0);
        }
        return labels;
    }

    void keep(const Labels& shown, int node, int gpu) {
        const Labels labels = in_kubernetes(metric_, shown, node);
        Series series{&metric_, world_.profile.shown_name(metric_), {}, node, gpu, {}};
        const NameMap& map = world_.profile.map;
        for (const auto& [name, value] : labels) {
            if (value.empty()) continue;  // for Prometheus an empty label is none
            const auto renamed = map.labels.find(name);
            if (renamed == map.labels.end())
                series.labels[name] = value;
            else if (!renamed->second.empty())
                series.labels[renamed->second] = value;
        }
        for (const auto& [name, value] : map.extra) series.labels[name] = value;
        made_.push_back(std::move(series));
    }

    // `up`: one for each exporter on each node or in the cluster, and those that the site adds.
    std::vector<Series> targets() {
        std::set<std::string> seen = {"prometheus", "inspector"};
        for (const Metric& metric : world_.catalog->metrics) {
            if (!world_.profile.exporters.contains(metric.exporter) || !seen.insert(metric.exporter).second)
                continue;
            const std::string job = job_name(world_.profile, metric);
            if (!metric.instance.empty()) {
                keep(in_kubernetes(metric, {{"job", job}, {"instance", metric.instance}}, 0), -1, -1);
                continue;
            }
            for (int node = 0; node < world_.cluster.nodes; ++node) {
                const std::string instance = target_instance(world_.profile, node, metric.port);
                keep(in_kubernetes(metric, {{"job", job}, {"instance", instance}}, node), node, -1);
            }
        }
        for (const Labels& target : world_.profile.map.targets) keep(target, -1, -1);
        return std::move(made_);
    }

    const World& world_;
    const Metric& metric_;
    std::vector<Series> made_;
};

}  // namespace

std::string host_name(const Profile& profile, int node) {
    const std::string& pattern = profile.map.host;
    const std::size_t begin = pattern.find('#');
    const std::size_t end = std::min(pattern.find_first_not_of('#', begin), pattern.size());
    return pattern.substr(0, begin) + fmt::format("{:0{}}", node, end - begin) + pattern.substr(end);
}

std::string target_instance(const Profile& profile, int node, int port) {
    return fmt::format("{}:{}", host_name(profile, node), port);
}

std::vector<Series> instances(const World& world, const Metric& metric) { return Maker(world, metric).all(); }

}  // namespace deadrank::results::exporters

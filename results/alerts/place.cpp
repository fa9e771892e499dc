// results/alerts/place.cpp — Where an alert's labels point. Exporters name places differently: instance,
// Hostname, node, gpu="3", gpu="GPU3", device="mlx5_3", rank="35".
#include <cstdlib>

#include "results/alerts/verdict.h"

namespace deadrank::results::alerts {

namespace {

int number_at_end(const std::string& text) {
    std::size_t begin = text.size();
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
    return begin == text.size() || text.size() - begin > 6 ? -1 : std::atoi(text.c_str() + begin);
}

std::string shown_label(const exporters::World& world, const std::string& label) {
    const auto at = world.profile.map.labels.find(label);
    return at == world.profile.map.labels.end() ? label : at->second;
}

}  // namespace

std::vector<exporters::Target> places_of(const std::map<std::string, std::string>& labels,
                                         const exporters::World& world) {
    exporters::Target place{.node = -1};
    const int gpus = world.cluster.gpus_per_node;
    for (const auto& [name, value] : labels) {
        if (name == shown_label(world, "rank") && number_at_end(value) >= 0) {
            return {{number_at_end(value) / gpus, number_at_end(value) % gpus}};
        }
        if (name == shown_label(world, "gpu") ||
            (name == shown_label(world, "device") && value.starts_with("mlx5_")) ||
            (name == shown_label(world, "device") && value.starts_with("nvidia"))) {
            place.gpu = number_at_end(value);
        }
        for (int node = 0; node < world.cluster.nodes && place.node < 0; ++node) {
            const std::string host = exporters::host_name(world.profile, node);
            if (value == host || value.starts_with(host + ":")) place.node = node;
        }
    }
    if (place.node < 0) return {};
    return {place};
}

}  // namespace deadrank::results::alerts

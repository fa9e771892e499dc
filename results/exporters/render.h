// results/exporters/render.h — The series of a cluster during an incident. The same seed gives the same
// noise, so a series that an incident does not touch is bit for bit that of the healthy run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/exporters/incident.h"
#include "results/exporters/profile.h"
#include "results/exporters/series.h"

namespace deadrank::results::exporters {

struct World {
    const MetricCatalog* catalog = nullptr;
    Profile profile;
    Cluster cluster;
    Window window;
    std::uint64_t seed = 1;
    double epoch = 0;  // wall clock when the run begins; unix times count from there
};

// `wanted` decides by shown name, `needed` by all labels; empty = all.
std::vector<Series> render(const World& world, const Incident& incident,
                           const std::function<bool(const std::string&)>& wanted = {},
                           const std::function<bool(const Series&)>& needed = {});

// The series without values: what exists, for checks of names and labels.
std::vector<Series> instances(const World& world, const Metric& metric);

// The metrics whose series differ from those of the healthy run, by shown name, with the labels of these
// series. Those whose series only vanish are separate: only rules about absence can see that.
struct Touched {
    std::map<std::string, std::vector<Labels>> moved, vanished;  // no labels: of too many series to keep
    bool empty() const { return moved.empty() && vanished.empty(); }
    bool any_of(const std::set<std::string>& names) const;
};
Touched touched(const World& world, const Incident& incident);

std::string host_name(const Profile& profile, int node);
std::string target_instance(const Profile& profile, int node, int port);

}  // namespace deadrank::results::exporters

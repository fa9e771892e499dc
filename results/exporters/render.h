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

// A series that an incident moves: up (1), down (-1), or in a way that has no direction (0).
struct Moved {
    Labels labels;
    int direction = 0;
};

// Shown names of the metrics that an incident moves under this profile. Those whose series only vanish are
// separate: only rules about absence can see that.
struct Touched {
    std::set<std::string> moved, vanished;
    std::map<std::string, std::vector<Moved>> series;  // of those moved
    bool empty() const { return moved.empty() && vanished.empty(); }
};
Touched touched(const World& world, const Incident& incident);

// A series that differs from that of the healthy run. `existence`: where it has samples, not only in their
// values. One whose labels change is told with the old and with the new ones.
struct Changed {
    std::string name;
    Labels labels;
    bool existence = false;
};
std::vector<Changed> changed(const World& world, const Incident& incident);

// When the first change of an incident begins, in seconds of the run: every sample before it is that of the
// healthy run.
double begins(const Incident& incident);

std::string host_name(const Profile& profile, int node);
std::string target_instance(const Profile& profile, int node, int port);

}  // namespace deadrank::results::exporters

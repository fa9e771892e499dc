// runners/storm/goodput.h — What a detector is worth: many lives of a cluster, and the same lives with one
// thing changed.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "runners/storm/cluster_model.h"

namespace deadrank::runners {

// Mean over lives, and the range that holds 95 % of them.
struct Spread {
    double mean = 0, low = 0, high = 0;
};

struct LifeVariant {
    std::string name;
    ClusterModel model;
    Spread goodput;  // share of the time spent on new work
    Spread gain;     // in goodput over the first variant, life by life
    Hours hours;     // mean of a life
};

struct GoodputStudy {
    std::vector<LifeVariant> variants;     // the unchanged model comes first
    std::map<std::string, double> lost;    // by cause, mean hours per life of the unchanged model
    double young = 0, daly = 0, best = 0;  // intervals in hours; best: of those tried
    double failures = 0, between = 0;      // mean per life; hours
    int lives = 0;
};

struct GoodputOptions {
    int lives = 100;
    std::uint64_t seed = 1;
    int threads = 1;
    std::atomic<bool>* stop = nullptr;
};

// The model, and variants with one thing changed: time-out, detector, checkpoint interval, spares and others.
GoodputStudy study_goodput(const ClusterModel& model, const GoodputOptions& options);

// Goodput at other sizes: of the unchanged model, and with a detector ten times as fast.
struct SizePoint {
    double gpus = 0;
    Spread usual, fast;
};
std::vector<SizePoint> goodput_by_size(const ClusterModel& model, const std::vector<double>& sizes,
                                       const GoodputOptions& options);

// Each of the two as a line with a band, over the number of GPUs (logarithmic), as SVG.
std::string goodput_figure(const ClusterModel& model, const std::vector<SizePoint>& points);

}  // namespace deadrank::runners

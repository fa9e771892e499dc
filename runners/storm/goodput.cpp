// runners/storm/goodput.cpp — Lives with the same seed draw the same chances whatever is changed, so that a
// difference is due to the change.
#include "runners/storm/goodput.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <thread>

namespace deadrank::runners {

namespace {

Spread spread_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
        return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
    };
    double sum = 0;
    for (const double value : values) sum += value;
    return {sum / static_cast<double>(values.size()), at(0.025), at(0.975)};
}

std::vector<Life> lives_of(const ClusterModel& model, const GoodputOptions& options) {
    std::vector<Life> lives(static_cast<std::size_t>(std::max(options.lives, 1)));
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < lives.size(); i = next++) {
            if (options.stop != nullptr && options.stop->load()) return;
            lives[i] = live(model, options.seed + i);
        }
    };
    std::vector<std::thread> helpers;
    for (int i = 1; i < options.threads; ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
    std::erase_if(lives, [](const Life& life) { return life.hours.all() <= 0; });  // not played: stopped
    return lives;
}

Hours mean_hours(const std::vector<Life>& lives) {
    Hours mean;
    for (const Life& life : lives) {
        for (const auto part : {&Hours::useful, &Hours::checkpoints, &Hours::again, &Hours::noticing,
                                &Hours::restarting, &Hours::waiting, &Hours::preempted})
            mean.*part += life.hours.*part / static_cast<double>(lives.size());
    }
    return mean;
}

std::vector<double> goodputs(const std::vector<Life>& lives) {
    std::vector<double> all;
    for (const Life& life : lives) all.push_back(life.hours.goodput());
    return all;
}

ClusterModel with_detector(ClusterModel model, double factor) {
    model.hang_noticed *= factor;
    model.silent_noticed *= factor;
    model.crash_noticed *= factor;
    return model;
}

std::vector<LifeVariant> variants_of(const ClusterModel& model) {
    std::vector<LifeVariant> all;
    const auto add = [&](std::string name, auto change) {
        LifeVariant one{.name = std::move(name), .model = model};
        change(one.model);
        all.push_back(std::move(one));
    };
    add("as it is", [](ClusterModel&) {});
    add("detector ten times as fast", [](ClusterModel& m) { m = with_detector(m, 0.1); });
    add("time-out three times as long", [](ClusterModel& m) { m.hang_noticed *= 3; });
    add("restart in half the time", [](ClusterModel& m) { m.restart /= 2; });
    add("checkpoints twice as often", [](ClusterModel& m) { m.checkpoint_every /= 2; });
    add("checkpoints half as often", [](ClusterModel& m) { m.checkpoint_every *= 2; });
    if (model.checkpoint_cost > 0) {
        add("checkpoints at Young's interval",
            [](ClusterModel& m) { m.checkpoint_every = young_interval(m); });
        add("checkpoints at Daly's interval", [](ClusterModel& m) { m.checkpoint_every = daly_interval(m); });
    }
    if (model.spares > 0) add("no spares", [](ClusterModel& m) { m.spares = 0; });
    add("1 % more spares", [](ClusterModel& m) { m.spares += std::ceil(m.nodes() / 100); });
    if (model.gaps != GapModel::Kind::exponential || !model.empirical.empty())
        add("the same failures, memoryless", [](ClusterModel& m) {
            m.gaps = GapModel::Kind::exponential;
            m.empirical.clear();
        });
    if (model.bad_share > 0)
        add("no bad nodes", [](ClusterModel& m) {
            m.rate /= 1 + m.bad_share * (m.bad_factor - 1);
            m.bad_share = 0;
        });
    if (model.false_drains > 0) add("no false drains", [](ClusterModel& m) { m.false_drains = 0; });
    return all;
}

// The best of several intervals around Young's, with a few lives each.
double best_interval(const ClusterModel& model, GoodputOptions options) {
    options.lives = std::min(options.lives, 20);
    double best = model.checkpoint_every, most = -1;
    for (int step = -8; step <= 8; ++step) {
        ClusterModel tried = model;
        tried.checkpoint_every = young_interval(model) * std::pow(2, step / 4.0);
        const double found = spread_of(goodputs(lives_of(tried, options))).mean;
        if (found > most) most = found, best = tried.checkpoint_every;
    }
    return best;
}

}  // namespace

GoodputStudy study_goodput(const ClusterModel& model, const GoodputOptions& options) {
    GoodputStudy study;
    study.variants = variants_of(model);
    study.lives = options.lives;
    study.between = model.between();
    std::vector<double> usual;
    for (LifeVariant& one : study.variants) {
        const auto lives = lives_of(one.model, options);
        if (lives.empty()) break;
        const auto found = goodputs(lives);
        if (usual.empty()) {
            usual = found;
            for (const Life& life : lives) {
                study.failures += static_cast<double>(life.failures) / static_cast<double>(lives.size());
                for (const auto& [cause, hours] : life.lost)
                    study.lost[cause] += hours / static_cast<double>(lives.size());
            }
        }
        std::vector<double> gains;
        for (std::size_t i = 0; i < std::min(found.size(), usual.size()); ++i)
            gains.push_back(found[i] - usual[i]);
        one.goodput = spread_of(found);
        one.gain = spread_of(std::move(gains));
        one.hours = mean_hours(lives);
    }
    if (model.checkpoint_cost > 0) {
        study.young = young_interval(model);
        study.daly = daly_interval(model);
        study.best = best_interval(model, options);
    }
    return study;
}

std::vector<SizePoint> goodput_by_size(const ClusterModel& model, const std::vector<double>& sizes,
                                       const GoodputOptions& options) {
    std::vector<SizePoint> points;
    for (const double gpus : sizes) {
        ClusterModel sized = model;
        sized.spares = std::ceil(model.spares * gpus / model.gpus);
        sized.gpus = gpus;
        points.push_back({gpus, spread_of(goodputs(lives_of(sized, options))),
                          spread_of(goodputs(lives_of(with_detector(sized, 0.1), options)))});
    }
    return points;
}

namespace {

constexpr double figure_left = 60, figure_right = 620, figure_top = 30, figure_bottom = 310;

// A point in the figure: x is the logarithm of the number of GPUs, y the goodput from 0 to 1.
std::string place_of(const std::vector<SizePoint>& points, double gpus, double goodput) {
    const double low = std::log(points.front().gpus), high = std::log(points.back().gpus);
    const double share = high > low ? (std::log(gpus) - low) / (high - low) : 0.5;
    return fmt::format("{:.1f},{:.1f}", figure_left + share * (figure_right - figure_left),
                       figure_bottom - goodput * (figure_bottom - figure_top));
}

std::string band(const std::vector<SizePoint>& points, Spread SizePoint::*which, const char* colour) {
    std::string line, low, high;
    for (const SizePoint& one : points) {
        line += place_of(points, one.gpus, (one.*which).mean) + " ";
        high += place_of(points, one.gpus, (one.*which).high) + " ";
        low = place_of(points, one.gpus, (one.*which).low) + " " + low;
    }
    return fmt::format(
        "<polygon points=\"{0}{1}\" fill=\"{2}\" fill-opacity=\"0.2\"/>\n"
        "<polyline points=\"{3}\" fill=\"none\" stroke=\"{2}\" stroke-width=\"2\"/>\n",
        high, low, colour, line);
}

}  // namespace

std::string goodput_figure(const ClusterModel& model, const std::vector<SizePoint>& points) {
    if (points.empty()) return {};
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 680 360\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<rect width=\"680\" height=\"360\" fill=\"white\"/>\n"
        "<text x=\"60\" y=\"18\">Goodput by number of GPUs, failures as in {}; bands hold 95 % of "
        "lives</text>\n",
        model.id);
    for (int tenth = 0; tenth <= 10; tenth += 2) {
        const double y = figure_bottom - tenth / 10.0 * (figure_bottom - figure_top);
        svg += fmt::format(
            "<line x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>"
            "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{} %</text>\n",
            figure_left, figure_right, y, y, figure_left - 6, y + 4, 10 * tenth);
    }
    for (const SizePoint& one : points) {
        const std::string at = place_of(points, one.gpus, 0);
        svg += fmt::format("<text x=\"{}\" y=\"{:.0f}\" text-anchor=\"middle\">{:.0f}</text>\n",
                           at.substr(0, at.find(',')), figure_bottom + 18, one.gpus);
    }
    svg += band(points, &SizePoint::usual, "#c0392b") + band(points, &SizePoint::fast, "#2471a3");
    svg += fmt::format(
        "<text x=\"70\" y=\"{0:.0f}\" fill=\"#c0392b\">as it is</text>\n"
        "<text x=\"140\" y=\"{0:.0f}\" fill=\"#2471a3\">detector ten times as fast</text>\n</svg>\n",
        figure_bottom + 40);
    return svg;
}

}  // namespace deadrank::runners

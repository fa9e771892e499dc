// runners/studies/failure_fit.cpp — Maximum likelihood by Newton's method, Kolmogorov–Smirnov distance,
// bootstrap intervals.
#include "runners/studies/failure_fit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "scenarios/model/chance.h"

namespace deadrank::runners {

namespace {

double mean_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

double mean_log_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += std::log(value);
    return sum / static_cast<double>(values.size());
}

// The likelihood of a Weibull distribution has its maximum where this is zero.
double weibull_slope(const std::vector<double>& gaps, double shape, double mean_log) {
    double powers = 0, logs = 0;
    for (const double gap : gaps) {
        const double power = std::pow(gap, shape);
        powers += power;
        logs += power * std::log(gap);
    }
    return logs / powers - 1 / shape - mean_log;
}

GapModel weibull_of(std::vector<double> gaps) {
    const double unit = mean_of(gaps);  // powers of gaps in seconds would overflow
    for (double& gap : gaps) gap /= unit;
    const double mean_log = mean_log_of(gaps);
    double low = 0.05, high = 20;
    for (int i = 0; i < 60; ++i) {
        const double middle = std::sqrt(low * high);
        (weibull_slope(gaps, middle, mean_log) > 0 ? high : low) = middle;
    }
    double powers = 0;
    for (const double gap : gaps) powers += std::pow(gap, low);
    return {GapModel::Kind::weibull, low,
            unit * std::pow(powers / static_cast<double>(gaps.size()), 1 / low)};
}

double digamma(double x) {
    double sum = 0;
    for (; x < 8; ++x) sum -= 1 / x;
    const double f = 1 / (x * x);
    return sum + std::log(x) - 0.5 / x - f * (1.0 / 12 - f * (1.0 / 120 - f / 252));
}

GapModel gamma_of(const std::vector<double>& gaps) {
    const double mean = mean_of(gaps), wanted = std::log(mean) - mean_log_of(gaps);
    double low = 0.02, high = 200;
    for (int i = 0; i < 80; ++i) {
        const double middle = std::sqrt(low * high);
        (std::log(middle) - digamma(middle) > wanted ? low : high) = middle;
    }
    return {GapModel::Kind::gamma, low, mean / low};
}

// The regularised lower incomplete gamma function: its series below a + 1, else its continued fraction.
double gamma_below(double a, double x) {
    if (x <= 0) return 0;
    const double front = std::exp(a * std::log(x) - x - std::lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int n = 1; n < 500 && term > sum * 1e-14; ++n) sum += term *= x / (a + n);
        return sum * front;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int n = 1; n < 500; ++n) {
        const double an = -n * (n - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= d * c;
        if (std::abs(d * c - 1) < 1e-14) break;
    }
    return 1 - front * h;
}

// 95 % of the values lie between these two.
std::pair<double, double> middle_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
        return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    };
    return {at(0.025), at(0.975)};
}

std::vector<double> resampled(const std::vector<double>& values, const scenarios::Draw& draw,
                              std::uint64_t sample) {
    std::vector<double> again(values.size());
    for (std::size_t i = 0; i < again.size(); ++i)
        again[i] = values[draw.below(sample * values.size() + i, values.size())];
    return again;
}

FailureFit fit_of(const std::string& group, const std::vector<double>& gaps, std::size_t failures,
                  std::uint64_t seed, int samples) {
    FailureFit fit{.group = group, .failures = failures};
    std::vector<double> fitted, held;
    for (std::size_t i = 0; i < gaps.size(); ++i) (i % 2 == 0 ? fitted : held).push_back(gaps[i]);
    fit.fitted = fitted.size();
    fit.held = held.size();
    fit.mean_gap = mean_of(gaps);
    double square = 0;
    for (const double gap : gaps) square += (gap - fit.mean_gap) * (gap - fit.mean_gap);
    fit.variation = std::sqrt(square / static_cast<double>(gaps.size() - 1)) / fit.mean_gap;
    const scenarios::Draw draw(seed, "failure fit " + group, "bootstrap");
    for (const auto kind : {GapModel::Kind::exponential, GapModel::Kind::weibull, GapModel::Kind::gamma}) {
        FittedModel one{.model = fit_gaps(kind, fitted)};
        one.held = distance_of(one.model, held);
        one.low = one.high = one.model.shape;
        if (kind != GapModel::Kind::exponential) {
            std::vector<double> shapes;
            for (int sample = 0; sample < samples; ++sample)
                shapes.push_back(
                    fit_gaps(kind, resampled(fitted, draw, static_cast<std::uint64_t>(sample))).shape);
            std::tie(one.low, one.high) = middle_of(std::move(shapes));
        }
        fit.models.push_back(one);
    }
    return fit;
}

double dispersion_of(const std::vector<double>& counts) {
    const double mean = mean_of(counts);
    double square = 0;
    for (const double count : counts) square += (count - mean) * (count - mean);
    return square / static_cast<double>(counts.size() - 1) / mean;
}

RepeatOffenders offenders_of(const FailureTable& table, std::uint64_t seed, int samples) {
    std::map<std::string, double> by_place;
    for (const MachineFailure& one : table.failures) {
        if (!one.place.empty()) ++by_place[one.place];
    }
    RepeatOffenders found;
    if (by_place.size() < 2) return found;
    std::vector<double> counts;
    for (const auto& [place, count] : by_place) {
        counts.push_back(count);
        found.four_or_more += count >= 4;
    }
    counts.resize(std::max(counts.size(), static_cast<std::size_t>(table.places)),
                  0);  // places that never failed
    found.places = static_cast<double>(counts.size());
    found.per_place = mean_of(counts);
    found.dispersion = dispersion_of(counts);
    const double m = found.per_place;
    const double fewer = std::exp(-m) * (1 + m + m * m / 2 + m * m * m / 6);
    found.four_expected = found.places * (1 - fewer);
    const scenarios::Draw draw(seed, "repeat offenders", "bootstrap");
    std::vector<double> again;
    for (int sample = 0; sample < samples; ++sample)
        again.push_back(dispersion_of(resampled(counts, draw, static_cast<std::uint64_t>(sample))));
    std::tie(found.low, found.high) = middle_of(std::move(again));
    return found;
}

std::vector<double> gaps_of(const std::vector<const MachineFailure*>& failures) {
    std::vector<double> gaps;
    for (std::size_t i = 1; i < failures.size(); ++i) {
        const double gap = failures[i]->at - failures[i - 1]->at;
        if (gap > 0) gaps.push_back(gap);
    }
    return gaps;
}

}  // namespace

std::string_view name_of(GapModel::Kind kind) {
    constexpr std::string_view names[] = {"memoryless", "Weibull", "gamma"};
    return names[static_cast<std::size_t>(kind)];
}

double GapModel::below(double gap) const {
    if (gap <= 0) return 0;
    if (kind == Kind::gamma) return gamma_below(shape, gap / scale);
    return 1 - std::exp(-std::pow(gap / scale, shape));
}

double GapModel::quantile(double chance) const {
    if (kind != Kind::gamma) return scale * std::pow(-std::log1p(-chance), 1 / shape);
    double low = 0, high = scale * (shape + 1);
    while (below(high) < chance) high *= 2;
    for (int i = 0; i < 80; ++i) {
        const double middle = (low + high) / 2;
        (below(middle) < chance ? low : high) = middle;
    }
    return high;
}

GapModel fit_gaps(GapModel::Kind kind, const std::vector<double>& gaps) {
    if (kind == GapModel::Kind::weibull) return weibull_of(gaps);
    if (kind == GapModel::Kind::gamma) return gamma_of(gaps);
    return {kind, 1, mean_of(gaps)};
}

KolmogorovSmirnov distance_of(const GapModel& model, std::vector<double> gaps) {
    std::sort(gaps.begin(), gaps.end());
    KolmogorovSmirnov found;
    const auto n = static_cast<double>(gaps.size());
    for (std::size_t i = 0; i < gaps.size(); ++i) {
        const double at = model.below(gaps[i]);
        found.distance =
            std::max({found.distance, at - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - at});
    }
    // Kolmogorov's limit with Stephens' correction for finite samples.
    const double lambda = (std::sqrt(n) + 0.12 + 0.11 / std::sqrt(n)) * found.distance;
    double sum = 0;
    for (int k = 1; k <= 100; ++k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * lambda * lambda);
    found.chance = lambda < 0.2 ? 1 : std::clamp(sum, 0.0, 1.0);
    return found;
}

FailureStudy study_failures(const FailureTable& table, std::uint64_t seed, int samples) {
    constexpr std::size_t enough = 100;  // with fewer gaps a shape says little
    FailureStudy study;
    std::map<std::string, std::vector<const MachineFailure*>> groups;
    std::vector<const MachineFailure*> whole;
    for (const MachineFailure& one : table.failures) {
        whole.push_back(&one);
        if (!one.group.empty()) groups[one.group].push_back(&one);
    }
    groups.erase(groups.size() == 1 ? groups.begin()->first : "");
    if (const auto gaps = gaps_of(whole); gaps.size() >= 10)
        study.fits.push_back(fit_of("all", gaps, whole.size(), seed, samples));
    for (const auto& [name, failures] : groups) {
        const auto gaps = gaps_of(failures);
        if (gaps.size() >= enough) study.fits.push_back(fit_of(name, gaps, failures.size(), seed, samples));
    }
    study.offenders = offenders_of(table, seed, samples);
    return study;
}

}  // namespace deadrank::runners

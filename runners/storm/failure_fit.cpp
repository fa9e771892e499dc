// runners/storm/failure_fit.cpp — Maximum likelihood by Newton's method, Kolmogorov–Smirnov distance,
// bootstrap intervals.
#include "runners/storm/failure_fit.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "scenarios/model/chance.h"

namespace deadrank::runners {

namespace {

double mean_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

std::vector<double> logs_of(const std::vector<double>& values) {
    std::vector<double> logs;
    for (const double value : values) logs.push_back(std::log(value));
    return logs;
}

// The likelihood of a Weibull distribution has its maximum where this is zero.
double weibull_slope(const std::vector<double>& log_gaps, double shape, double mean_log) {
    double powers = 0, logs = 0;
    for (const double log : log_gaps) {
        const double power = std::exp(shape * log);
        powers += power;
        logs += power * log;
    }
    return logs / powers - 1 / shape - mean_log;
}

GapModel weibull_of(const std::vector<double>& gaps) {
    const double unit = mean_of(gaps);  // powers of gaps in seconds would overflow
    std::vector<double> logs = logs_of(gaps);
    for (double& log : logs) log -= std::log(unit);
    const double mean_log = mean_of(logs);
    double low = 0.05, high = 20;
    for (int i = 0; i < 32; ++i) {
        const double middle = std::sqrt(low * high);
        (weibull_slope(logs, middle, mean_log) > 0 ? high : low) = middle;
    }
    double powers = 0;
    for (const double log : logs) powers += std::exp(low * log);
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
    const double mean = mean_of(gaps), wanted = std::log(mean) - mean_of(logs_of(gaps));
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

double dispersion_of(const std::vector<double>& counts) {
    const double mean = mean_of(counts);
    double square = 0;
    for (const double count : counts) square += (count - mean) * (count - mean);
    return square / static_cast<double>(counts.size() - 1) / mean;
}

// The share of places with `often` failures or more, if each of them failed `mean` times on average and
// independently (Poisson).
double share_with(int often, double mean) {
    double fewer = 0;
    for (int n = 0; n < often; ++n) fewer += std::exp(n * std::log(mean) - mean - std::lgamma(n + 1.0));
    return std::max(0.0, 1 - fewer);
}

std::size_t count_with(int often, const std::vector<double>& counts) {
    return static_cast<std::size_t>(
        std::count_if(counts.begin(), counts.end(), [&](double count) { return count >= often; }));
}

using Failures = std::vector<const MachineFailure*>;

// `places`: how many there are, with those that never failed; 0 = as many as failed.
RepeatOffenders offenders_of(const std::string& group, const Failures& failures, double places,
                             std::uint64_t seed, int samples) {
    std::map<std::string, double> by_place;
    for (const MachineFailure* one : failures) {
        if (!one->place.empty()) ++by_place[one->place];
    }
    RepeatOffenders found;
    if (by_place.size() < 2) return found;
    std::vector<double> counts;
    for (const auto& [place, count] : by_place) counts.push_back(count);
    counts.resize(std::max(counts.size(), static_cast<std::size_t>(places)), 0);
    found.places = static_cast<double>(counts.size());
    found.per_place = mean_of(counts);
    found.dispersion = dispersion_of(counts);
    while (share_with(found.often, found.per_place) > 0.001) ++found.often;
    found.count = count_with(found.often, counts);
    found.expected = found.places * share_with(found.often, found.per_place);
    const scenarios::Draw draw(seed, "repeat offenders " + group, "bootstrap");
    std::vector<double> dispersions, often;
    for (int sample = 0; sample < samples; ++sample) {
        const auto again = resampled(counts, draw, static_cast<std::uint64_t>(sample));
        dispersions.push_back(dispersion_of(again));
        often.push_back(static_cast<double>(count_with(found.often, again)));
    }
    std::tie(found.low, found.high) = middle_of(std::move(dispersions));
    std::tie(found.count_low, found.count_high) = middle_of(std::move(often));
    return found;
}

std::vector<double> gaps_of(const Failures& failures) {
    std::vector<double> gaps;
    for (std::size_t i = 1; i < failures.size(); ++i) {
        const double gap = failures[i]->at - failures[i - 1]->at;
        if (gap > 0) gaps.push_back(gap);
    }
    return gaps;
}

int year_of(double at) {
    const auto when = static_cast<std::time_t>(at);
    std::tm parts{};
    gmtime_r(&when, &parts);
    return parts.tm_year + 1900;
}

// The name of the part that a failure belongs to: "DBE 2017". Empty where the table does not say.
std::string part_of(const MachineFailure& failure, const std::vector<PartedBy>& by) {
    std::string name;
    for (const PartedBy one : by) {
        const std::string word = one == PartedBy::group   ? failure.group
                                 : one == PartedBy::cause ? failure.cause
                                                          : std::to_string(year_of(failure.at));
        if (word.empty()) return {};
        name += (name.empty() ? "" : " ") + word;
    }
    return name;
}

// Gaps drawn from a model, by its quantiles: those of a gamma distribution are slow, and taken from a table.
class GapSource {
public:
    explicit GapSource(const GapModel& model) : model_(model) {
        if (model.kind != GapModel::Kind::gamma) return;
        for (int i = 0; i < 4096; ++i) quantiles_.push_back(model.quantile((i + 0.5) / 4096));
    }
    double operator()(const scenarios::Draw& draw, std::uint64_t n) const {
        constexpr std::uint64_t fine = std::uint64_t{1} << 40;
        if (!quantiles_.empty()) return quantiles_[draw.below(n, quantiles_.size())];
        return model_.quantile((static_cast<double>(draw.below(n, fine)) + 0.5) / static_cast<double>(fine));
    }

private:
    GapModel model_;
    std::vector<double> quantiles_;
};

// How likely the held gaps are as far from the model as they are, where the model is right but had to be
// fitted to as many other gaps: Kolmogorov's limit, which takes the model as known, would reject a right one
// in more than one case of ten. By parametric bootstrap; what no sample reaches is left to the limit.
double chance_of(const FittedModel& one, std::size_t fitted, std::size_t held, const scenarios::Draw& draw,
                 int samples) {
    const GapSource source(one.model);
    std::uint64_t n = 0;
    int as_far = 0;
    for (int sample = 0; sample < samples; ++sample) {
        std::vector<double> first(fitted), second(held);
        for (double& gap : first) gap = source(draw, n++);
        for (double& gap : second) gap = source(draw, n++);
        as_far += distance_of(fit_gaps(one.model.kind, first), second).distance >= one.held.distance;
    }
    if (as_far == 0) return std::min(one.held.chance, 1.0 / samples);
    return static_cast<double>(as_far) / samples;
}

FailureFit fit_of(const std::string& group, const std::vector<double>& gaps, const Failures& failures,
                  std::uint64_t seed, int samples) {
    FailureFit fit{.group = group, .failures = failures.size()};
    fit.together = failures.size() - 1 - gaps.size();
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
        one.held.chance = chance_of(one, fitted.size(), held.size(),
                                    scenarios::Draw(seed, "failure fit " + group, name_of(kind)), samples);
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

FailureStudy study_failures(const FailureTable& table, const std::vector<PartedBy>& by, std::uint64_t seed,
                            int samples) {
    constexpr std::size_t enough = 100;  // with fewer gaps a shape says little
    FailureStudy study;
    std::map<std::string, Failures> parts;
    Failures whole;
    for (const MachineFailure& one : table.failures) {
        whole.push_back(&one);
        if (const std::string part = part_of(one, by); !part.empty()) parts[part].push_back(&one);
    }
    const auto add = [&](const std::string& name, const Failures& failures, double places,
                         std::size_t least) {
        const auto gaps = gaps_of(failures);
        if (gaps.size() < least) return;
        study.fits.push_back(fit_of(name, gaps, failures, seed, samples));
        study.fits.back().offenders = offenders_of(name, failures, places, seed, samples);
    };
    add("all", whole, table.places, 10);
    if (parts.size() < 2) return study;
    const bool groups = std::find(by.begin(), by.end(), PartedBy::group) != by.end();  // each with its places
    for (const auto& [name, failures] : parts) add(name, failures, groups ? 0 : table.places, enough);
    return study;
}

}  // namespace deadrank::runners

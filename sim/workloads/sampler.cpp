// sim/workloads/sampler.cpp — The affine shuffle: position → (position × step + start) mod samples, with a
// step coprime to samples.
#include "sim/workloads/sampler.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "scenarios/model/error.h"
#include "sim/workloads/model.h"

namespace deadrank::sim {

namespace {

std::uint64_t drawn(std::int64_t seed, std::int64_t epoch, int which) {
    const Number key[] = {seed, epoch, which};
    return digest_of(key);
}

}  // namespace

Sampler::Sampler(const SamplerSettings& settings) : settings_(settings) {
    CHECK(settings.samples > 0 && settings.batch > 0 && settings.replicas > 0);
}

std::int64_t Sampler::steps_per_epoch() const {
    return std::max<std::int64_t>(1, settings_.samples / (settings_.batch * settings_.replicas));
}

Sampler::Shuffle Sampler::shuffle(std::int64_t epoch) const {
    if (!settings_.shuffle) return {};
    const auto samples = static_cast<std::uint64_t>(settings_.samples);
    std::uint64_t stride = drawn(settings_.seed, epoch, 0) % samples;
    while (std::gcd(stride, samples) != 1) ++stride;
    return {stride, drawn(settings_.seed, epoch, 1) % samples};
}

std::int64_t Sampler::at(const Shuffle& shuffle, std::int64_t position) const {
    if (!settings_.shuffle) return position % settings_.samples;
    const auto samples = static_cast<std::uint64_t>(settings_.samples);
    const auto place = static_cast<std::uint64_t>(position);
    std::uint64_t moved = 0;
    if (!__builtin_mul_overflow(place, shuffle.stride, &moved) &&
        !__builtin_add_overflow(moved, shuffle.start, &moved)) {
        return static_cast<std::int64_t>(moved % samples);
    }
    __extension__ typedef unsigned __int128 Wide128;
    return static_cast<std::int64_t>((Wide128{place} * shuffle.stride + shuffle.start) % samples);
}

std::vector<std::int64_t> Sampler::batch(std::int64_t step, std::int64_t replica, std::int64_t epoch) const {
    const std::int64_t within = step % steps_per_epoch();
    const std::int64_t first = (within * settings_.replicas + replica) * settings_.batch;
    std::vector<std::int64_t> ids(static_cast<std::size_t>(settings_.batch));
    const Shuffle order = shuffle(epoch);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = at(order, first + static_cast<std::int64_t>(i));
    return ids;
}

std::string listed(const std::vector<std::int64_t>& samples) {
    std::string text;
    text.reserve(8 * samples.size());
    std::array<char, 20> digits{};
    for (const std::int64_t sample : samples) {
        if (!text.empty()) text += ',';
        text.append(digits.data(), std::to_chars(digits.begin(), digits.end(), sample).ptr);
    }
    return text;
}

}  // namespace deadrank::sim

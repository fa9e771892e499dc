// results/analysis/samples.cpp — Batches as lists of samples, compared across restarts.
#include "results/analysis/samples.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "results/analysis/complaints.h"
#include "results/analysis/dealt_samples.h"
#include "results/analysis/findings.h"
#include "results/analysis/lives.h"

namespace deadrank::results::analysis {

namespace {

// The number with which each part of "4:905,17:77" begins, or the one behind its colon.
std::vector<std::int64_t> numbers_in(std::string_view text, bool contents) {
    std::vector<std::int64_t> numbers;
    while (!text.empty()) {
        const auto end = text.find(',');
        const std::string_view one = text.substr(0, end);
        const auto colon = one.find(':');
        if (!contents)
            numbers.push_back(std::atoll(std::string(one).c_str()));
        else if (colon != std::string_view::npos)
            numbers.push_back(std::atoll(std::string(one.substr(colon + 1)).c_str()));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return numbers;
}

}  // namespace

std::vector<std::int64_t> samples_of(const Evidence& evidence, const DataBatch& batch) {
    if (batch.samples == TextId::none) {
        std::vector<std::int64_t> ids;
        for (std::int32_t i = 0; i < batch.count; ++i)
            ids.push_back(batch.first + std::int64_t{i} * batch.stride);
        return ids;
    }
    return numbers_in(evidence.text(batch.samples), false);
}

std::vector<std::int64_t> contents_of(const Evidence& evidence, const DataBatch& batch) {
    if (batch.samples == TextId::none) return {};
    return numbers_in(evidence.text(batch.samples), true);
}

namespace {

// Of ranks that read alike at the same place on several nodes, those that are not on the first of them. Empty
// if others do.
std::vector<Rank> find_ranks_off_first_node(const Lives& lives,
                                            const std::map<Rank, std::set<Rank>>& partners) {
    const auto place = [&](Rank rank) {
        const auto there = lives.on_node(lives.node_of(rank));
        return std::find(there.begin(), there.end(), rank) - there.begin();
    };
    std::vector<Rank> beyond;
    std::set<std::ptrdiff_t> places;
    for (const auto& [rank, others] : partners) {
        bool first = true;
        for (const Rank other : others) {
            if (lives.node_of(other) == lives.node_of(rank) || place(other) != place(rank)) return {};
            first &= lives.node_of(rank) < lives.node_of(other);
        }
        if (!first) beyond.push_back(rank);
        places.insert(place(rank));
    }
    return places.size() > 1 ? beyond : std::vector<Rank>{};
}

}  // namespace

Conflict conflict_of(const Lives& lives, const std::map<Rank, std::set<Rank>>& partners) {
    if (auto beyond = find_ranks_off_first_node(lives, partners); !beyond.empty()) {
        std::string says = fmt::format("; {} read what the ranks at the same place on another node read",
                                       ranks_text(beyond));
        return {std::move(beyond), std::move(says)};
    }
    std::size_t most = 0, ties = 0;
    for (const auto& [rank, others] : partners) most = std::max(most, others.size());
    std::vector<Rank> top, all;
    for (const auto& [rank, others] : partners) {
        all.push_back(rank);
        if (others.size() == most) top.push_back(rank);
        ties += others.size() == most;
    }
    if (ties == 1) return {std::move(top), {}};
    std::string says = all.size() > 2 ? fmt::format("; {} read samples of others", ranks_text(all)) : "";
    return {std::move(all), std::move(says)};
}

std::optional<ReadAgain> samples_read_again(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    if (lives.attempts() < 2) return std::nullopt;
    std::map<int, std::int64_t> resumed;  // by attempt: its first step
    for (const Event* event : evidence.each<DataBatch>()) {
        const std::int64_t step = event->as<DataBatch>()->step;
        const auto [first, fresh] = resumed.try_emplace(lives.attempt_at(event->at), step);
        if (!fresh) first->second = std::min(first->second, step);
    }
    const bool shifted = step_counts_are_shifted(evidence);
    const auto epochs = find_first_epochs(evidence);
    std::unordered_map<std::int64_t, std::map<std::int64_t, std::pair<int, std::int64_t>>> read;  // by sample
    std::set<Rank> ranks;
    const Event* shown = nullptr;
    std::string says;
    for (const Event* event : evidence.each<DataBatch>()) {
        const auto* batch = event->as<DataBatch>();
        const int attempt = lives.attempt_at(event->at);
        if (shown && (batch->step != shown->as<DataBatch>()->step || attempt != lives.attempt_at(shown->at)))
            continue;
        auto ids = contents_of(evidence, *batch);
        const bool by_contents = !ids.empty();
        const auto first_epoch = epochs.find(attempt);
        if (by_contents && (shifted || first_epoch == epochs.end())) continue;
        if (!by_contents) ids = samples_of(evidence, *batch);
        const std::int64_t epoch = batch->epoch + (first_epoch == epochs.end() ? 0 : first_epoch->second);
        for (const std::int64_t id : ids) {
            auto& [when, step] = read[id].try_emplace(epoch, attempt, batch->step).first->second;
            // What an attempt read from the resumed step on was lost with it, and is read anew.
            const bool kept = when < attempt && step < resumed[attempt];
            if (!kept) {
                when = attempt, step = batch->step;
                continue;
            }
            if (!shown) {
                shown = event;
                says = fmt::format(
                    "{} of epoch {} was read in step {} before the restart and by rank {} "
                    "in step {} after it",
                    by_contents ? "a sample" : fmt::format("sample {}", id), epoch, step, event->rank,
                    batch->step);
            }
            ranks.insert(event->rank);
            break;
        }
    }
    if (!shown) return std::nullopt;
    return ReadAgain{shown, {ranks.begin(), ranks.end()}, std::move(says)};
}

namespace {

// What a rank read in a step: the numbers of its samples, then what tells them apart.
struct Reading {
    std::vector<std::int64_t> ids, contents;
    const Event* first = nullptr;
};

using Readings = std::map<std::tuple<int, Rank, std::int64_t>, Reading>;  // by attempt, rank and step

Readings collect_readings(const Evidence& evidence) {
    Readings readings;
    for (const Event* event : evidence.each<DataBatch>()) {
        const auto* batch = event->as<DataBatch>();
        const int attempt = evidence.facts<Lives>().attempt_at(event->at);
        Reading& one = readings[{attempt, event->rank, batch->step}];
        const auto add = [](auto& all, const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
        add(one.ids, samples_of(evidence, *batch));
        add(one.contents, contents_of(evidence, *batch));
        if (!one.first) one.first = event;
    }
    return readings;
}

// The same samples were read in another step of an earlier attempt: by their order, this is no chance.
bool was_read_elsewhere(const Readings& readings, int attempt, const Reading& now, std::int64_t step) {
    if (now.contents.size() < 2) return false;
    return std::any_of(readings.begin(), readings.end(), [&](const auto& entry) {
        const auto& [when, rank, other] = entry.first;
        return when < attempt && other != step && entry.second.contents == now.contents;
    });
}

bool repeats_losses_shifted_by(std::int64_t shift, const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::pair<Rank, std::int64_t>, double> before;
    bool repeats = false;
    for (const Event* event : evidence.each<StepEnd>()) {
        const auto* end = event->as<StepEnd>();
        if (lives.attempt_at(event->at) == 0) {
            before[{event->rank, end->step}] = end->loss;
            continue;
        }
        const auto known = before.find({event->rank, end->step - shift});
        if (known == before.end()) continue;
        if (known->second != end->loss) return false;
        repeats = true;
    }
    return repeats;
}

}  // namespace

bool step_counts_are_shifted(const Evidence& evidence) {
    return repeats_losses_shifted_by(1, evidence) || repeats_losses_shifted_by(-1, evidence);
}

std::optional<OtherSamples> find_other_samples(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    if (lives.attempts() < 2) return std::nullopt;
    const Readings readings = collect_readings(evidence);
    const bool shifted = step_counts_are_shifted(evidence);
    // Another number of ranks shares the data out anew.
    std::map<std::tuple<Rank, Rank, std::int64_t>, const Reading*> before;
    std::map<int, std::int64_t> resumed;
    for (const auto& [key, reading] : readings) {
        const auto [first, fresh] = resumed.try_emplace(std::get<0>(key), std::get<2>(key));
        if (!fresh) first->second = std::min(first->second, std::get<2>(key));
    }
    std::vector<std::pair<const Event*, Rank>> found;
    for (const auto& [key, reading] : readings) {
        const auto& [attempt, rank, step] = key;
        const auto [known, fresh] = before.try_emplace({lives.started(attempt), rank, step}, &reading);
        if (fresh || known->second->ids == reading.ids) continue;
        const bool lost = reading.contents.empty() || (!shifted && resumed[attempt] > 0 &&
                                                       was_read_elsewhere(readings, attempt, reading, step));
        if (lost) found.emplace_back(reading.first, rank);
    }
    if (found.empty()) return std::nullopt;
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first->at < b.first->at; });
    OtherSamples other{.event = found.front().first, .ranks = {}, .in_step = {}};
    const std::int64_t shown = other.event->as<DataBatch>()->step;
    for (const auto& [event, rank] : found) {
        other.ranks.push_back(rank);
        if (event->as<DataBatch>()->step == shown) other.in_step.push_back(rank);
    }
    return other;
}

namespace {

bool is_work_metric(std::string_view name) {
    const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
    if (has("per_sec") || has("/s") || has("_rate") || has("throughput") || has("evaluation")) return false;
    return has("token") || has("sequence") || has("seq_len") || has("batch_size") || has("resolution") ||
           has("micro_batches") || has("accumulation");
}

// A setting such as "sequence_length" holds from the step in which a rank tells it until it tells another.
void add_configured(const Evidence& evidence, std::int64_t from, std::int64_t to, int attempt,
                    Amounts& amounts) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::pair<Rank, std::string_view>, std::map<std::int64_t, double>> told;
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        const std::string_view name = evidence.text(config->name);
        if (!is_work_metric(name) || amounts.contains(name) || event->rank < 0 ||
            lives.attempt_at(event->at) != attempt)
            continue;
        const double number = std::strtod(std::string(evidence.text(config->value)).c_str(), nullptr);
        told[{event->rank, name}][step_at(evidence, event->rank, event->at).value_or(-1)] = number;
    }
    for (const auto& [where, steps] : told) {
        const auto last = steps.lower_bound(to);
        if (last == steps.begin()) continue;
        auto& values = amounts[where.second];
        for (auto one = steps.lower_bound(from); one != last; ++one) values.push_back(one->second);
        if (steps.lower_bound(from) == last) values.push_back(std::prev(last)->second);
    }
}

}  // namespace

Amounts amounts_between(const Evidence& evidence, std::int64_t from, std::int64_t to, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    const auto is_in_window = [&](const Event& event, std::int64_t step) {
        return event.rank >= 0 && step >= from && step < to && lives.attempt_at(event.at) == attempt;
    };
    Amounts amounts;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        const std::string_view name = evidence.text(sample->name);
        if (is_work_metric(name) && is_in_window(*event, sample->step))
            amounts[name].push_back(sample->value);
    }
    std::map<std::pair<std::int64_t, Rank>, double> read;
    for (const Event* event : evidence.each<DataBatch>()) {
        const auto* batch = event->as<DataBatch>();
        if (is_in_window(*event, batch->step)) read[{batch->step, event->rank}] += batch->count;
    }
    for (const auto& [where, count] : read) amounts["samples"].push_back(count);
    add_configured(evidence, from, to, attempt, amounts);
    return amounts;
}

}  // namespace deadrank::results::analysis

// results/analysis/samples.cpp — Batches as lists of samples, compared across restarts.
#include "results/analysis/samples.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "results/analysis/complaints.h"
#include "results/analysis/findings.h"
#include "results/analysis/lives.h"

namespace deadrank::results::analysis {

std::vector<std::int64_t> samples_of(const Evidence& evidence, const DataBatch& batch) {
    std::vector<std::int64_t> ids;
    if (batch.samples == TextId::none) {
        for (std::int32_t i = 0; i < batch.count; ++i)
            ids.push_back(batch.first + std::int64_t{i} * batch.stride);
        return ids;
    }
    std::string_view text = evidence.text(batch.samples);
    while (!text.empty()) {
        const auto end = text.find(',');
        ids.push_back(std::atoll(std::string(text.substr(0, end)).c_str()));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return ids;
}

namespace {

// Of ranks that read alike at the same place on several nodes, those that are not on the first of them. Empty
// if others do.
std::vector<Rank> beyond_the_first_node(const Lives& lives, const std::map<Rank, std::set<Rank>>& partners) {
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
    if (auto beyond = beyond_the_first_node(lives, partners); !beyond.empty()) {
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
    std::unordered_map<std::int64_t, std::map<std::int64_t, std::pair<int, std::int64_t>>> read;  // by sample
    std::set<Rank> ranks;
    const Event* shown = nullptr;
    std::string says;
    for (const Event* event : evidence.each<DataBatch>()) {
        const auto* batch = event->as<DataBatch>();
        const int attempt = lives.attempt_at(event->at);
        if (shown && (batch->step != shown->as<DataBatch>()->step || attempt != lives.attempt_at(shown->at)))
            continue;
        for (const std::int64_t id : samples_of(evidence, *batch)) {
            auto& [when, step] = read[id].try_emplace(batch->epoch, attempt, batch->step).first->second;
            // What an attempt read from the resumed step on was lost with it, and is read anew.
            const bool kept = when < attempt && step < resumed[attempt];
            if (!kept) {
                when = attempt, step = batch->step;
                continue;
            }
            if (!shown) {
                shown = event;
                says = fmt::format(
                    "sample {} of epoch {} was read in step {} before the restart and by rank {} "
                    "in step {} after it",
                    id, batch->epoch, step, event->rank, batch->step);
            }
            ranks.insert(event->rank);
            break;
        }
    }
    if (!shown) return std::nullopt;
    return ReadAgain{shown, {ranks.begin(), ranks.end()}, std::move(says)};
}

namespace {

bool tells_work(std::string_view name) {
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
        if (!tells_work(name) || amounts.contains(name) || event->rank < 0 ||
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
    const auto asked = [&](const Event& event, std::int64_t step) {
        return event.rank >= 0 && step >= from && step < to && lives.attempt_at(event.at) == attempt;
    };
    Amounts amounts;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        const std::string_view name = evidence.text(sample->name);
        if (tells_work(name) && asked(*event, sample->step)) amounts[name].push_back(sample->value);
    }
    std::map<std::pair<std::int64_t, Rank>, double> read;
    for (const Event* event : evidence.each<DataBatch>()) {
        const auto* batch = event->as<DataBatch>();
        if (asked(*event, batch->step)) read[{batch->step, event->rank}] += batch->count;
    }
    for (const auto& [where, count] : read) amounts["samples"].push_back(count);
    add_configured(evidence, from, to, attempt, amounts);
    return amounts;
}

}  // namespace deadrank::results::analysis

// results/detectors/resume_regression.cpp — Training resumed from another state than it had left. A step must
// give the same results after the interruption as before it, and what is restored must be what was saved.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "results/analysis/checkpoints.h"
#include "results/analysis/findings.h"
#include "results/analysis/samples.h"
#include "results/detectors/detector.h"
#include "results/record/event_names.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

struct Regression {
    std::vector<Rank> ranks;
    Time at = never;
    std::int64_t step = 0;
    std::string says;
    std::string shard;

    void add(Rank rank, Time when, std::int64_t number, std::string words) {
        ranks.push_back(rank);
        if (when >= at) return;
        at = when;
        step = number;
        says = std::move(words);
    }
};

bool apart(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) != std::isnan(b);
    return std::abs(a - b) > 1e-6 * std::max({1e-9, std::abs(a), std::abs(b)});
}

// The first step for which a rank read other samples than in an earlier attempt: from there on the results
// may legitimately differ.
std::int64_t first_other_samples(const Evidence& evidence, const Lives& lives) {
    std::map<std::tuple<Rank, Rank, std::int64_t>, std::pair<int, std::pair<std::int64_t, TextId>>> before;
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const Event* event : evidence.each<DataBatch>()) {
        const auto* batch = event->as<DataBatch>();
        const int attempt = lives.attempt_at(event->at);
        const std::pair read(batch->first, batch->samples);
        const auto [known, fresh] =
            before.try_emplace({lives.started(attempt), event->rank, batch->step}, attempt, read);
        if (!fresh && known->second.first != attempt && known->second.second != read)
            first = std::min(first, batch->step);
    }
    return first;
}

// A job whose checkpoints nobody sees, since it writes and reads them by itself, has steps that are counted
// from 0 again after a restart: step 0 may be the program's step 4, with another loss.
bool restarts_step_count(const Evidence& evidence, const Lives& lives) {
    if (!evidence.each<CheckpointSave>().empty() || !evidence.each<CheckpointLoad>().empty()) return false;
    const auto ends = evidence.each<StepEnd>();
    return std::any_of(ends.begin(), ends.end(), [&](const Event* event) {
        return lives.attempt_at(event->at) > 0 && event->as<StepEnd>()->step == 0;
    });
}

// Compares the same step of the same rank in two attempts.
void compare_attempts(const Evidence& evidence, Regression& found) {
    const Lives& lives = evidence.facts<Lives>();
    if (lives.attempts() < 2 || restarts_step_count(evidence, lives)) return;
    if (step_counts_are_shifted(evidence)) return;
    const std::int64_t comparable_until = first_other_samples(evidence, lives);
    // Another number of ranks trains on other samples, and gives its ranks other parts.
    std::map<std::tuple<Rank, Rank, std::int64_t>, std::pair<int, double>> losses;
    for (const Event* event : evidence.each<StepEnd>()) {
        const auto* end = event->as<StepEnd>();
        if (end->step >= comparable_until) continue;
        const int attempt = lives.attempt_at(event->at);
        const auto [before, fresh] =
            losses.try_emplace({lives.started(attempt), event->rank, end->step}, attempt, end->loss);
        if (fresh || before->second.first == attempt || !apart(before->second.second, end->loss)) continue;
        found.add(event->rank, event->at, end->step,
                  fmt::format("step {} of rank {} gave loss {} before the restart and {} after it", end->step,
                              event->rank, number_text(before->second.second, end->loss),
                              number_text(end->loss, before->second.second)));
    }
    std::map<std::tuple<Rank, Rank, std::int64_t, TextId, TextId>, std::pair<int, std::uint64_t>> digests;
    for (const Event* event : evidence.each<ParametersDigest>()) {
        const auto* digest = event->as<ParametersDigest>();
        if (digest->step >= comparable_until) continue;
        const int attempt = lives.attempt_at(event->at);
        const auto [before, fresh] = digests.try_emplace(
            {lives.started(attempt), event->rank, digest->step, digest->group, digest->name}, attempt,
            digest->digest);
        if (fresh || before->second.first == attempt || before->second.second == digest->digest) continue;
        found.add(event->rank, event->at, digest->step,
                  fmt::format("{} of rank {} after step {} had digest {} before the restart and {} after it",
                              evidence.text(digest->name), event->rank, digest->step,
                              digest_text(before->second.second), digest_text(digest->digest)));
    }
}

// A digest named "restored" must equal the one taken after that step.
void compare_restored(const Evidence& evidence, Regression& found) {
    std::map<std::int64_t, std::uint64_t> before;
    for (const Event* event : evidence.each<ParametersDigest>()) {
        const auto* digest = event->as<ParametersDigest>();
        if (evidence.text(digest->name) != DigestName::restored) {
            before.try_emplace(digest->step, digest->digest);
            continue;
        }
        const auto saved = before.find(digest->step);
        if (saved == before.end() || saved->second == digest->digest) continue;
        found.add(event->rank, event->at, digest->step,
                  fmt::format("rank {} restored {} where step {} had left {}", event->rank,
                              digest_text(digest->digest), digest->step, digest_text(saved->second)));
    }
}

// The load returned another shard's bytes, or older ones.
void compare_loads(const Evidence& evidence, Regression& found) {
    const Checkpoints& checkpoints = evidence.facts<Checkpoints>();
    for (const Event* event : evidence.each<CheckpointLoad>()) {
        const auto* load = event->as<CheckpointLoad>();
        const std::string_view path = evidence.text(load->path);
        const Event* save = checkpoints.saved(path, event->at);
        if (load->result != Code::ok || !save) continue;
        const std::uint64_t written = save->as<results::CheckpointSave>()->digest;
        if (written == load->digest || !checkpoints.ever_written(load->digest, event->at)) continue;
        if (found.shard.empty()) found.shard = path;
        found.add(
            event->rank, event->at, load->step,
            fmt::format(
                "rank {} read {} and got what had been written elsewhere or earlier (digest {}, not {})",
                event->rank, path, digest_text(load->digest), digest_text(written)));
    }
}

// The last step that any rank ended before this attempt.
std::int64_t last_ended_before(const Evidence& evidence, const Lives& lives, int attempt) {
    std::int64_t last = -1;
    for (const Event* event : evidence.each<StepEnd>()) {
        if (lives.attempt_at(event->at) < attempt) last = std::max(last, event->as<StepEnd>()->step);
    }
    return last;
}

// A save below a host's own name lies on that host's disk, which is gone where the host takes no part any
// more.
bool can_be_reached(const Evidence& evidence, const SavedStep& saved, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::set<std::string_view> hosts, present;
    for (const Event* start : evidence.each<RankStart>()) {
        const std::string_view host = evidence.text(start->as<RankStart>()->host);
        hosts.insert(host);
        if (lives.attempt_at(start->at) == attempt) present.insert(host);
    }
    return std::all_of(saved.writers.begin(), saved.writers.end(), [&](const auto& file) {
        const std::string_view root = file.first.substr(0, file.first.find('/'));
        return !hosts.contains(root) || present.contains(root);
    });
}

// The latest whole save of the attempts before, of which this one can read everything.
std::int64_t latest_saved(const Evidence& evidence, int attempt, std::int64_t below) {
    std::int64_t latest = -1;
    for (const SavedStep& saved : evidence.facts<Checkpoints>().steps()) {
        if (saved.attempt < attempt && saved.whole() && saved.step < below && saved.step > latest &&
            can_be_reached(evidence, saved, attempt))
            latest = saved.step;
    }
    return latest;
}

// Until when passes of an attempt train nothing: a rank that had not ended a step read its state then.
std::map<int, Time> when_loaded(const Evidence& evidence, const Lives& lives) {
    std::map<int, Time> loaded;
    std::set<std::pair<int, Rank>> trained;
    for (const Event& event : evidence.events()) {
        const auto* load = event.as<CheckpointLoad>();
        if (!load && !event.as<StepEnd>()) continue;
        const std::pair of{lives.attempt_at(event.at), event.rank};
        if (!load)
            trained.insert(of);
        else if (load->result == Code::ok && !trained.contains(of))
            loaded[of.first] = event.at;
    }
    return loaded;
}

// A newer complete checkpoint existed, but an older one, or none, was loaded.
void compare_steps(const Evidence& evidence, Regression& found) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::pair<int, Rank>, bool> begun;
    const std::map<int, Time> loaded = when_loaded(evidence, lives);
    std::map<int, std::pair<std::int64_t, std::int64_t>> known;  // the latest two saves, by attempt
    for (const Event* event : evidence.each<StepBegin>()) {
        const int attempt = lives.attempt_at(event->at);
        if (attempt == 0) continue;
        if (const auto load = loaded.find(attempt); load != loaded.end() && event->at < load->second)
            continue;
        if (!begun.try_emplace({attempt, event->rank}, true).second) continue;
        const auto [saves, fresh] = known.try_emplace(attempt);
        if (fresh) {
            saves->second.first = latest_saved(evidence, attempt, std::numeric_limits<std::int64_t>::max());
            saves->second.second = latest_saved(evidence, attempt, saves->second.first);
        }
        const auto [latest, before] = saves->second;
        const std::int64_t first = event->as<StepBegin>()->step;
        // If an attempt ended within its last save, its marker has not moved yet: resuming one checkpoint
        // back is right.
        if (latest < 0 || first > latest) continue;
        const bool within_the_save = last_ended_before(evidence, lives, attempt) <= latest;
        if (within_the_save && first > before) continue;
        found.add(event->rank, event->at, first,
                  fmt::format("rank {} went on with step {} though step {} was saved whole", event->rank,
                              first, latest));
    }
}

}  // namespace

Findings resume_regression(const Evidence& evidence) {
    Regression found;
    compare_loads(evidence, found);
    compare_steps(evidence, found);
    compare_restored(evidence, found);
    compare_attempts(evidence, found);
    if (found.ranks.empty()) {
        auto wrong = find_first_wrong_value(evidence, Origin::resumed);
        if (!wrong) return {};
        wrong->symptom = id_of(Symptom::resume_state_regression);
        wrong->causes = {id_of(Cause::incomplete_checkpoint_state),
                         id_of(Cause::stale_or_missing_state_update)};
        return {*wrong};
    }
    Finding finding{.symptom = id_of(Symptom::resume_state_regression),
                    .blame = blame_ranks(evidence.facts<Lives>(), found.ranks),
                    .at = found.at,
                    .says = found.says,
                    .causes = {id_of(Cause::incomplete_checkpoint_state),
                               id_of(Cause::layout_dependent_checkpoint_format),
                               id_of(Cause::stale_or_missing_state_update)}};
    finding.blame.step = found.step;
    finding.blame.shard = found.shard;
    return {finding};
}

extern const DetectorRow resume_regression_row{.name = "resume_regression",
                                               .reports = {id_of(Symptom::resume_state_regression)},
                                               .examine = resume_regression};

}  // namespace deadrank::results::detectors

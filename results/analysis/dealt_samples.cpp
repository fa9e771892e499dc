// results/analysis/dealt_samples.cpp — Compares what ranks read by its content, and says how much of it must
// agree.
#include "results/analysis/dealt_samples.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "results/analysis/lives.h"
#include "results/analysis/samples.h"

namespace deadrank::results::analysis {

std::map<Rank, Dealing> find_dealings(const Evidence& evidence, int attempt) {
    std::map<Rank, Dealing> dealings;
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        if (event->rank < 0 || evidence.text(config->name) != data_shares ||
            evidence.facts<Lives>().attempt_at(event->at) != attempt)
            continue;
        const std::string text(evidence.text(config->value));
        const auto in = text.find(" in ");
        Dealing& one = dealings[event->rank];
        one.shares = std::max(1LL, std::atoll(text.c_str()));
        if (in != text.npos) one.batches = std::atoll(text.c_str() + in + 4);
        one.shuffled = text.ends_with("shuffled");
    }
    return dealings;
}

namespace {

constexpr std::size_t private_least = 4;  // samples under several indices that are no chance
constexpr std::size_t private_part = 5;   // and at least one of so many
constexpr std::size_t doubled_part = 20;  // more contents that occur twice: contents identify nothing
constexpr std::size_t pairs_max = 100'000;

struct Batch {
    const Event* event;
    const DataBatch* what;
    std::vector<std::int64_t> indices, contents;

    bool is_stream() const { return indices == contents; }
};

std::vector<Batch> batches_of(const Evidence& evidence, int attempt) {
    std::vector<Batch> batches;
    for (const Event* event : evidence.each<DataBatch>()) {
        const auto* what = event->as<DataBatch>();
        if (event->rank < 0 || evidence.facts<Lives>().attempt_at(event->at) != attempt) continue;
        auto contents = contents_of(evidence, *what);
        if (contents.empty()) continue;
        Batch batch{event, what, samples_of(evidence, *what), std::move(contents)};
        if (batch.indices.size() == batch.contents.size()) batches.push_back(std::move(batch));
    }
    return batches;
}

// What the ranks read by themselves: contents that do not tell two samples apart, and indices that come
// again.
struct OwnReading {
    std::unordered_set<std::int64_t> doubled;
    bool contents_identify = true;
    bool draws_again = false;
};

OwnReading look_at_each_rank(const std::vector<Batch>& batches) {
    struct Read {
        std::unordered_map<std::int64_t, std::int64_t> step_of;   // by index
        std::unordered_map<std::int64_t, std::int64_t> index_of;  // by content
    };
    std::map<std::pair<Rank, std::int64_t>, Read> ranks;
    OwnReading own;
    std::size_t rows = 0, doubled = 0;
    for (const Batch& batch : batches) {
        Read& read = ranks[{batch.event->rank, batch.what->epoch}];
        for (std::size_t i = 0; i < batch.indices.size(); ++i, ++rows) {
            const std::int64_t index = batch.indices[i], content = batch.contents[i];
            if (!batch.is_stream())
                own.draws_again |= !read.step_of.try_emplace(index, batch.what->step).second;
            const auto [known, fresh] = read.index_of.try_emplace(content, index);
            if (fresh || (known->second == index && !batch.is_stream())) continue;
            own.doubled.insert(content);
            ++doubled;
        }
    }
    own.contents_identify = doubled * doubled_part <= rows;
    return own;
}

struct Reader {
    Rank rank, replica;
    std::int64_t step, index;
};

// One of the three ways to find out that ranks share samples: each has its own pairs of ranks.
struct Evidenced {
    std::map<Rank, std::set<Rank>> partners;
    std::size_t pairs = 0;

    void add(Rank one, Rank other) {
        if (one == other || pairs > pairs_max) return;
        partners[one].insert(other);
        partners[other].insert(one);
        ++pairs;
    }
};

class Comparison {
public:
    Comparison(const Evidence& evidence, int attempt, const std::vector<Rank>& replicas)
        : evidence_(evidence),
          dealings_(find_dealings(evidence, attempt)),
          world_(evidence.facts<Lives>().started(attempt)),
          replicas_(replicas),
          batches_(batches_of(evidence, attempt)),
          own_(look_at_each_rank(batches_)) {}

    SharedSamples find() {
        if (batches_.empty() || own_.draws_again) return {};
        for (const Batch& batch : batches_) {
            if (found_.first && batch.what->step > found_.first->as<DataBatch>()->step) continue;
            const auto dealing = dealings_.find(batch.event->rank);
            if (dealing == dealings_.end()) continue;
            if (dealing->second.shares == 1) {
                look_at_undealt(batch);
            } else if (batch.is_stream()) {
                look_at_stream(batch, readers_of_share(dealing->second));
            } else {
                look_at_indexed(batch, readers_of_share(dealing->second));
            }
        }
        if (!found_.first) return {};
        found_.partners = shown_->partners;
        return std::move(found_);
    }

private:
    std::size_t readers_of_share(const Dealing& dealing) const {
        return static_cast<std::size_t>(std::max<std::int64_t>(1, world_ / dealing.shares));
    }

    Rank replica_of(Rank rank) const { return replicas_[static_cast<std::size_t>(rank)]; }

    void report(const Batch& batch, const Evidenced& shown, std::string says) {
        if (found_.first) return;
        found_.first = batch.event;
        found_.says = std::move(says);
        shown_ = &shown;
    }

    // "sample 12 of epoch 0 was read by rank 0 in step 3 and by rank 1 in step 4"
    std::string describe(const Batch& batch, std::int64_t index, const Reader& other) const {
        const std::string which =
            batch.is_stream() ? std::string("a sample") : fmt::format("sample {}", index);
        return fmt::format("{} of epoch {} was read by rank {} in step {} and by rank {} in step {}", which,
                           batch.what->epoch, other.rank, other.step, batch.event->rank, batch.what->step);
    }

    static std::size_t count_replicas(const std::vector<Reader>& readers) {
        std::set<Rank> replicas;
        for (const Reader& one : readers) replicas.insert(one.replica);
        return replicas.size();
    }

    void look_at_indexed(const Batch& batch, std::size_t allowed) {
        const Rank rank = batch.event->rank;
        for (std::size_t i = 0; i < batch.indices.size(); ++i) {
            ++rows_[rank];
            if (own_.doubled.contains(batch.contents[i])) continue;
            const std::int64_t index = batch.indices[i];
            auto& all = readers_[{batch.what->epoch, batch.contents[i]}];
            std::vector<Reader> same, others;
            for (const Reader& one : all) {
                if (one.replica == replica_of(rank)) continue;
                (one.index == index ? same : others).push_back(one);
            }
            all.push_back({rank, replica_of(rank), batch.what->step, index});
            if (count_replicas(same) >= allowed) {
                for (const Reader& one : same) exact_.add(rank, one.rank);
                report(batch, exact_, describe(batch, index, same.front()));
            }
            if (!own_.contents_identify || count_replicas(others) < allowed) continue;
            for (const Reader& one : others) {
                private_.add(rank, one.rank);
                ++renumbered_[one.rank];
            }
            const std::size_t count = ++renumbered_[rank];
            if (count >= private_least && count * private_part >= rows_[rank])
                report(batch, private_, describe(batch, index, others.front()));
        }
    }

    void look_at_stream(const Batch& batch, std::size_t allowed) {
        if (!own_.contents_identify) return;
        const Rank rank = batch.event->rank;
        std::size_t shared = 0;
        std::vector<Reader> with;
        for (const std::int64_t content : batch.contents) {
            if (own_.doubled.contains(content)) continue;
            auto& all = readers_[{batch.what->step, content}];
            std::vector<Reader> others;
            for (const Reader& one : all)
                if (one.replica != replica_of(rank)) others.push_back(one);
            all.push_back({rank, replica_of(rank), batch.what->step, content});
            if (count_replicas(others) < allowed) continue;
            ++shared;
            with.insert(with.end(), others.begin(), others.end());
        }
        if (shared * 2 < batch.contents.size() || with.empty()) return;
        for (const Reader& one : with) exact_.add(rank, one.rank);
        if ((renumbered_[rank] += shared) > 1) report(batch, exact_, describe(batch, 0, with.front()));
    }

    void look_at_undealt(const Batch& batch) {
        if (!own_.contents_identify || batch.contents.size() < 2) return;
        const Rank rank = batch.event->rank;
        auto& all = whole_[{batch.what->step, batch.contents}];
        std::vector<Reader> others;
        for (const Reader& one : all)
            if (one.replica != replica_of(rank)) others.push_back(one);
        all.push_back({rank, replica_of(rank), batch.what->step, batch.indices.front()});
        if (others.empty()) return;
        for (const Reader& one : others) exact_.add(rank, one.rank);
        steps_.insert(batch.what->step);
        if (steps_.size() > 1)
            report(
                batch, exact_,
                fmt::format("ranks {} and {} {}read the same samples in step {}", others.front().rank, rank,
                            dealings_.at(rank).shuffled ? "shuffle alike, and " : "", batch.what->step));
    }

    const Evidence& evidence_;
    std::map<Rank, Dealing> dealings_;
    Rank world_;
    const std::vector<Rank>& replicas_;
    std::vector<Batch> batches_;
    OwnReading own_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Reader>>
        readers_;  // by epoch or step, and content
    std::map<std::pair<std::int64_t, std::vector<std::int64_t>>, std::vector<Reader>> whole_;
    std::map<Rank, std::size_t> rows_, renumbered_;
    std::set<std::int64_t> steps_;
    Evidenced exact_, private_;
    const Evidenced* shown_ = nullptr;
    SharedSamples found_;
};

}  // namespace

SharedSamples find_shared_samples(const Evidence& evidence, int attempt, const std::vector<Rank>& replicas) {
    return Comparison(evidence, attempt, replicas).find();
}

namespace {

// Batches of one rank, by step, of one attempt.
std::map<std::int64_t, std::int64_t> batches_by_step(const Evidence& evidence, int attempt, Rank rank,
                                                     std::int64_t epoch) {
    std::map<std::int64_t, std::int64_t> steps;
    for (const Event* event : evidence.each<DataBatch>()) {
        const auto* what = event->as<DataBatch>();
        const bool counts = event->rank == rank && (epoch < 0 || what->epoch == epoch);
        if (counts && evidence.facts<Lives>().attempt_at(event->at) == attempt) ++steps[what->step];
    }
    return steps;
}

}  // namespace

std::map<int, std::int64_t> find_first_epochs(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<int, std::int64_t> epochs = {{0, 0}};
    const auto dealings = find_dealings(evidence, 0);
    if (dealings.empty()) return epochs;
    const auto& [rank, dealing] = *dealings.begin();
    std::vector<std::int64_t> counts;
    for (const auto& [step, count] : batches_by_step(evidence, 0, rank, -1)) counts.push_back(count);
    const std::int64_t a_step = counts.empty() ? 0 : median(counts);
    for (int attempt = 1; attempt < lives.attempts(); ++attempt) {
        const auto steps = batches_by_step(evidence, attempt, rank, 0);
        if (steps.empty() || a_step == 0) continue;
        const std::int64_t read =
            steps.begin()->first * a_step;  // before this attempt, had nothing been lost
        std::int64_t here = 0;
        for (const auto& [step, count] : steps) here += count;
        if (dealing.batches > 0) {
            epochs[attempt] = read / dealing.batches;
        } else if (here > read) {  // an epoch has more batches than were read before: it was the first one
            epochs[attempt] = 0;
        }
    }
    return epochs;
}

}  // namespace deadrank::results::analysis

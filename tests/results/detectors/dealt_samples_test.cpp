// tests/results/detectors/dealt_samples_test.cpp — Goal: whatever loader deals samples out, two ranks that
// read one sample are named by what the sample holds; ranks that may read alike, and numbers of a rank's own,
// are left alone.
#include "results/analysis/dealt_samples.h"

#include <functional>
#include <string>

#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

using Content = std::function<std::int64_t(Rank, std::int64_t)>;  // of a rank's sample with that index

std::int64_t of_all(Rank, std::int64_t index) { return 1000 + index; }
std::int64_t of_the_rank(Rank rank, std::int64_t index) { return 1000 * (rank + 1) + index; }

struct Loader {
    std::string shares = "4 in 4";
    Content content = of_all;
};

void begins(EvidenceBuilder& job, const Loader& loader) {
    for (const Rank rank : job.everybody())
        job.add(rank, RankConfig{job.text("data.shares"), job.text(loader.shares)});
}

void reads(EvidenceBuilder& job, const Loader& loader, Rank rank, std::int64_t step, std::int64_t epoch,
           const std::vector<std::int64_t>& indices) {
    std::string samples;
    for (const std::int64_t index : indices)
        samples += fmt::format("{}{}:{}", samples.empty() ? "" : ",", index, loader.content(rank, index));
    job.add(rank, DataBatch{step, epoch, indices.front(), static_cast<std::int32_t>(indices.size()), 1,
                            job.text(samples)});
}

// Four ranks read two samples each in two steps. `first`: the index with which a rank begins.
Evidence job_of(const Loader& loader, const std::function<std::int64_t(Rank)>& first) {
    EvidenceBuilder job(4);
    job.start();
    begins(job, loader);
    for (std::int64_t step = 0; step < 2; ++step)
        for (const Rank rank : job.everybody())
            reads(job, loader, rank, step, 0, {first(rank) + 2 * step, first(rank) + 2 * step + 1});
    return job.watched();
}

std::int64_t own_share(Rank rank) { return 4 * rank; }
std::int64_t share_of_rank_2(Rank rank) { return 4 * (rank == 3 ? 2 : rank); }

TEST(DealtSamples, NamesRanksThatTookOneShare) {
    expect_silence_of("sample_coverage", job_of({}, own_share));
    const Finding found = found_by("sample_coverage", job_of({}, share_of_rank_2));
    EXPECT_EQ(found.blame.ranks, ranks({2, 3}));
    EXPECT_EQ(found.blame.step, 0);
}

TEST(DealtSamples, LeavesIndicesAloneThatAreTheRanksOwn) {
    expect_silence_of("sample_coverage", job_of({.content = of_the_rank}, [](Rank) { return 0; }));
}

TEST(DealtSamples, LetAsManyRanksReadASampleAsAShareHas) {
    const auto in_pairs = [](Rank rank) -> std::int64_t { return 4 * (rank / 2); };
    expect_silence_of("sample_coverage", job_of({.shares = "2 in 4"}, in_pairs));
    EXPECT_EQ(found_by("sample_coverage", job_of({.shares = "4 in 4"}, in_pairs)).blame.ranks,
              ranks({0, 1, 2, 3}));
}

// The same of torch's own sampler, whose indices are those of the whole data.
TEST(DealtSamples, LetAsManyRanksReadAnIndexAsAShareHas) {
    const auto dealt = [](std::int64_t shares) {
        EvidenceBuilder job(4);
        job.start();
        begins(job, {.shares = fmt::format("{} in 0", shares)});
        for (const Rank rank : job.everybody())
            job.add(rank, DataBatch{0, 0, rank / 2 * 2, 2, 1, TextId::none});
        return job.watched();
    };
    expect_silence_of("sample_coverage", dealt(2));
    EXPECT_EQ(found_by("sample_coverage", dealt(4)).blame.ranks, ranks({0, 1, 2, 3}));
}

TEST(DealtSamples, TakeContentsThatEverySampleHasForNoProof) {
    const Content same = [](Rank, std::int64_t) { return std::int64_t{7}; };
    expect_silence_of("sample_coverage", job_of({.content = same}, share_of_rank_2));
}

// The indices of a rank's own table begin at 0. Ranks 2 and 3 hold the same table.
TEST(DealtSamples, AreFoundUnderOtherIndices) {
    const auto table = [](Rank rank, std::int64_t index) {
        return 1000 * std::min<Rank>(rank, 2) + index % 100;
    };
    const auto numbered = [](Rank rank) -> std::int64_t { return rank == 3 ? 100 : 0; };
    EXPECT_EQ(found_by("sample_coverage", job_of({.content = table}, numbered)).blame.ranks, ranks({2, 3}));
}

TEST(DealtSamples, OfALoaderThatDrawsASampleAgainAreNobodysShare) {
    EvidenceBuilder job(4);
    job.start();
    begins(job, {});
    for (std::int64_t step = 0; step < 2; ++step)
        for (const Rank rank : job.everybody()) reads(job, {}, rank, step, 0, {rank / 2, 10 + rank});
    expect_silence_of("sample_coverage", job.watched());
}

// Without indices, a sample in another step may be the stream's next round.
TEST(DealtSamples, OfAStreamAreComparedInOneStep) {
    const auto streams = [](std::int64_t behind) {
        EvidenceBuilder job(2);
        job.start();
        begins(job, {.shares = "2 in 0"});
        const Loader stream{.content = [](Rank, std::int64_t index) { return index; }};
        for (std::int64_t step = 0; step < 4; ++step)
            for (const Rank rank : job.everybody()) {
                const std::int64_t at = 500 + 2 * (step + rank * behind);
                reads(job, stream, rank, step, 0, {at, at + 1});
            }
        return job.watched();
    };
    expect_silence_of("sample_coverage", streams(2));
    EXPECT_EQ(found_by("sample_coverage", streams(0)).blame.ranks, ranks({0, 1}));
}

// Nothing is dealt out: one batch that is alike may be chance, as may be samples in another order.
TEST(DealtSamples, ThatAllRanksShuffleAlikeAreFoundInTwoSteps) {
    const auto shuffled = [](std::int64_t alike) {
        EvidenceBuilder job(2);
        job.start();
        begins(job, {.shares = "1 in 8, shuffled"});
        for (std::int64_t step = 0; step < 4; ++step) {
            reads(job, {}, 0, step, 0, {2 * step, 2 * step + 1});
            reads(job, {}, 1, step, 0,
                  step < alike ? std::vector{2 * step, 2 * step + 1} : std::vector{2 * step + 1, 2 * step});
        }
        return job.watched();
    };
    expect_silence_of("sample_coverage", shuffled(1));
    EXPECT_EQ(found_by("sample_coverage", shuffled(2)).blame.step, 1);
}

// Two ranks read six batches of their share, resume at step 4, and begin with that batch of the share.
Evidence resumed_with(std::int64_t batch, const std::string& shares, std::int64_t batches) {
    EvidenceBuilder job(2);
    job.start();
    begins(job, {.shares = shares});
    const auto read = [&](std::int64_t step, std::int64_t which) {
        for (const Rank rank : job.everybody())
            reads(job, {}, rank, step, 0, {4 * which + 2 * rank, 4 * which + 2 * rank + 1});
    };
    for (std::int64_t step = 0; step < 4; ++step) read(step, step);
    job.after(10s).add(no_rank, Restart{1, job.text("a node was lost")});
    for (const Rank rank : job.everybody()) job.start(rank, job.environment(rank));
    begins(job, {.shares = shares});
    for (std::int64_t step = 4; step < 4 + batches; ++step) read(step, batch + step - 4);
    return job.watched();
}

TEST(DealtSamples, ReadAgainAfterARestartAreFoundInTheSameEpochAlone) {
    expect_silence_of("sample_coverage", resumed_with(4, "2 in 8", 4));
    EXPECT_EQ(found_by("sample_coverage", resumed_with(0, "2 in 8", 2)).blame.step, 4);
    expect_silence_of("sample_coverage", resumed_with(0, "2 in 4", 4));  // step 4 begins the second epoch
    // How long an epoch is, is not known: one that has more batches than were read before was the first.
    expect_silence_of("sample_coverage", resumed_with(0, "2 in 0", 4));
    EXPECT_EQ(found_by("sample_coverage", resumed_with(0, "2 in 0", 5)).blame.step, 4);
}

}  // namespace
}  // namespace deadrank::tests

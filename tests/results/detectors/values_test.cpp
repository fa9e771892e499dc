// tests/results/detectors/values_test.cpp — Goal: a wrong number is found at the first step that shows it,
// and belongs to the rank that made it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "results/diagnosis/clue.h"
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

constexpr double unknown_origin = std::numeric_limits<double>::quiet_NaN();

void holds(EvidenceBuilder& job, Rank rank, std::int64_t offset, std::int64_t length, std::int64_t total) {
    job.add(rank, ShardLayout{job.text("flat"), offset, length, total});
}

TEST(ShardMismatch, NamesTheRankWhosePartLiesElsewhere) {
    for (const Rank shifted : {0, 2, 3}) {
        EvidenceBuilder job(4);
        job.start();
        for (Rank rank = 0; rank < 4; ++rank) holds(job, rank, rank * 8 + (rank == shifted ? 1 : 0), 8, 32);
        const Finding found = found_by("shard_mismatch", job.watched());
        EXPECT_EQ(found.blame.ranks, ranks({shifted}));
        EXPECT_EQ(found.blame.shard, "flat");
    }
}

TEST(ShardMismatch, SpeaksOfAnswersWhereAModelIsServed) {
    for (const bool serves : {false, true}) {
        EvidenceBuilder job(2);
        job.start();
        holds(job, 0, 0, 8, 16);
        holds(job, 1, 0, 8, 16);
        if (serves) job.add(0, ServeOutput{1, 77, 4, 1});
        EXPECT_EQ(found_by("shard_mismatch", job.watched()).symptom,
                  serves ? "inference_output_inconsistency_across_devices" : "parallel_result_mismatch");
    }
}

TEST(ShardMismatch, NamesTheRankWhosePartIsCutOffAtTheEnd) {
    EvidenceBuilder job(4);
    job.start();
    for (Rank rank = 0; rank < 4; ++rank)
        holds(job, rank, rank * 8 + (rank == 3 ? 1 : 0), rank == 3 ? 7 : 8, 32);
    EXPECT_EQ(found_by("shard_mismatch", job.watched()).blame.ranks, ranks({3}));
}

TEST(ShardMismatch, FindsTheOddCopyAmongReplicas) {
    EvidenceBuilder job(8);
    job.start();
    for (Rank rank = 0; rank < 8; ++rank) holds(job, rank, (rank % 4) * 2 + (rank == 6 ? 1 : 0), 2, 8);
    EXPECT_EQ(found_by("shard_mismatch", job.watched()).blame.ranks, ranks({6}));
}

TEST(ShardMismatch, FindsAWholePartTakenTwice) {
    EvidenceBuilder job(4);
    job.start();
    for (Rank rank = 0; rank < 4; ++rank) holds(job, rank, (rank == 2 ? 1 : rank) * 2, 2, 8);
    EXPECT_EQ(found_by("shard_mismatch", job.watched()).blame.ranks, ranks({2}));
}

void digests(EvidenceBuilder& job, std::int64_t step, const std::vector<std::uint64_t>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        job.add(static_cast<Rank>(i),
                ParametersDigest{step, values[i], job.text("dp:0"), job.text("parameters")});
    }
}

TEST(ReplicaDivergence, NamesTheOddOneAtTheFirstStepThatDiffers) {
    EvidenceBuilder job(4);
    job.start();
    digests(job, 0, {1, 1, 1, 1});
    job.after(1s);
    digests(job, 1, {2, 2, 9, 2});
    job.after(1s);
    digests(job, 2, {3, 4, 5, 6});
    const Finding found = found_by("replica_divergence", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({2}));
    EXPECT_EQ(found.blame.step, 1);
    EXPECT_EQ(found.at, 1s);
}

TEST(ReplicaDivergence, OfAPairBlamesBoth) {
    EvidenceBuilder job(2);
    job.start();
    digests(job, 0, {1, 2});
    EXPECT_EQ(found_by("replica_divergence", job.watched()).blame.ranks, ranks({0, 1}));
}

void loss(EvidenceBuilder& job, std::int64_t step, double value) {
    for (const Rank rank : job.everybody()) job.add(rank, StepEnd{step, value, 1.0});
    job.after(1s);
}

TEST(LossAnomaly, SeesWhatIsNoNumber) {
    EvidenceBuilder job(4);
    job.start();
    loss(job, 0, 2);
    job.add(2, ValueSample{1, job.text("gradient.local"), std::numeric_limits<double>::infinity(),
                           unknown_origin});
    loss(job, 1, std::nan(""));
    const Finding found = found_by("loss_anomaly", job.watched());
    EXPECT_EQ(found.blame.step, 1);
    EXPECT_EQ(found.blame.ranks, ranks({2})) << "its own quantity was the first that was no number";
}

TEST(LossAnomaly, SeesAJumpAndAFallToZero) {
    EvidenceBuilder jump(1);
    for (std::int64_t step = 0; step < 5; ++step) loss(jump, step, 2);
    loss(jump, 5, 500);
    EXPECT_EQ(found_by("loss_anomaly", jump.watched()).blame.step, 5);

    EvidenceBuilder zero(1);
    loss(zero, 0, 2);
    for (std::int64_t step = 1; step < 4; ++step) loss(zero, step, 0);
    EXPECT_EQ(found_by("loss_anomaly", zero.watched()).blame.step, 3);
}

// A loss that is printed in steps of `grain` and falls by a fifth each step from `first`, with some noise.
EvidenceBuilder falling_loss(double first, double grain, std::int64_t steps) {
    EvidenceBuilder job(1);
    double size = first;
    for (std::int64_t step = 0; step < steps; ++step, size *= 0.8)
        loss(job, step, std::floor(size * (step % 3 == 0 ? 1.4 : 1.0) / grain) * grain);
    return job;
}

TEST(LossAnomaly, IsSilentOnALossThatComesDownToZero) {
    expect_silence_of("loss_anomaly", falling_loss(0.3, 0x1p-16, 80).watched());
    expect_silence_of("loss_anomaly", falling_loss(7, 0.0001, 80).watched());  // four digits, as many print
}

TEST(LossAnomaly, SeesAFallToZeroFromALossThatWasComingDown) {
    EvidenceBuilder fine_digits = falling_loss(7, 0.0001, 20);  // 0.1 is left of it, and shows in full
    for (std::int64_t step = 20; step < 24; ++step) loss(fine_digits, step, 0);
    EXPECT_EQ(found_by("loss_anomaly", fine_digits.watched()).blame.step, 22);

    EvidenceBuilder coarse(1);  // two digits show, and the loss is hardly smaller than at first
    for (std::int64_t step = 0; step < 9; ++step) loss(coarse, step, 2.3 - 0.1 * static_cast<double>(step));
    for (std::int64_t step = 9; step < 13; ++step) loss(coarse, step, 0);
    EXPECT_EQ(found_by("loss_anomaly", coarse.watched()).blame.step, 11);
}

TEST(LossAnomaly, IsSilentOnALossThatWanders) {
    EvidenceBuilder job(1);
    for (const double value : {2.0, 9.0, 1.5, 20.0, 0.0, 0.0, 3.0})
        loss(job, static_cast<std::int64_t>(value), value);
    expect_silence_of("loss_anomaly", job.watched());
}

TEST(ValueWrong, NamesTheQuantityTheRankAndTheStep) {
    EvidenceBuilder job(2);
    job.start().add(0, ValueSample{4, job.text("learning_rate"), 0.01, 0.01});
    job.add(1, ValueSample{4, job.text("learning_rate"), 0.02, 0.01});
    const Evidence evidence = job.watched();
    const Finding found = found_by("value_wrong", evidence);
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.blame.variable, "learning_rate");
    EXPECT_EQ(found.blame.step, 4);
    expect_silence_of("parallel_mismatch", evidence);
}

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

void rate(EvidenceBuilder& job, Rank rank, std::int64_t step, double value) {
    job.add(rank, ValueSample{step, job.text("learning_rate"), value, unknown});
}

// Goal: without a right answer beside it a rate is wrong where a rank leaves its peers, from that step on.
TEST(ValueWrong, SeesARankThatLeavesItsPeersRate) {
    EvidenceBuilder job(4);
    job.start();
    for (const Rank rank : {0, 1, 2, 3}) rate(job, rank, 0, 0.01);
    for (const Rank rank : {0, 1, 2, 3}) rate(job, rank, 1, rank == 2 ? 0.0097 : 0.01);
    const Finding found = found_by("value_wrong", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({2}));
    EXPECT_EQ(found.blame.step, 1);
}

TEST(ValueWrong, LeavesASchedulesAndParameterGroupsAlone) {
    EvidenceBuilder moving(2), groups(2);
    moving.start();
    groups.start();
    for (const std::int64_t step : {0, 1, 2, 3}) {
        for (const Rank rank : {0, 1}) rate(moving, rank, step, 0.01 / static_cast<double>(step + 1));
        for (const Rank rank : {0, 1}) rate(groups, rank, step, rank == 0 ? 0.01 : 0.02);
    }
    expect_silence_of("value_wrong", moving.watched());
    expect_silence_of("value_wrong", groups.watched());
}

TEST(ValueWrong, HoldsAConstantAgainstThePrintedConfiguration) {
    struct Configured {
        const char *name, *value;
        bool alike;
    };
    for (const auto& [name, value, alike] :
         {Configured{"learning_rate_ppb", "10000000", true},
          Configured{"learning_rate_ppb", "100000000", false}, Configured{"learning_rate", "0.01", true},
          Configured{"learning_rate", "0.1", false}}) {
        EvidenceBuilder job(2);
        job.start();
        for (const Rank rank : {0, 1}) job.add(rank, RankConfig{job.text(name), job.text(value)});
        for (const std::int64_t step : {0, 1, 2, 3}) {
            for (const Rank rank : {0, 1}) rate(job, rank, step, 0.01);
        }
        if (alike)
            expect_silence_of("value_wrong", job.watched());
        else
            EXPECT_EQ(found_by("value_wrong", job.watched()).blame.ranks, ranks({0, 1}));
    }
}

// Goal: one seed on ranks with different samples is one mask for all of them; shards of one replica share it
// by right.
TEST(ValueWrong, SeesSeedsThatCoincide) {
    for (const bool apart : {true, false}) {
        EvidenceBuilder job(2);
        job.start();
        for (const Rank rank : {0, 1}) {
            DataBatch batch{0, 0, apart ? rank * 2 : 0, 2, 1, TextId::none};
            job.add(rank, batch);
            job.add(rank, ValueSample{0, job.text("dropout.seed"), 1234, unknown});
        }
        if (apart)
            EXPECT_EQ(found_by("value_wrong", job.watched()).blame.ranks, ranks({0, 1}));
        else
            expect_silence_of("value_wrong", job.watched());
    }
}

TEST(ParallelMismatch, ComparesWithTheReference) {
    EvidenceBuilder job(2);
    job.start().add(0, ValueSample{4, job.text("reference.loss"), 1.25, 1.0});
    const Evidence evidence = job.watched();
    EXPECT_EQ(found_by("parallel_mismatch", evidence).blame.step, 4);
    expect_silence_of("value_wrong", evidence);
}

TEST(ParallelMismatch, LeavesWhatIsWrongByDefinitionToItsDetector) {
    EvidenceBuilder job(1);
    job.start().add(0, ValueSample{4, job.text("reference.loss"), 1.25, 1.0});
    job.add(0, ValueSample{4, job.text("learning_rate"), 2, 1});
    expect_silence_of("parallel_mismatch", job.watched());
}

// A float of which one bit was flipped, as a program prints it; and numbers that differ by one bit for other
// reasons: round ones, a factor of two, the last digits.
TEST(ValueClues, KnowABitOfAFloat) {
    const auto one_bit = [](double value, double right) {
        EvidenceBuilder job(2);
        job.start().add(1, ValueSample{3, job.text("gradient.reduced"), value, right});
        results::diagnosis::Clues clues;
        results::diagnosis::value_clues(job.watched(), Finding{.symptom = "wrong_intermediate_value"}, clues);
        return std::any_of(clues.begin(), clues.end(),
                           [](const auto& clue) { return clue.id == "off_by_one_bit"; });
    };
    static constexpr float right = 0.67694306F;
    const auto flipped = [](int bit) {
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(right) ^ (std::uint32_t{1} << bit));
    };
    for (const int bit : {18, 22, 29, 30}) EXPECT_TRUE(one_bit(flipped(bit), right)) << bit;
    EXPECT_TRUE(one_bit(4096 + 71.25, 71.25));
    for (const int bit : {0, 3, 31}) EXPECT_FALSE(one_bit(flipped(bit), right)) << bit;
    EXPECT_FALSE(one_bit(3, 2));
    EXPECT_FALSE(one_bit(right * 2, right));
    EXPECT_FALSE(one_bit(0.9, right));
}

TEST(LoadingFailure, SeesWeightsThatNeverReachedTheModel) {
    EvidenceBuilder job(2);
    job.start().add(1, ValueSample{0, job.text("weights.checksum"), 5, 7});
    EXPECT_EQ(found_by("loading_failure", job.watched()).blame.ranks, ranks({1}));
}

TEST(LoadingFailure, NamesWhoDidNotFindTheFile) {
    EvidenceBuilder job(2);
    job.start().log(
        1,
        "Traceback (most recent call last):\nFileNotFoundError: [Errno 2] No such file: '/data/model.bin'");
    EXPECT_EQ(found_by("loading_failure", job.watched()).blame.ranks, ranks({1}));
}

TEST(LoadingFailure, LeavesACheckpointToThoseWhoKnowCheckpoints) {
    EvidenceBuilder job(2);
    job.start().add(
        1, CheckpointLoad{.step = 5, .path = job.text("step5/shard1of2.pt"), .result = Code::not_found});
    job.log(1, "FileNotFoundError: [Errno 2] No such file or directory: 'step5/shard1of2.pt'");
    expect_silence_of("loading_failure", job.watched());
}

TEST(InferenceInconsistency, NamesTheOddAnswerAndLogitsThatAreNoNumbers) {
    EvidenceBuilder job(4);
    job.start();
    for (Rank rank = 0; rank < 4; ++rank) job.add(rank, ServeOutput{7, rank == 3 ? 2u : 1u, 4, 1});
    EXPECT_EQ(found_by("inference_inconsistency", job.watched()).blame.ranks, ranks({3}));

    EvidenceBuilder bad(2);
    bad.start().add(0, ServeOutput{7, 1, 4, 1}).add(1, ServeOutput{8, 1, 4, 0});
    EXPECT_EQ(found_by("inference_inconsistency", bad.watched()).blame.ranks, ranks({1}));
}

TEST(InferenceInconsistency, ComparesWithOneDevice) {
    EvidenceBuilder job(2);
    job.start().add(0, ValueSample{3, job.text("reference.token"), 17, 18});
    const Evidence evidence = job.watched();
    EXPECT_EQ(found_by("inference_inconsistency", evidence).blame.step, 3);
    expect_silence_of("parallel_mismatch", evidence);
}

void reads(EvidenceBuilder& job, Rank rank, std::int64_t step, std::int64_t epoch,
           const std::string& samples) {
    const auto count = 1 + std::count(samples.begin(), samples.end(), ',');
    job.add(rank, DataBatch{step, epoch, 0, static_cast<std::int32_t>(count), 1, job.text(samples)});
}

TEST(SampleCoverage, NamesTwoRanksThatReadTheSame) {
    EvidenceBuilder job(4);
    job.start();
    for (Rank rank = 0; rank < 4; ++rank)
        reads(job, rank, 0, 0, rank == 3 ? "4,5" : fmt::format("{},{}", rank * 2, rank * 2 + 1));
    const Finding found = found_by("sample_coverage", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({2, 3}));
    EXPECT_EQ(found.blame.step, 0);
}

TEST(SampleCoverage, NamesTheOneWhoOverlapsWithMany) {
    EvidenceBuilder job(4);
    job.start();
    reads(job, 0, 0, 0, "0,1");
    reads(job, 1, 0, 0, "2,3");
    reads(job, 2, 0, 0, "4,5");
    reads(job, 3, 0, 0, "1,4");  // another seed
    EXPECT_EQ(found_by("sample_coverage", job.watched()).blame.ranks, ranks({3}));
}

// Nobody stands out, whoever read first.
// Goal: a batch may be dropped at the end of each epoch; the second one that is missing was left out.
TEST(SampleCoverage, AllowsOneStepLessForEachEpoch) {
    const auto ended = [](std::int64_t steps, std::int64_t epochs) {
        EvidenceBuilder job(2);
        job.start();
        for (const Rank rank : {0, 1}) job.add(rank, RankConfig{job.text("steps"), job.text("20")});
        for (std::int64_t step = 0; step < steps; ++step) {
            for (const Rank rank : {0, 1}) {
                job.add(rank, DataBatch{step, step * epochs / 20, (step * 2 + rank) * 4, 4, 1});
                job.add(rank, StepEnd{step, 2, 1});
            }
        }
        job.exits(0, 0).exits(1, 0).add(no_rank, JobStop{});
        return job.watched();
    };
    expect_silence_of("sample_coverage", ended(19, 1));
    expect_silence_of("sample_coverage", ended(18, 2));
    const Finding left_out = found_by("sample_coverage", ended(18, 1));
    EXPECT_EQ(left_out.blame.step, 17);
    EXPECT_NE(left_out.says.find("18 of 20 configured steps"), std::string::npos) << left_out.says;
}

TEST(SampleCoverage, NamesAllWhereAllReadTheSame) {
    EvidenceBuilder job(4);
    job.start();
    for (const Rank rank : {2, 0, 3, 1}) reads(job, rank, 0, 0, "0,1");
    EXPECT_EQ(found_by("sample_coverage", job.watched()).blame.ranks, ranks({0, 1, 2, 3}));
}

TEST(SampleCoverage, LetsRanksOfOneModelReadTheSame) {
    EvidenceBuilder job(4);
    job.start().comm(2, "tp", {0, 1}).comm(3, "tp", {2, 3});
    for (Rank rank = 0; rank < 4; ++rank) reads(job, rank, 0, 0, rank < 2 ? "0,1" : "2,3");
    expect_silence_of("sample_coverage", job.watched());
}

TEST(SampleCoverage, SeesTheSameOrderInEveryEpochAndALostPosition) {
    EvidenceBuilder order(1);
    order.start();
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) reads(order, 0, epoch, epoch, "5,2,9");
    EXPECT_EQ(found_by("sample_coverage", order.watched()).blame.step, 1);

    EvidenceBuilder position(1);
    position.start();
    reads(position, 0, 0, 0, "5,2");
    reads(position, 0, 1, 0, "7,1");
    position.after(1s).add(no_rank, Restart{1}).after(1s).start();
    reads(position, 0, 1, 0, "3,8");
    EXPECT_EQ(found_by("sample_coverage", position.watched()).blame.step, 1);
}

}  // namespace
}  // namespace deadrank::tests

// tests/results/detectors/healthy_test.cpp — Goal: no detector rings on a healthy job, however noisy: a slow
// first step, jitter, ranks that end at other times, stages of a pipeline, uneven parts that were declared, a
// restart that went well.
#include <cmath>
#include <set>

#include "results/detectors/detector.h"
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

void expect_all_silent(const Evidence& evidence) {
    for (const auto& detector : all_detectors()) {
        for (const Finding& finding : detector->examine(evidence)) {
            ADD_FAILURE() << finding.detector << " rang: " << finding.symptom << ", " << finding.says;
        }
    }
}

// A few percent, different for every rank and step.
Time jitter(Rank rank, std::int64_t step) {
    return std::chrono::microseconds((rank * 7919 + step * 104729) % 4000);
}

void noisy_steps(EvidenceBuilder& job, std::int64_t from, std::int64_t until) {
    for (std::int64_t step = from; step < until; ++step) {
        for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
        const Time compute = step == from ? 900ms : 100ms;  // caches are cold
        for (const Rank rank : job.everybody()) {
            job.add(rank, MemorySample{40'000'000'000 + rank * 1'000'000, 85'000'000'000, 1'000'000'000,
                                       500'000'000'000});
            job.add(rank, DeviceSample{1980, 60, 500, 90, 0, 2, 0});
            job.add(rank, DataBatch{step, 0, (step * 8 + rank) * 2, 2, 1});
            job.add(rank, ValueSample{step, job.text("learning_rate"), 0.01, 0.01 + 1e-10});
            job.add(rank, ValueSample{step, job.text("loss_scale"), 64, std::nan("")});
        }
        job.after(compute);
        // Two buckets, then the loss: everybody comes a little later than the one before.
        for (const std::int64_t call : {1, 2, 3}) {
            for (const Rank rank : job.everybody()) {
                job.after(jitter(rank, step) / 16);
                job.enters(rank, 1, step * 3 + call, Op::all_reduce, call == 3 ? 1 : 512);
            }
            job.after(200us);
            for (const Rank rank : job.everybody()) job.leaves(rank, 1, step * 3 + call);
        }
        for (const Rank rank : job.everybody()) {
            job.add(rank, ParametersDigest{step, 77u + static_cast<std::uint64_t>(step), job.text("replica"),
                                           job.text("parameters")});
            job.add(rank, StepEnd{step, 2.0 / (1.0 + static_cast<double>(step)), 1.0 + 0.1 * rank});
        }
    }
}

TEST(Detectors, AreSilentOnANoisyHealthyJob) {
    EvidenceBuilder job(8);
    job.start().world();
    noisy_steps(job, 0, 16);
    for (const Rank rank : job.everybody()) job.after(jitter(rank, 3)).exits(rank, 0);
    job.add(no_rank, JobStop{});
    expect_all_silent(job.watched());
}

TEST(Detectors, AreSilentWhenTheObserverStopsLookingInTheMiddleOfAStep) {
    EvidenceBuilder job(8);
    job.start().world();
    noisy_steps(job, 0, 8);
    for (const Rank rank : job.everybody_but(5)) job.add(rank, StepBegin{8}).enters(rank, 1, 25);
    expect_all_silent(job.watched(59s));
}

TEST(Detectors, AreSilentOnAnEmptyAndOnABareLog) {
    expect_all_silent(Evidence{});
    EvidenceBuilder job(4);
    expect_all_silent(job.watched(1h));
}

TEST(Detectors, AreSilentOnAPipelineWithAHeavierLastStage) {
    EvidenceBuilder job(4);
    job.start().world().comm(2, "pp", {0, 1, 2, 3});
    std::int64_t seq = 0;
    for (std::int64_t step = 0; step < 10; ++step) {
        for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
        for (Rank stage = 0; stage < 4; ++stage) {
            if (stage > 0) job.add(stage, P2pEnter{2, step, 64, stage - 1, 0, Op::recv, Dtype::f32});
        }
        for (Rank stage = 0; stage < 4; ++stage) {
            if (stage > 0) job.add(stage, P2pLeave{2, step, stage - 1, Op::recv, Code::ok});
            job.after(stage == 3 ? 115ms : 100ms);
            if (stage < 3) job.add(stage, P2pEnter{2, step, 64, stage + 1, 0, Op::send, Dtype::f32});
            job.after(1ms);
            if (stage < 3) job.add(stage, P2pLeave{2, step, stage + 1, Op::send, Code::ok});
            // Then it waits for the gradients to come back.
            if (stage < 3) job.add(stage, P2pEnter{2, step + 100, 64, stage + 1, 1, Op::recv, Dtype::f32});
        }
        for (Rank stage = 2; stage >= 0; --stage) {
            job.add(stage, P2pLeave{2, step + 100, stage + 1, Op::recv, Code::ok});
        }
        job.collective(1, ++seq, job.everybody());
        for (const Rank rank : job.everybody()) job.add(rank, StepEnd{step, 1.0, 1.0});
    }
    job.all_exit();
    expect_all_silent(job.watched());
}

TEST(Detectors, AreSilentOnUnevenPartsThatWereDeclared) {
    EvidenceBuilder job(8);
    job.start().world();
    const std::vector<std::pair<std::int64_t, std::int64_t>> parts = {{0, 5}, {5, 7}, {12, 1}, {13, 4}};
    for (Rank rank = 0; rank < 8; ++rank) {
        const auto [offset, length] = parts[static_cast<std::size_t>(rank % 4)];
        job.add(rank, ShardLayout{job.text("weight"), offset, length, 17});
        // Eight shards of ten elements: the last ranks hold padding only.
        job.add(rank, ShardLayout{job.text("flat"), std::min(rank * 2, 10),
                                  std::max(0, std::min(2, 10 - rank * 2)), 10});
    }
    for (std::int64_t step = 0; step < 4; ++step) job.step(step);
    job.all_exit();
    expect_all_silent(job.watched());
}

TEST(Detectors, AreSilentOnARestartThatWentWell) {
    EvidenceBuilder job(4);
    job.start().world();
    const auto save = [&](std::int64_t step) {
        for (Rank rank = 0; rank < 4; ++rank) {
            job.add(rank,
                    CheckpointSave{step, 64, 100u + static_cast<std::uint64_t>(rank), rank, 4,
                                   job.text(fmt::format("checkpoint/step{}/shard{}", step, rank)), Code::ok});
        }
    };
    noisy_steps(job, 0, 6);
    save(5);
    for (const Rank rank : job.everybody()) job.exits(rank, -15, 15);
    job.after(1s).add(no_rank, Restart{1, job.text("asked for")}).after(1s);
    job.start().world();
    for (Rank rank = 0; rank < 4; ++rank) {
        job.add(rank, CheckpointLoad{5, 64, 100u + static_cast<std::uint64_t>(rank), rank, 4,
                                     job.text(fmt::format("checkpoint/step5/shard{}", rank)), Code::ok});
    }
    noisy_steps(job, 6, 10);
    job.all_exit();
    expect_all_silent(job.watched());
}

TEST(Detectors, HaveNamesOfTheirOwnAndSymptomsOfTheTaxonomy) {
    std::set<std::string_view> names, symptoms;
    for (const auto& detector : all_detectors()) {
        EXPECT_TRUE(names.insert(detector->name()).second) << detector->name();
        for (const std::string_view symptom : detector->symptoms()) symptoms.insert(symptom);
    }
    EXPECT_EQ(symptoms.size(), 34u) << "each symptom has somebody who can report it";
}

// Goal: a program whose steps we do not see is told so, since most detectors have nothing to look at in it.
TEST(BlindSpots, AreToldOfAProgramWithoutSteps) {
    EvidenceBuilder job(2);
    job.start().world().collective(1, 1, job.everybody(), Op::all_reduce, 1ms);
    EXPECT_THAT(results::blind_spots(job.watched()), testing::ElementsAre(testing::HasSubstr("saw no step")));
    EvidenceBuilder steps(2);
    steps.start().world();
    noisy_steps(steps, 0, 2);
    EXPECT_THAT(results::blind_spots(steps.watched()),
                testing::Not(testing::Contains(testing::HasSubstr("saw no step"))));
}

// Python prints what a destructor raises, and goes on. The same lines without the first one end the program.
TEST(Healthy, ExceptionsThatPythonIgnores) {
    const auto printed = [](bool ignored) {
        EvidenceBuilder job(2);
        job.start().world();
        noisy_steps(job, 0, 4);
        if (ignored) job.log(1, "Exception ignored in: <function Saver.__del__ at 0x7f12>");
        job.log(1, "Traceback (most recent call last):").log(1, "  File \"train.py\", line 3, in __del__", 0);
        job.log(1, "RuntimeError: already closed");
        noisy_steps(job, 4, 8);
        job.all_exit();
        return job.watched();
    };
    expect_all_silent(printed(true));
    EXPECT_FALSE(results::detect(printed(false), all_detectors()).empty());
}

}  // namespace
}  // namespace deadrank::tests

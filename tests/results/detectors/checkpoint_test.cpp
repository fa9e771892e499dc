// tests/results/detectors/checkpoint_test.cpp — Goal: a file that cannot be read, one that does not fit, and
// one that read well and was another are told apart, and a job that does not come back is noticed.
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

std::string path_of(std::int64_t step, Rank shard) {
    return fmt::format("checkpoint/step{}/shard{}", step, shard);
}
std::uint64_t digest_of(std::int64_t step, Rank shard) {
    return static_cast<std::uint64_t>(step * 100 + shard);
}

void saves(EvidenceBuilder& job, Rank rank, std::int64_t step, Code result = Code::ok,
           std::int32_t shards = 4) {
    job.add(rank, results::CheckpointSave{step, 64, digest_of(step, rank), rank, shards,
                                          job.text(path_of(step, rank)), result});
}

void loads(EvidenceBuilder& job, Rank rank, std::int64_t step, std::uint64_t digest, Code result = Code::ok,
           const std::string& path = "") {
    job.add(rank, results::CheckpointLoad{step, 64, digest, rank, 4,
                                          job.text(path.empty() ? path_of(step, rank) : path), result});
}

// Four ranks saved steps 1 and 3 and were started again.
EvidenceBuilder restarted_from_checkpoint() {
    EvidenceBuilder job(4);
    job.start().world();
    for (std::int64_t step = 0; step < 5; ++step) {
        job.step(step);
        if (step % 2 == 1) {
            for (Rank rank = 0; rank < 4; ++rank) saves(job, rank, step);
        }
    }
    job.exits(2, -9, 9).after(5s);
    for (const Rank rank : job.everybody_but(2)) job.exits(rank, -15, 15);
    job.after(1s).add(no_rank, Restart{1, job.text("rank 2 failed")}).after(1s).start().world();
    return job;
}

TEST(CheckpointSave, NamesTheRankAndTheFile) {
    EvidenceBuilder job(4);
    job.start().world().step(0);
    for (Rank rank = 0; rank < 4; ++rank) saves(job, rank, 0, rank == 3 ? Code::system_error : Code::ok);
    const Finding found = found_by("checkpoint_save", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({3}));
    EXPECT_EQ(found.blame.shard, path_of(0, 3));
}

// On a busy machine the ranks of one job come to the same save or load seconds apart.
TEST(CheckpointSave, NamesRanksThatFailSecondsApart) {
    EvidenceBuilder job(4);
    job.start().world().step(0);
    for (const Rank rank : {0, 1, 2}) {
        saves(job, rank, 0, rank == 0 ? Code::ok : Code::no_space);
        job.after(3s);
    }
    EXPECT_EQ(found_by("checkpoint_save", job.watched()).blame.ranks, ranks({1, 2}));
}

// Of one full disk there is one finding, and it names the file. A disk that is full elsewhere is the host's.
TEST(CheckpointSave, AloneTellsThatTheDiskIsFull) {
    const std::string full = "Traceback (most recent call last):\nOSError: [Errno 28] No space left on device: ";
    EvidenceBuilder job(4);
    job.start().world().step(0);
    saves(job, 0, 0, Code::no_space);
    job.log(0, full + "'checkpoint/step0/shard0'");
    EXPECT_EQ(found_by("checkpoint_save", job.watched()).blame.component, "storage");
    EXPECT_TRUE(asked("host_exhaustion", job.watched()).empty());
    EvidenceBuilder other(4);
    other.start().world().step(0);
    saves(other, 0, 0, Code::no_space);
    other.log(2, full + "'log.txt'");
    EXPECT_EQ(found_by("host_exhaustion", other.watched()).blame.ranks, ranks({2}));
}

TEST(CheckpointIntegrity, NamesRanksThatFailSecondsApart) {
    EvidenceBuilder job = restarted_from_checkpoint();
    for (const Rank rank : {3, 1, 0, 2}) {
        loads(job, rank, 3, digest_of(3, rank), rank == 0 ? Code::ok : Code::corrupt);
        job.after(3s);
    }
    EXPECT_EQ(found_by("checkpoint_integrity", job.watched()).blame.ranks, ranks({1, 2, 3}));
}

TEST(CheckpointIntegrity, SeesALoadThatFails) {
    EvidenceBuilder job = restarted_from_checkpoint();
    for (Rank rank = 0; rank < 4; ++rank)
        loads(job, rank, 3, digest_of(3, rank), rank == 1 ? Code::corrupt : Code::ok);
    const Finding found = found_by("checkpoint_integrity", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.blame.shard, path_of(3, 1));
    EXPECT_EQ(found.symptom, "checkpoint_unreadable");
}

TEST(CheckpointIntegrity, SeesBytesThatNobodyWrote) {
    EvidenceBuilder job = restarted_from_checkpoint();
    for (Rank rank = 0; rank < 4; ++rank) loads(job, rank, 3, rank == 1 ? 999'999 : digest_of(3, rank));
    EXPECT_EQ(found_by("checkpoint_integrity", job.watched()).blame.ranks, ranks({1}));
}

TEST(CheckpointIntegrity, CallsAPublishedCheckpointWithoutItsContentUnreadable) {
    EvidenceBuilder job(4);
    job.start().world().step(0);
    for (Rank rank = 0; rank < 3; ++rank) saves(job, rank, 0);
    job.after(1s).add(no_rank, Restart{1}).after(1s).start().world();
    loads(job, 3, 0, 0, Code::not_found);
    const Evidence evidence = job.watched();
    EXPECT_EQ(found_by("checkpoint_integrity", evidence).blame.ranks, ranks({3}));
}

// A sound file that does not fit, such as a tensor of another size: what the program says of it is the finding.
TEST(CheckpointIntegrity, LeavesASoundFileThatDoesNotFit) {
    EvidenceBuilder job = restarted_from_checkpoint();
    loads(job, 1, 3, digest_of(3, 1), Code::invalid_argument);
    expect_silence_of("checkpoint_integrity", job.watched());
    EvidenceBuilder spoilt = restarted_from_checkpoint();
    loads(spoilt, 2, 3, 999'999, Code::invalid_argument);
    EXPECT_EQ(found_by("checkpoint_integrity", spoilt.watched()).blame.ranks, ranks({2}));
}

// Beside a whole checkpoint of one shard, another name is a file that is missing; a further shard is another layout.
TEST(CheckpointIntegrity, MissesAFileBesideAWholeCheckpointOfOneShard) {
    const auto looks_for = [](const char* path, std::int32_t shard) {
        EvidenceBuilder job(2);
        job.start().world().step(0);
        job.add(0, results::CheckpointSave{0, 64, 7, 0, 1, job.text("epoch=1.ckpt"), Code::ok});
        job.step(1);
        job.add(1, results::CheckpointLoad{0, 0, 0, shard, 2, job.text(path), Code::not_found});
        return job.watched();
    };
    const Evidence missing = looks_for("epoch=1-v0.ckpt", 0), other_layout = looks_for("rank_01.pt", 1);
    EXPECT_EQ(found_by("checkpoint_integrity", missing).blame.ranks, ranks({1}));
    expect_silence_of("reshard", missing);
    EXPECT_EQ(found_by("reshard", other_layout).blame.ranks, ranks({1}));
}

TEST(Reshard, SeesALayoutThatDoesNotFit) {
    EvidenceBuilder job = restarted_from_checkpoint();
    loads(job, 0, 3, 0, Code::not_found, "checkpoint/step3/shard0of16");
    const Evidence evidence = job.watched();
    EXPECT_EQ(found_by("reshard", evidence).symptom, "reshard_restore_failure");
    expect_silence_of("checkpoint_integrity", evidence);
}

TEST(Reshard, SeesMissingShardsAtTheSave) {
    EvidenceBuilder job(4);
    job.start().world().step(0);
    for (const Rank rank : {0, 1, 3}) saves(job, rank, 0);
    job.step(1);
    const Finding found = found_by("reshard", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({2}));
    EXPECT_EQ(found.blame.step, 0);
}

TEST(Reshard, GivesAWriterTimeThatHasNotGoneOn) {
    for (const bool gone_on : {false, true}) {
        EvidenceBuilder job(4);
        job.start().world().step(0);
        for (const Rank rank : {0, 1, 3}) {
            saves(job, rank, 0);
            job.add(rank, results::StepBegin{1});
        }
        if (gone_on) job.add(2, results::StepBegin{1});
        if (gone_on)
            EXPECT_EQ(found_by("reshard", job.watched()).blame.ranks, ranks({2}));
        else
            expect_silence_of("reshard", job.watched());
    }
}

TEST(Reshard, SeesSeveralWritersOfOneFile) {
    EvidenceBuilder job(2);
    job.start().world().step(0);
    for (const Rank rank : {0, 1}) {
        job.add(rank, results::CheckpointSave{0, 64, 7, 0, 1, job.text("checkpoint/model.pt"), Code::ok});
    }
    EXPECT_EQ(found_by("reshard", job.watched()).blame.ranks, ranks({0, 1}));
}

TEST(ResumeRegression, SeesAnotherShardUnderThisName) {
    EvidenceBuilder job = restarted_from_checkpoint();
    for (Rank rank = 0; rank < 4; ++rank) loads(job, rank, 3, digest_of(3, rank == 2 ? 1 : rank));
    const Evidence evidence = job.watched();
    EXPECT_EQ(found_by("resume_regression", evidence).blame.ranks, ranks({2}));
    expect_silence_of("checkpoint_integrity", evidence);
}

TEST(ResumeRegression, SeesAStepThatGivesAnotherLossThanBefore) {
    EvidenceBuilder job = restarted_from_checkpoint();
    for (Rank rank = 0; rank < 4; ++rank) loads(job, rank, 3, digest_of(3, rank));
    job.step(4, 1.5);
    EXPECT_EQ(found_by("resume_regression", job.watched()).blame.step, 4);
}

TEST(ResumeRegression, LeavesAnotherLossOfOtherSamplesToTheSampler) {
    for (const std::int64_t first_sample : {8, 16}) {
        EvidenceBuilder job(2);
        job.start().world().step(0).add(0, results::DataBatch{1, 0, 8, 2, 1, TextId::none}).step(1, 1.0);
        job.exits(0, -15, 15).exits(1, -15, 15);
        job.after(1s).add(no_rank, Restart{1, job.text("rank 0 failed")}).after(1s).start().world();
        job.add(0, results::DataBatch{1, 0, first_sample, 2, 1, TextId::none}).step(1, 1.5);
        if (first_sample == 8) {
            EXPECT_EQ(found_by("resume_regression", job.watched()).blame.step, 1);
        } else {
            expect_silence_of("resume_regression", job.watched());
        }
    }
}

TEST(ResumeRegression, SeesAnOlderCheckpointTaken) {
    EvidenceBuilder job = restarted_from_checkpoint();
    for (Rank rank = 0; rank < 4; ++rank) loads(job, rank, 1, digest_of(1, rank));
    job.step(2);
    EXPECT_EQ(found_by("resume_regression", job.watched()).blame.step, 2);
}

// A program may make a pass before it loads, so that everything is allocated.
TEST(ResumeRegression, BeginsBehindTheLoadOfARankThatHadEndedNoStep) {
    const auto resumed = [](bool ends_a_step_before, std::int64_t goes_on_with) {
        EvidenceBuilder job = restarted_from_checkpoint();
        for (const Rank rank : job.everybody()) job.add(rank, results::StepBegin{0});
        if (ends_a_step_before)
            for (const Rank rank : job.everybody()) job.add(rank, results::StepEnd{0, 1.0});
        job.after(1ms);
        for (const Rank rank : job.everybody()) loads(job, rank, 3, digest_of(3, rank));
        return job.after(1ms).step(goes_on_with).watched();
    };
    expect_silence_of("resume_regression", resumed(false, 4));
    EXPECT_EQ(found_by("resume_regression", resumed(false, 2)).blame.step, 2);
    EXPECT_EQ(found_by("resume_regression", resumed(true, 4)).blame.step, 0);
}

// Goal: what lay on the disk of a host that is gone could not be taken, whole as it was.
TEST(ResumeRegression, AsksForNoSaveOnTheDiskOfALostHost) {
    const auto resumed = [](const std::string& where, bool second_host_is_back) {
        EvidenceBuilder job(8);
        job.start().world();
        for (std::int64_t step = 0; step < 8; ++step) {
            job.step(step);
            if (step == 2 || step == 5)
                job.add(
                    0, results::CheckpointSave{
                           step, 64, 7, 0, 1,
                           job.text(fmt::format("{}/step{}", step == 2 ? "shared" : where, step)), Code::ok});
        }
        for (const Rank rank : job.everybody()) job.exits(rank, -9, 9);
        job.after(1s).add(no_rank, Restart{1, job.text("a node was lost")}).after(1s);
        for (const Rank rank : job.everybody())
            if (second_host_is_back || rank < 4) job.start(rank, job.environment(rank));
        return job.add(0, results::StepBegin{3}).watched();
    };
    expect_silence_of("resume_regression", resumed("node1/ckpt", false));
    EXPECT_EQ(found_by("resume_regression", resumed("node1/ckpt", true)).blame.step, 3);
    EXPECT_EQ(found_by("resume_regression", resumed("shared/ckpt", false)).blame.step, 3);
}

TEST(ResumeRegression, IsSilentWhenTheSameStepGivesTheSame) {
    EvidenceBuilder job = restarted_from_checkpoint();
    for (Rank rank = 0; rank < 4; ++rank) loads(job, rank, 3, digest_of(3, rank));
    job.step(4).step(5).all_exit();
    expect_silence_of("resume_regression", job.watched());
}

TEST(RestartFailure, SeesAttemptsWithoutProgress) {
    EvidenceBuilder job = restarted_from_checkpoint();
    job.exits(2, 1).after(5s);
    for (const Rank rank : job.everybody_but(2)) job.exits(rank, -15, 15);
    job.add(no_rank, JobStop{1});
    EXPECT_EQ(found_by("restart_failure", job.watched()).blame.ranks, ranks({2}));
}

TEST(RestartFailure, NamesAllThatFailedInTheSameWords) {
    const auto failed = [](const std::string& other) {
        EvidenceBuilder job = restarted_from_checkpoint();
        for (const Rank rank : {0, 1, 2, 3}) {
            job.log(rank, "[rank" + std::to_string(rank) + "]: Traceback (most recent call last):");
            job.log(rank, "[rank" + std::to_string(rank) + "]: " + (rank == 3 ? other : "KeyError: 'layer.0'"));
        }
        for (const Rank rank : {0, 1, 3}) job.exits(rank, 1);
        return found_by("restart_failure", job.after(5s).exits(2, -15, 15).add(no_rank, JobStop{1}).watched());
    };
    EXPECT_EQ(failed("KeyError: 'layer.3'").blame.ranks, ranks({0, 1, 3}));
    EXPECT_EQ(failed("ValueError: no state").blame.ranks, ranks({0, 1}));
    EXPECT_THAT(failed("ValueError: no state").says, testing::HasSubstr("it said: [rank0]: KeyError: 'layer.0'"));
}

TEST(RestartFailure, SeesARestartThatNeverGetsAnywhere) {
    EvidenceBuilder job = restarted_from_checkpoint();
    for (const Rank rank : job.everybody_but(1)) job.enters(rank, 1, 1, Op::barrier);
    EXPECT_EQ(found_by("restart_failure", job.watched(2min)).blame.ranks, ranks({1}));
}

// The agent of rank 3 refuses and shuts the others down. If it says so to nobody, all raise alike.
TEST(RestartFailure, NamesWhoSaidFirstWhatIsWrong) {
    for (const int level : {2, 1}) {
        EvidenceBuilder job = restarted_from_checkpoint();
        job.log(3, "there are more members than slots, and the round is closed", level).after(10us);
        for (const Rank rank : job.everybody())
            job.log(rank, "Traceback (most recent call last):\nRuntimeError: closed").exits(rank, 1);
        job.add(no_rank, JobStop{1});
        const Finding found = found_by("restart_failure", job.watched());
        EXPECT_EQ(found.blame.ranks, level == 2 ? ranks({3}) : ranks({0, 1, 2, 3}));
        EXPECT_EQ(found.says.find("more members than slots") != std::string::npos, level == 2) << found.says;
    }
}

// A job that is started again and again: each attempt makes ten steps from where the one before it was, less
// what it had not kept. It saves each so many steps, or never.
Evidence comes_back(int attempts, std::int64_t kept, std::int64_t saves_every = 0,
                    std::int64_t last_save = 99) {
    EvidenceBuilder job(2);
    std::int64_t from = 0;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        if (attempt > 0) job.after(5s).add(no_rank, Restart{attempt, job.text("a node left")}).after(1s);
        job.start().world();
        for (std::int64_t step = from; step < from + 10; ++step) {
            job.step(step);
            const bool saves = saves_every > 0 && step % saves_every == saves_every - 1 && step <= last_save;
            if (saves)
                job.add(0, results::CheckpointSave{step, 64, 7, 0, 1, job.text("run/latest"), Code::ok});
        }
        from += kept;
    }
    return job.all_exit().watched();
}

TEST(RestartFailure, SeesRestartsThatThrowAwayWhatWasDone) {
    const Finding found = found_by("restart_failure", comes_back(4, 0));
    EXPECT_TRUE(found.blame.ranks.empty());
    EXPECT_NE(found.says.find("30 steps were lost"), std::string::npos) << found.says;
    expect_silence_of("restart_failure", comes_back(3, 0));  // two may come before the first save
    expect_silence_of("restart_failure", comes_back(6, 1));
}

// Observers of a process count its own steps from 0, while the job goes on.
TEST(RestartFailure, LeavesAJobAloneWhoseStepsAreCountedAnew) {
    enum class Told { the_losses_of_a_beginning, losses_that_go_on, a_load_of_step_9 };
    const auto counted = [](Told told) {
        EvidenceBuilder job(2);
        double made = 0;
        for (int attempt = 0; attempt < 5; ++attempt) {
            if (attempt > 0) job.after(5s).add(no_rank, Restart{attempt, job.text("a node left")}).after(1s);
            job.start().world();
            if (told == Told::a_load_of_step_9 && attempt > 0)
                job.add(0,
                        results::CheckpointLoad{10 * attempt - 1, 64, 7, 0, 1, job.text("latest"), Code::ok});
            for (std::int64_t step = 0; step < 10; ++step, ++made) {
                const bool goes_on = told == Told::losses_that_go_on;
                job.step(step, 4.0 / (1.0 + (goes_on ? made : static_cast<double>(step))));
            }
        }
        return job.all_exit().watched();
    };
    EXPECT_EQ(asked("restart_failure", counted(Told::the_losses_of_a_beginning)).size(), 1u);
    expect_silence_of("restart_failure", counted(Told::losses_that_go_on));
    expect_silence_of("restart_failure", counted(Told::a_load_of_step_9));
}

TEST(RestartFailure, SeesARestartThatLosesMoreThanTheJobMeansToLose) {
    expect_silence_of("restart_failure", comes_back(3, 10, 2));
    const Finding found = found_by("restart_failure", comes_back(2, 4, 1, 3));
    EXPECT_NE(found.says.find("6 steps were lost, and it saves every 1"), std::string::npos) << found.says;
    expect_silence_of("restart_failure", comes_back(2, 8, 1, 7));  // twice its distance is allowed
}

TEST(RestartFailure, NamesANodeWhoseRanksWereAllKilled) {
    for (const Rank spared : {no_rank, Rank{5}}) {
        EvidenceBuilder job(8);
        job.start().world().step(0).after(10s);
        for (const Rank rank : {4, 5, 6, 7}) {
            if (rank != spared) job.exits(rank, -9, 9);
        }
        job.after(2s);
        for (const Rank rank : {0, 1, 2, 3}) job.exits(rank, -15, 15);
        if (spared != no_rank) job.exits(spared, -15, 15);
        job.add(no_rank, JobStop{1, job.text("rank 4 failed")});
        if (spared != no_rank) {
            expect_silence_of("restart_failure", job.watched());
        } else {
            const Finding found = found_by("restart_failure", job.watched());
            EXPECT_EQ(found.blame.nodes, std::vector<std::int32_t>{1});
        }
    }
}

// On a busy machine the end of the rank that failed may be seen after the ends of those it took along.
TEST(RestartFailure, LeavesANodeAloneThatWasKilledForSomebodyElsesError) {
    for (const bool said : {true, false}) {
        EvidenceBuilder job(4, 2);
        job.start().world().step(0);
        if (said) job.log(1, "AttributeError: 'NoneType' object has no attribute 'step'");
        job.after(10ms).exits(2, -9, 9).exits(3, -9, 9).after(2s).exits(1, 1, 0).exits(0, 0, 15);
        job.add(no_rank, JobStop{1, job.text("a rank failed")});
        const auto found = asked("restart_failure", job.watched());
        EXPECT_EQ(found.empty(), said);
    }
}

// mpirun ends the others' watchers with them.
TEST(RestartFailure, LeavesANodeAloneWhoseEndsNobodySawAfterSomebodyElsesError) {
    for (const bool said : {true, false}) {
        EvidenceBuilder job(4, 2);
        job.start().world().step(0);
        if (said) job.log(1, "AttributeError: 'NoneType' object has no attribute 'step'");
        job.after(10ms).exits(1, 1, 0).exits(0, 0, 15).after(1s);
        job.add(no_rank, JobStop{1, job.text("")});
        const auto found = asked("restart_failure", job.watched());
        EXPECT_EQ(found.empty(), said);
    }
}

// All gave up at the same time-out, and mpirun ended two before they could say so.
TEST(RestartFailure, LeavesANodeAloneThatWasHeardOfAfterAnotherRankHadEnded) {
    for (const bool heard : {true, false}) {
        EvidenceBuilder job(4, 2);
        job.start().world().step(0).after(60s).exits(2, -6, 6).exits(3, -6, 6);
        if (heard) job.after(5ms).log(1, "Watchdog caught collective operation timeout", 1);
        job.after(1s).add(no_rank, JobStop{1, job.text("")});
        EXPECT_EQ(asked("restart_failure", job.watched()).empty(), heard);
    }
}

TEST(RestartFailure, NamesANodeThatIsGone) {
    EvidenceBuilder job(8);
    job.start().world().step(0).after(10s);
    for (const Rank rank : {0, 1, 2, 3}) job.exits(rank, -15, 15);
    job.add(no_rank, JobStop{1, job.text("a node was lost")});
    const Finding found = found_by("restart_failure", job.watched());
    EXPECT_EQ(found.blame.nodes, std::vector<std::int32_t>{1});
}

// An elastic job may end with what is left of it.
TEST(RestartFailure, LeavesANodeAloneThatTheOthersDidWithout) {
    for (const bool well : {true, false}) {
        EvidenceBuilder job(8);
        job.start().world().step(0).after(10s);
        for (const Rank rank : {0, 1, 2, 3}) job.exits(rank, well ? 0 : -15, well ? 0 : 15);
        job.add(no_rank, JobStop{1, job.text("a replica failed for good")});
        EXPECT_EQ(asked("restart_failure", job.watched()).empty(), well);
    }
}

// Another rank that finds the file a moment later excuses nobody who died for want of it.
TEST(CheckpointIntegrity, IsNotExcusedByWhatAnotherRankRead) {
    const auto asked_of = [](Rank reader) {
        EvidenceBuilder job(4);
        job.start().world().step(0);
        for (const Rank rank : {1, 2, 3})
            job.log(rank, "FileNotFoundError: [Errno 2] No such file or directory: 'out/checkpoint-6/model'");
        loads(job, reader, 6, 1, Code::ok, "out/checkpoint-6/model");
        for (const Rank rank : {1, 2, 3}) job.exits(rank, 1);
        return asked("checkpoint_integrity", job.watched());
    };
    ASSERT_EQ(asked_of(0).size(), 1u);
    EXPECT_EQ(asked_of(0).front().blame.ranks, ranks({1, 2, 3}));
    EXPECT_TRUE(asked_of(2).empty());
}

}  // namespace
}  // namespace deadrank::tests

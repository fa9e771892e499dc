// Goal: an MPI program that knows nothing of us suffers what the plan says, at the call that the plan names,
// under a real mpirun: seen in what its ranks print, in how the job ends, and in the evidence. No process is
// left.
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <thread>

#include "runners/backends/process/mpirun.h"
#include "tests/inject/shims/shim_run.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string library = shim_directory + "/libdeadrank-mpi.so";

class DeviceMpiShim : public testing::Test {
protected:
    void SetUp() override {
        if (!std::filesystem::exists(library)) GTEST_SKIP() << "this build found no Open MPI";
        const auto mpirun = runners::mpirun_program();
        if (!mpirun) GTEST_SKIP() << mpirun.error().text();
        run.environment.erase("DEADRANK_RANK");
        run.environment.erase("LD_LIBRARY_PATH");
        for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
            run.environment[name] = "1";
        run.grace = 15;  // mpirun needs a moment to end its ranks
        std::filesystem::create_directory(run.directory / "sessions");
        auto words =
            runners::mpirun_child({*mpirun, program_directory + "/mpi_stranger", run.directory, 2}).command;
        words.pop_back();
        words.insert(words.begin() + 1, {"-x", "LD_PRELOAD=" + library});
        command_ = fmt::format("{}", fmt::join(words, " "));
    }
    void TearDown() override {
        // Ranks that mpirun had to end may outlive it by a moment, never by ten seconds.
        std::string left;
        for (int tries = 0; tries < 100; ++tries) {
            left = shell("grep -l -a -s " + run.directory.string() + "/ /proc/[0-9]*/environ").out;
            if (left.empty()) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        EXPECT_EQ(left, "") << "a process of the job is still there";
    }

    void play(const std::string& words) { answer = run.start(command_ + " " + words); }
    // One fault of rank 1, then these calls of both.
    void play(json when, json pull, const std::string& words) {
        run.fault(std::move(when), std::move(pull));
        play(words);
        ASSERT_FALSE(run.truth().empty()) << answer.out;
        EXPECT_EQ(run.truth().front()["kind"], "fault.applied");
    }
    std::vector<std::string> operations(int rank = 1) const {
        std::vector<std::string> names;
        for (const char* kind : {"collective.enter", "p2p.enter"}) {
            for (const json& line : run.evidence_of(kind, rank)) names.push_back(line["op"]);
        }
        return names;
    }

    ShimRun run;
    Answer answer;

private:
    std::string command_;
};

// 18 calls, on the world and on what was made of it.
TEST_F(DeviceMpiShim, ChangesNothingWithoutAPlanAndSeesEveryCall) {
    play(
        "barrier bcast reduce allreduce inplace allgather gather scatter alltoall reducescatter block "
        "sendrecv send bothways split allreduce free apart bcast free dup barrier");
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("rank 1 allreduce 0: 610 12 14 16\n"));  // both in their fourth call
    EXPECT_THAT(answer.out, HasSubstr("rank 0 alltoall 0: 800 1 810 11\n"));
    EXPECT_EQ(run.evidence_of("collective.enter").size(), run.evidence_of("collective.leave").size());
    EXPECT_EQ(run.evidence_of("p2p.enter").size(), 5u);
    EXPECT_EQ(run.evidence_of("p2p.leave").size(), 5u);
    EXPECT_EQ(operations().size(), 14u + 5u);
    EXPECT_EQ(run.timeline().each<results::CollectiveEnter>().size(), 14u);
    // Rank 0 and rank 1 alone are two communicators, the one that both are in is one.
    std::vector<std::vector<std::int64_t>> numbers(2);
    for (int rank : {0, 1}) {
        for (const json& line : run.evidence_of("collective.enter", rank))
            numbers[static_cast<std::size_t>(rank)].push_back(line["comm"]);
    }
    EXPECT_EQ(numbers[0][11], numbers[1][11]);
    EXPECT_NE(numbers[0][12], numbers[1][12]);
    EXPECT_EQ(numbers[0][13], numbers[1][13]);
}

TEST_F(DeviceMpiShim, IsAsleepWithoutAPlanAndEvidence) {
    run.environment.erase("DEADRANK_EVIDENCE");
    play("allreduce");
    EXPECT_THAT(answer.out, HasSubstr("rank 1 allreduce 0: 10 12 14 16"));
    EXPECT_TRUE(std::filesystem::is_empty(run.directory / "evidence"));
}

TEST_F(DeviceMpiShim, BendsABitOfWhatOneRankGivesAtItsSecondCall) {
    play({{"before", "all_reduce"}, {"nth", 2}}, {{"flip_bit", 116}}, "allreduce allreduce bothways");
    EXPECT_THAT(answer.out, HasSubstr("rank 0 allreduce 0: 10 12 14 16"));
    EXPECT_THAT(answer.out, HasSubstr("rank 0 allreduce 0: 210 23 14 16"));  // 11 became 22, for both
    EXPECT_THAT(answer.out, HasSubstr("rank 1 allreduce 0: 210 23 14 16"));
    EXPECT_THAT(answer.out, HasSubstr("rank 0 bothways 0: 210 11 12 13"));  // its own buffer is as it was
}

TEST_F(DeviceMpiShim, BendsABitOfWhatOneRankGetsWhenItHasWaitedForIt) {
    play({{"before", "recv"}}, {{"flip_bit", 116}, {"flip_received", true}}, "bothways");
    EXPECT_THAT(answer.out, HasSubstr("rank 1 bothways 0: 0 0.5 2 3"));
    EXPECT_THAT(answer.out, HasSubstr("rank 0 bothways 0: 10 11 12 13"));
}

TEST_F(DeviceMpiShim, SwapsTwoMessages) {
    play({{"before", "send"}}, {{"hold", true}}, "send send");
    const std::size_t second = answer.out.find("rank 0 send 0: 110 "),
                      first = answer.out.find("rank 0 send 0: 10 ");
    ASSERT_NE(first, std::string::npos) << answer.out;
    EXPECT_LT(second, first);
}

// The root's broadcast is on its way by itself, so that nobody waits for ever; what comes late comes whole.
TEST_F(DeviceMpiShim, SwapsTwoCollectives) {
    play({{"before", "broadcast"}}, {{"hold", true}}, "bcast barrier allreduce");
    EXPECT_EQ(operations().front(), "barrier");
    EXPECT_EQ(operations(0).front(), "broadcast");
    EXPECT_THAT(answer.out, HasSubstr("rank 1 allreduce 0: 410 12 14 16"));
}

TEST_F(DeviceMpiShim, SwallowsACallSoThatTheOthersWait) {
    run.limit = 3;
    play({{"before", "all_reduce"}}, {{"skip", true}}, "allreduce");
    EXPECT_NE(answer.code, 0);
    EXPECT_TRUE(operations(1).empty());
    EXPECT_EQ(operations(0), std::vector<std::string>{"all_reduce"});
    EXPECT_TRUE(run.evidence_of("collective.leave", 0).empty());
    EXPECT_THAT(answer.out, HasSubstr("rank 1 allreduce 0: -1 -1 -1 -1"));
}

TEST_F(DeviceMpiShim, GivesTooFewElementsOrTooMany) {
    run.limit = 3;
    play({{"before", "all_reduce"}}, {{"count_change", -1}}, "return allreduce");
    EXPECT_EQ(run.evidence_of("collective.enter").front()["count"], 3);
    EXPECT_THAT(run.evidence_of("comm.error").back()["message"].get<std::string>(),
                HasSubstr("MPI_ERR_TRUNCATE"));
    play({{"before", "all_reduce"}}, {{"count_change", 60}}, "return allreduce");
    EXPECT_THAT(run.evidence_of("comm.error", 0).back()["message"].get<std::string>(),
                HasSubstr("MPI_ERR_TRUNCATE"));
}

TEST_F(DeviceMpiShim, NamesAnotherTypeAnotherReductionOrAnotherRoot) {
    play({{"before", "reduce_scatter"}}, {{"dtype", "i64"}}, "block");
    EXPECT_EQ(run.evidence_of("collective.enter").front()["dtype"], "i64");
    play({{"before", "all_reduce"}}, {{"reduce", "max"}}, "allreduce");
    EXPECT_EQ(run.evidence_of("collective.enter").back()["reduce"], "max");
    play({{"before", "broadcast"}}, {{"root", 1}}, "bcast allreduce");
    EXPECT_THAT(answer.out, HasSubstr("rank 1 bcast 0: 10 11 12 13"));  // took itself for the root
}

TEST_F(DeviceMpiShim, AnswersWithAnErrorThatGoesTheWayOfRealOnes) {
    play({{"before", "all_reduce"}}, {{"answer", "internal_error"}}, "allreduce");
    EXPECT_NE(answer.code, 0);
    // The usual handler ended the job; what mpirun says of it is at times lost on its way.
    EXPECT_THAT(answer.out, Not(HasSubstr("rank 1 allreduce")));
    EXPECT_EQ(run.evidence_of("comm.error").back()["code"], "internal_error");
    run.limit = 3;
    play({{"before", "all_reduce"}}, {{"answer", "internal_error"}}, "return allreduce");
    EXPECT_THAT(answer.out, HasSubstr("rank 1 allreduce 17: -1"));
    EXPECT_EQ(run.evidence_of("comm.error").back()["code"], "internal_error");
}

TEST_F(DeviceMpiShim, IsKilledOnTheCommunicatorThatThePlanNames) {
    play({{"before", "all_reduce"}, {"comm", "group1"}}, {{"lever", "kill"}, {"signal", 9}},
         "allreduce split allreduce");
    EXPECT_EQ(answer.code, 128 + 9) << answer.out;
    EXPECT_EQ(run.evidence_of("collective.leave").size(), 1u);
}

TEST_F(DeviceMpiShim, LeavesWithACodeAndASentence) {
    play({{"before", "send"}}, {{"lever", "exit"}, {"code", 7}, {"says", "RuntimeError: no space left"}},
         "allreduce send");
    EXPECT_EQ(answer.code, 7);
    EXPECT_THAT(answer.out, HasSubstr("RuntimeError: no space left"));
}

TEST_F(DeviceMpiShim, IsStoppedForAWhileOrLate) {
    const auto waited = [&](const json& when, const json& pull) {
        play(when, pull, "barrier allreduce");
        EXPECT_EQ(answer.code, 0);
        const json entered = run.evidence_of("collective.enter", 0).back()["t"];
        return run.evidence_of("collective.leave", 0).back()["t"].get<std::int64_t>() -
               entered.get<std::int64_t>();
    };
    EXPECT_GE(waited({{"before", "all_reduce"}, {"lasts", 700'000'000}}, {{"lever", "stop"}}), 500'000'000);
    EXPECT_GE(waited({{"before", "all_reduce"}}, {{"delay", 700'000'000}}), 500'000'000);
}

TEST_F(DeviceMpiShim, RefusesWhatMpiCannot) {
    play({{"before", "all_reduce"}}, {{"op", "broadcast"}}, "allreduce");
    EXPECT_EQ(answer.code, 0);
    EXPECT_EQ(run.truth().back()["says"], "MPI would read beyond the buffers of another operation");
    play({{"before", "recv"}}, {{"flip_bit", 1}}, "bothways");
    EXPECT_EQ(run.truth().back()["says"], "this rank gives no data in recv");
    play({{"before", "comm_init"}, {"comm", "group1"}}, {{"skip", true}}, "dup barrier");
    EXPECT_EQ(run.truth().back()["says"], "a communicator that is not made cannot be used");
    EXPECT_THAT(answer.out, Not(HasSubstr("rror")));
}

}  // namespace
}  // namespace deadrank::tests

// tests/sim/program/program_batches_test.cpp — Goal: a batch of messages is one kernel of NCCL: all of them
// are under way together, and the next batch of the group begins after it.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

void expect_through(const std::string& step, const std::string& setup = "") {
    const auto record = play_program(step, two_ranks, setup);
    EXPECT_EQ(last_words(record), "") << step;
    EXPECT_EQ(ended_well(record), 2) << step;
    EXPECT_EQ(symptoms_in(record), std::vector<std::string>{}) << step;
}

TEST(ProgramBatches, OfAProgramWithStreamsAreUnderWayTogether) {
    expect_through(R"py(
s = torch.cuda.Stream()
peer, box = 1 - rank, zeros(2)
with torch.cuda.stream(s):
    mine = full([2], float(rank + 1))
    works = batch_isend_irecv([P2POp(isend, mine, peer), P2POp(irecv, box, peer)])
    for work in works:
        work.wait()
torch.cuda.current_stream().wait_stream(s)
assert box.tolist() == [float(peer + 1)] * 2
)py");
}

TEST(ProgramBatches, FollowEachOther) {
    expect_through(R"py(
peer, first, second = 1 - rank, zeros(1), zeros(1)
works = batch_isend_irecv([P2POp(isend, full([1], 1.0), peer), P2POp(irecv, first, peer)])
works += batch_isend_irecv([P2POp(isend, full([1], 2.0), peer), P2POp(irecv, second, peer)])
works[3].wait()
assert first[0] == 1.0 and second[0] == 2.0
for work in works:
    work.wait()
)py");
}

// What one rank has in two batches may be one batch of the other.
TEST(ProgramBatches, AreCutAsEachRankLikes) {
    expect_through(R"py(
peer, box = 1 - rank, zeros(1)
sends, takes = P2POp(isend, ones(1), peer), P2POp(irecv, box, peer)
batches = [[sends], [takes]] if rank == 0 else [[takes], [sends]]
works = [work for batch in batches for work in batch_isend_irecv(batch)]
for work in works:
    work.wait()
assert box[0] == 1.0
)py");
}

std::vector<std::string> of_sends_alone(const std::string& backend) {
    const auto record = play_program(R"py(
peer, box = 1 - rank, zeros(1)
group = new_group(backend=)py" + backend +
                                         R"py()
sent = batch_isend_irecv([P2POp(isend, ones(1), peer, group)])
for work in batch_isend_irecv([P2POp(irecv, box, peer, group)]) + sent:
    work.wait()
)py",
                                     {{"gpus_per_node", "2"}, {"nodes", "1"}, {"watchdog", "false"}});
    return symptoms_in(record);
}

TEST(ProgramBatches, OfSendsAloneStandInTheWayOfTheReceives) {
    EXPECT_EQ(of_sends_alone("\"nccl\""), std::vector<std::string>{"collective_deadlock_hang"});
    EXPECT_EQ(of_sends_alone("\"gloo\""), std::vector<std::string>{});
}

TEST(ProgramBatches, HaveOneGroup) {
    const auto record = play_program(R"py(
peer, other = 1 - rank, new_group()
batch_isend_irecv([P2POp(isend, ones(1), peer), P2POp(irecv, zeros(1), peer, other)])
)py",
                                     two_ranks);
    EXPECT_EQ(last_words(record), "ValueError: All ops need to use the same group.");
}

}  // namespace
}  // namespace deadrank::tests

// tests/scenarios/format/fault_expression_test.cpp — A fault as one line, and what is said of a line that makes
// no sense.
#include "scenarios/format/fault_expression.h"

#include <gmock/gmock.h>

#include "runners/extension/extension.h"

namespace deadrank::scenarios {
namespace {

using testing::HasSubstr;

const Vocabulary& words() {
    static const Vocabulary vocabulary = runners::vocabulary();
    return vocabulary;
}

std::string written(const Settings& settings) {
    std::string text;
    for (const auto& [name, setting] : settings) {
        const std::string value = !setting.selector.empty() ? setting.selector
                                  : setting.options.empty() ? "?"
                                                            : value_text(setting.options.front());
        text += name + "=" + value + " ";
    }
    return text;
}

// "kill_rank rank=1 | before=all_reduce nth=7", or the error with its column.
std::string read(const std::string& line) {
    const auto fault = read_fault_expression(line, words());
    if (!fault) return std::to_string(fault.error().place.column) + ": " + fault.error().what + " — " +
                       fault.error().remedy;
    return fault->kind + " " + written(fault->parameters) + "| " + written(fault->when.values);
}

TEST(FaultExpression, SaysWhoWhatAndWhenInAnyOrder) {
    EXPECT_EQ(read("kill rank 1 before all_reduce 7"), "kill_rank rank=1 | before=all_reduce nth=7 ");
    EXPECT_EQ(read("kill before all_reduce 7 rank 1"), read("kill rank 1 before all_reduce 7"));
    EXPECT_EQ(read("skip all_reduce 7 rank 1"), "skip_collective rank=1 | before=all_reduce nth=7 ");
    EXPECT_EQ(read("delay all_reduce 7 30s rank 1"), "delay_collective by=30s rank=1 | before=all_reduce nth=7 ");
    EXPECT_EQ(read("flip bit 30 of all_gather 3 rank 0"), "flip_bits bit=30 rank=0 | before=all_gather nth=3 ");
    EXPECT_EQ(read("slow rank 3 x4 from step 5"), "slow_rank factor=4x rank=3 | step=5 ");
    EXPECT_EQ(read("disk full at checkpoint"), "fill_storage | phase=checkpoint ");
    EXPECT_EQ(read("unset MASTER_PORT rank 1"), "unset_env name=MASTER_PORT rank=1 | ");
    EXPECT_EQ(read("set NCCL_ALGO=Ring rank 0"), "set_env name=NCCL_ALGO rank=0 value=Ring | ");
    EXPECT_EQ(read("cut link node0-node1 for 20s at step 2"), "drop_link node=0, 1 | lasts=20s step=2 ");
    EXPECT_EQ(read("pause rank 1 for 90s at step 4"), "pause_rank for=90s rank=1 | step=4 ");
    EXPECT_EQ(read("slow ranks 1,3 x2 in backward until step 9"),
              "slow_rank factor=2x rank=1, 3 | phase=backward until_step=9 ");
    EXPECT_EQ(read("crash rank 1 at 90s"), "kill_rank rank=1 signal=11 | at=90s ");
    EXPECT_EQ(read("skip all_gather on tp always rank any 2"),
              "skip_collective rank=any 2 | always=true before=all_gather comm=tp ");
}

TEST(FaultExpression, TakesAnyKindByItsOwnNameAndParameters) {
    EXPECT_EQ(read("stale_read path=model.pt at step 3"), "stale_read path=model.pt | step=3 ");
    EXPECT_EQ(read("device_fault rank=2 xid=48 fatal=false at step 1"),
              "device_fault fatal=false rank=2 xid=48 | step=1 ");
}

TEST(FaultExpression, DrawsARankThatIsNotNamed) {
    EXPECT_EQ(read("kill before all_reduce 2"), "kill_rank rank=any | before=all_reduce nth=2 ");
}

TEST(FaultExpression, PointsAtTheWrongWordAndOffersTheNearest) {
    EXPECT_THAT(read("kil rank 1"), HasSubstr("1: there is no fault 'kil' — did you mean 'kill'?"));
    EXPECT_THAT(read("kill rank 1 before all_reduc 3"),
                HasSubstr("20: there is no call 'all_reduc' — did you mean 'all_reduce'?"));
    EXPECT_THAT(read("kill rank 1 befor all_reduce"), HasSubstr("13: 'befor' means nothing here"));
    EXPECT_THAT(read("kill rank 1 at chekpoint"),
                HasSubstr("16: 'chekpoint' is no moment — did you mean 'checkpoint'?"));
    EXPECT_THAT(read("kill rank"), HasSubstr("6: 'rank' ends the line"));
    EXPECT_THAT(read("kill rank one"), HasSubstr("11: "));
    EXPECT_THAT(read("kill rank 1 rank 2"), HasSubstr("'rank' is said twice"));
    EXPECT_THAT(read("kill rank 1 30s"), HasSubstr("kill_rank takes no duration"));
    EXPECT_THAT(read("flip bits=3"), HasSubstr("flip_bits has no 'bits'"));
    EXPECT_THAT(read("lose at step 3"), HasSubstr("lose_node lacks 'node'"));
    EXPECT_THAT(read(""), HasSubstr("the fault is empty"));
}

// The help of `deadrank inject` prints these.
TEST(FaultExpression, ReadsEachOfItsOwnExamples) {
    for (const FaultVerb& verb : fault_verbs()) {
        const auto fault = read_fault_expression(verb.example, words());
        ASSERT_TRUE(fault) << verb.example << ": " << fault.error().text();
        EXPECT_EQ(fault->kind, id_of(verb.kind)) << verb.example;
    }
}

}  // namespace
}  // namespace deadrank::scenarios

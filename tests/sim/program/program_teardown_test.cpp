// tests/sim/program/program_teardown_test.cpp — Goal: how a program ends: destroy_process_group waits as NCCL
// does, and a hang there is told about the rank that is missing; exit handlers run; training may stop early.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

Words of_torch(const std::string& version) {
    return {{"gpus_per_node", "2"}, {"nodes", "1"}, {"versions", "{ torch = \"" + version + "\" }"}};
}

std::vector<results::Finding> findings_in(const runners::Record& record) {
    return results::detect(record.evidence, results::all_detectors());
}

const Words unwatched = {{"gpus_per_node", "2"}, {"nodes", "1"}, {"watchdog", "false"}};

// How often a rank has said a line with these words.
int said(const runners::Record& record, std::string_view words, results::Rank rank = 0) {
    int times = 0;
    for (const results::Event* event : record.evidence.each<results::RankLog>())
        times +=
            event->rank == rank &&
            record.evidence.text(event->as<results::RankLog>()->line).find(words) != std::string_view::npos;
    return times;
}

void expect_quiet(const std::string& step, const Words& cluster = two_ranks) {
    const auto record = play_program(step, cluster);
    EXPECT_EQ(last_words(record), "") << step;
    EXPECT_EQ(symptoms_in(record), std::vector<std::string>{}) << step;
    EXPECT_TRUE(record.truth.completed()) << step;
}

TEST(ProgramTeardown, WaitsForTheOthersOfTheNode) {
    expect_quiet(R"py(
all_reduce(zeros(1))
begin = now()
sleep(f"{rank}s")
destroy_process_group()
assert now() - begin >= 1.0
)py");
}

TEST(ProgramTeardown, WaitsForNobodyOfAnotherNodeAndNotOverGloo) {
    const char* step = R"py(
all_reduce(zeros(1))
begin = now()
sleep(f"{3 * rank}s")
destroy_process_group()
assert rank > 0 or now() - begin < 1.0
sleep("4s")
)py";
    expect_quiet(step, {{"gpus_per_node", "1"}, {"nodes", "2"}});
    expect_quiet(step, {{"gpus_per_node", "2"}, {"nodes", "1"}, {"library", "gloo"}});
}

TEST(ProgramTeardown, DoesNotWaitForWhoHasEnded) {
    expect_quiet(R"py(
all_reduce(zeros(1))
if rank == 1:
    exit(0)
sleep("1s")
destroy_process_group()
)py");
}

constexpr const char* cleanup = R"py(
all_reduce(zeros(1))
try:
    if rank == 1:
        raise RuntimeError("a sample is broken")
    all_reduce(zeros(4))
finally:
    destroy_process_group()
)py";

TEST(ProgramTeardown, InFinallyHangsWhereOthersAreInACollective) {
    const auto record = play_program(cleanup, unwatched);
    const auto found = findings_in(record);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().symptom, "collective_deadlock_hang");
    EXPECT_EQ(found.front().blame.ranks, std::vector<results::Rank>{1});
    EXPECT_EQ(found.front().causes.front(), "unpropagated_rank_failure");
    EXPECT_NE(found.front().says.find("waits in destroy_process_group"), std::string::npos)
        << found.front().says;
    EXPECT_EQ(said(record, "Starting to destroy process group", 1), 1);
    EXPECT_EQ(said(record, "Operations flushed", 1), 0);
    EXPECT_EQ(said(record, "a sample is broken", 1), 0);
}

// The rank that waits is not the one that is missing.
// A watchdog ends the rank that waits in the collective; who is left goes on, and says what was wrong.
TEST(ProgramTeardown, EndsWithTheWatchdogOfTheOthers) {
    const auto record = play_program(cleanup);
    EXPECT_GE(said(record, "Watchdog caught collective operation timeout"), 1);
    EXPECT_EQ(said(record, "a sample is broken", 1), 1);
}

TEST(ProgramTeardown, NamesWhoNeverComes) {
    const auto record = play_program(R"py(
all_reduce(zeros(1))
if rank == 0:
    destroy_process_group()
store_get("never", timeout="48h")
)py",
                                     unwatched);
    const auto found = findings_in(record);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().symptom, "collective_deadlock_hang");
    EXPECT_EQ(found.front().blame.ranks, std::vector<results::Rank>{1});
    EXPECT_NE(found.front().says.find("never entered destroy_process_group of world"), std::string::npos)
        << found.front().says;
}

TEST(ProgramTeardown, LetsOwnCallsEnd) {
    expect_quiet(R"py(
group = new_group()
x = ones(4)
if rank == 1:
    sleep("2s")
work = all_reduce(x, group=group, async_op=True)
begin = now()
destroy_process_group(group)
assert rank == 1 or now() - begin >= 1.9
)py");
}

TEST(ProgramTeardown, OfTheWorldIsThatOfAllGroups) {
    const auto record = play_program(R"py(
group = new_group(name="other")
all_reduce(ones(1), group=group)
destroy_process_group()
)py");
    EXPECT_EQ(said(record, "(other)"), 2);
    EXPECT_EQ(said(record, "Operations flushed"), 2);
}

TEST(ProgramTeardown, OfAnOlderTorchAborts) {
    const auto record = play_program(cleanup, of_torch("2.5.1"));
    EXPECT_EQ(said(record, "Starting to destroy", 1), 0);
    EXPECT_EQ(said(record, "a sample is broken", 1), 1);
}

TEST(ProgramAtExit, RunsTheLastOneFirstBehindATraceback) {
    const auto record = play_program(R"py(
def first():
    print("first")
def second():
    print("second")
    raise ValueError("in a handler")
atexit.register(first)
atexit.register(second)
if rank == 0:
    raise RuntimeError("broken")
)py");
    std::vector<std::string> lines;
    for (const results::Event* event : record.evidence.each<results::RankLog>())
        if (event->rank == 0) lines.emplace_back(record.evidence.text(event->as<results::RankLog>()->line));
    std::string all;
    for (const auto& line : lines) all += line + "|";
    EXPECT_NE(all.find("RuntimeError: broken|second|Exception ignored in atexit callback:"),
              std::string::npos)
        << all;
    EXPECT_EQ(all.find("RuntimeError: broken"), all.rfind("RuntimeError: broken")) << all;
    EXPECT_NE(all.find("ValueError: in a handler|first|"), std::string::npos) << all;
    EXPECT_EQ(said(record, "first", 1), 1);
}

TEST(ProgramEnd, TrainingMayStopEarly) {
    const Words more = {{"steps", "5"}, {"finish", "assert made == 2 and tidied == 2, made"}};
    const auto record = play_program(R"py(
def last():
    all_reduce(zeros(1))
    stop_training()
made += 1
try:
    if step == 1:
        last()
except:
    log("caught", level="error")
finally:
    tidied += 1
if step == 1:
    raise RuntimeError("it went on")
)py",
                                     two_ranks, "made = tidied = 0", more);
    EXPECT_EQ(last_words(record), "");
    EXPECT_EQ(ended_well(record), 2);
    EXPECT_EQ(symptoms_in(record), std::vector<std::string>{});
    const Words none = {{"steps", "5"}, {"finish", "log(\"over\")"}};
    const auto at_once = play_program("exit(1)", two_ranks, "stop_training()", none);
    EXPECT_EQ(ended_well(at_once), 2);
    EXPECT_EQ(said(at_once, "over"), 1);
}

TEST(ProgramCallsBeside, ABarrierMayGoOnBesideTheProgram) {
    expect_quiet(R"py(
if rank == 1:
    sleep("2s")
begin = now()
work = barrier(async_op=True)
assert now() - begin < 0.5
work.wait()
assert rank == 1 or now() - begin >= 1.9
)py");
}

TEST(ProgramHash, OfATextIsAnotherOneInEachProcess) {
    const std::string step = R"py(
mine = [hash(word) for word in ("a", "b", "layer.0")] + [hash(("a", 1))]
others = [None] * world_size
all_gather_object(others, mine)
assert hash(7) == 7 and hash(2.0) == 2 and hash("a") == mine[0]
assert (others[0][0] == others[1][0]) == same
assert (others[0][3] == others[1][3]) == same
)py";
    const auto drawn = play_program(step, two_ranks, "same = False");
    EXPECT_EQ(last_words(drawn), "");
    const auto stated = play_program(step, two_ranks, "same = True\nos.environ[\"PYTHONHASHSEED\"] = \"0\"");
    EXPECT_EQ(last_words(stated), "");
    EXPECT_EQ(last_words(play_program("hash([1])")), "TypeError: unhashable type: 'list'");
}

TEST(ProgramOperators, RefuseNoneInPythonsWords) {
    EXPECT_EQ(last_words(play_program("x = None * ones(2)")),
              "TypeError: unsupported operand type(s) for *: 'NoneType' and 'Tensor'");
    EXPECT_EQ(last_words(play_program("x = ones(2)\nx *= None")),
              "TypeError: unsupported operand type(s) for *=: 'Tensor' and 'NoneType'");
    EXPECT_EQ(last_words(play_program("x = ones(2) < None")),
              "TypeError: '<' not supported between instances of 'Tensor' and 'NoneType'");
}

}  // namespace
}  // namespace deadrank::tests

// tests/sim/program/program_machine_test.cpp — Goal: what a program does with files, memory and devices is
// what the machine below it does, and nothing that it asks for is passed over.
#include <gtest/gtest.h>

#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

template <class Payload>
std::vector<std::int64_t> steps_told(const runners::Record& record) {
    std::vector<std::int64_t> steps;
    for (const results::Event* event : record.evidence.each<Payload>())
        steps.push_back(event->template as<Payload>()->step);
    return steps;
}

const Words one_rank = {{"gpus_per_node", "1"}, {"nodes", "1"}};

// Goal: a save that ends steps later is of the step whose state it holds, and its load says the same.
TEST(ProgramMachine, ASaveSaysWhichStepItIsOf) {
    const char* step = R"py(
if step == 2:
    held = {"weights": ones(2) * step, "step": step}
if step == 4:
    save(held, "shared/later", step=2)
    save(held, "shared/now")
    assert load("shared/later")["step"] == 2
    load("shared/now")
)py";
    const auto record = play_program(step, one_rank, "", {{"steps", "6"}});
    EXPECT_EQ(last_words(record), "");
    EXPECT_EQ(steps_told<results::CheckpointSave>(record), (std::vector<std::int64_t>{2, 4}));
    EXPECT_EQ(steps_told<results::CheckpointLoad>(record), (std::vector<std::int64_t>{2, 4}));
    EXPECT_EQ(last_words(play_program("save(1, \"shared/x\", step=-1)", one_rank)),
              "ValueError: there is no step -1");
}

// Goal: plain files and folders are there for all ranks, refuse in Python's words, and are no checkpoints.
TEST(ProgramMachine, HasFoldersAndPlainFiles) {
    const char* step = R"py(
if rank == 0:
    assert not isdir("shared/run/logs") and isdir("shared") and isdir("node0")
    os.makedirs("shared/run/logs")
    assert isdir("shared/run") and os.path.isdir("shared/run/logs") and exists("shared/run")
    makedirs("shared/run/logs/", exist_ok=True)
    write_text("shared/run/lines", "one\n")
    write_text("shared/run/lines", "two\n", mode="a")
    assert read_text("shared/run/lines") == "one\ntwo\n"
    write_text("shared/run/lines", "new")
    assert read_text("shared/run/lines") == "new"
    assert listdir("shared/run") == ["shared/run/", "shared/run/lines", "shared/run/logs/"]
    remove("shared/run/lines")
    assert not exists("shared/run/lines")
    save(ones(1), "shared/run/model.pt")
barrier()
if rank == 1:
    said = []
    for act in (lambda: makedirs("shared/run"), lambda: makedirs("shared/run/model.pt", exist_ok=True),
                lambda: write_text("shared/run/model.pt", "", mode="x"), lambda: read_text("shared/none"),
                lambda: write_text("shared/other/x", ""), lambda: remove("shared/run"),
                lambda: rename("shared/run/model.pt", "shared/other/model.pt")):
        try:
            act()
            said.append("")
        except OSError as error:
            said.append(error)
    for line in said:
        log(line)
    assert load("shared/run/model.pt")[0] == 1.0
    save(ones(1), "shared/other/model.pt")
)py";
    const auto record = play_program(step, two_ranks);
    EXPECT_EQ(last_words(record, 0), "");
    EXPECT_EQ(last_words(record, 1), "RuntimeError: Parent directory shared/other does not exist.");
    std::vector<std::string> said;
    for (const results::Event* event : record.evidence.each<results::RankLog>())
        if (const std::string line(record.evidence.text(event->as<results::RankLog>()->line));
            line.starts_with("[Errno"))
            said.push_back(line);
    EXPECT_EQ(said, (std::vector<std::string>{"[Errno 17] File exists: 'shared/run'",
                                              "[Errno 17] File exists: 'shared/run/model.pt'",
                                              "[Errno 17] File exists: 'shared/run/model.pt'",
                                              "[Errno 2] No such file or directory: 'shared/none'",
                                              "[Errno 2] No such file or directory: 'shared/other/x'",
                                              "[Errno 21] Is a directory: 'shared/run'",
                                              "[Errno 2] No such file or directory: 'shared/run/model.pt' -> "
                                              "'shared/other/model.pt'"}));
    EXPECT_EQ(std::ranges::distance(record.evidence.each<results::CheckpointSave>()), 2)
        << "the saves alone, one of them refused";
    EXPECT_EQ(last_words(play_program("save(1, \"shared/other/model.pt\")", one_rank)), "")
        << "who makes no folders finds them there";
}

// Goal: of ranks that look and then act, one wins: by the order of their calls, and the same each time.
TEST(ProgramMachine, RacesForFilesHaveOneWinner) {
    const auto folder = play_program(R"py(
if not isdir("shared/run"):
    makedirs("shared/run")
)py",
                                     four_ranks);
    EXPECT_EQ(last_words(folder, 0), "");
    for (results::Rank rank = 1; rank < 4; ++rank)
        EXPECT_EQ(last_words(folder, rank), "FileExistsError: [Errno 17] File exists: 'shared/run'");
    const auto later = play_program(R"py(
sleep(f"{10 * rank}ms")
if not isdir("shared/run"):
    makedirs("shared/run")
)py",
                                    four_ranks);
    EXPECT_EQ(last_words(later, 3), "") << "who comes later sees it";
    const auto lock = play_program(R"py(
won = 0
try:
    write_text("shared/lock", str(rank), mode="x")
    won = 1
except FileExistsError:
    pass
write_text("shared/log", f"{rank}.", mode="a")
winners = ones(1) * won
all_reduce(winners)
assert winners[0] == 1.0 and len(read_text("shared/log")) == 8
)py",
                                   four_ranks);
    EXPECT_EQ(last_words(lock), "");
}

// Goal: host memory is the node's, which its ranks share, and comes back; where it is full the kernel kills.
TEST(ProgramMachine, TakesHostMemoryOfItsNode) {
    Words small = two_ranks;
    small["host_memory"] = "3GiB";
    const char* fits = R"py(
h = allocate("1GiB", device="cpu")
barrier()
free(h)
h = allocate("1GiB", device=-1)
)py";
    EXPECT_TRUE(play_program(fits, small).truth.completed());
    const auto full = play_program("h = allocate(\"2GiB\", device=\"cpu\")\nbarrier()", small);
    EXPECT_FALSE(full.truth.completed());
    bool killed = false;
    for (const results::Event* event : full.evidence.each<results::RankLog>())
        killed |=
            full.evidence.text(event->as<results::RankLog>()->line).find("Out of memory: Killed process") !=
            std::string::npos;
    EXPECT_TRUE(killed);
    EXPECT_EQ(symptoms_in(full), std::vector<std::string>{"host_resource_exhaustion"});
}

TEST(ProgramMachine, RefusesDevicesThatTheNodeDoesNotHave) {
    const std::pair<const char*, const char*> cases[] = {
        {"allocate(1, device=2)",
         "torch.AcceleratorError: CUDA error: invalid device ordinal: 2, where the node has 0 to 1"},
        {"allocate(1, device=\"cuda:9\")",
         "torch.AcceleratorError: CUDA error: invalid device ordinal: 9, where the node has 0 to 1"},
        {"allocate(1, device=\"gpu\")",
         "RuntimeError: Expected one of cpu, cuda device type at start of device string: gpu"},
        {"set_device(-2)",
         "torch.AcceleratorError: CUDA error: invalid device ordinal: -2, where the node has 0 to 1"},
        {"torch.cuda.set_device(\"cpu\")", "ValueError: Expected a cuda device, but got: cpu"},
    };
    for (const auto& [step, words] : cases) EXPECT_EQ(last_words(play_program(step)), words) << step;
    EXPECT_EQ(
        last_words(play_program("assert allocate(1, device=\"cuda\") != allocate(1, device=\"cuda:1\")\n"
                                "try:\n    allocate(1, device=9)\nexcept RuntimeError as e:\n    pass")),
        "");
}

// Goal: what a rank puts on another's device opens a context there, as a loader's thread does.
TEST(ProgramMachine, OpensAContextWhereItAllocates) {
    const auto own = play_program("h = allocate(\"1GiB\", device=local_rank)\nbarrier()");
    EXPECT_EQ(symptoms_in(own), std::vector<std::string>{});
    const auto stranger = play_program("h = allocate(\"1GiB\", device=0)\nbarrier()");
    EXPECT_EQ(symptoms_in(stranger), std::vector<std::string>{"unbalanced_rank_memory"});
}

// As with one GPU a task: each process sees one device, whatever its LOCAL_RANK is.
TEST(ProgramMachine, ChoosesAmongTheDevicesThatItSees) {
    using scenarios::Value;
    using enum scenarios::ValueType;
    scenarios::Plan plan = plan_of(
        "program",
        {{"steps", "1"},
         {"start", "own"},
         {"setup", "set_device(0)\nassert local_rank == rank\ninit_process_group()"},
         {"step", "all_reduce(ones(1))\nassert current_device() == 0 and device_count() == 2 - rank"}},
        two_ranks);
    plan.faults.push_back({.kind = "set_env",
                           .parameters = {{"rank", Value{.type = ranks, .list = {1}}},
                                          {"name", Value{.type = text, .text = "CUDA_VISIBLE_DEVICES"}},
                                          {"value", Value{.type = text, .text = "1"}}},
                           .when = {.at_start = true}});
    const auto one_each = played(plan);
    EXPECT_EQ(last_words(one_each, 0), "");
    EXPECT_EQ(last_words(one_each, 1), "");
    EXPECT_TRUE(one_each.truth.completed());
}

// Goal: a program chooses its device, and two ranks that chose one are refused by NCCL.
TEST(ProgramMachine, ChoosesItsDevice) {
    const char* other = R"py(
torch.cuda.set_device((local_rank + 1) % torch.cuda.device_count())
assert torch.cuda.current_device() == 1 - local_rank and local_rank == rank
init_process_group()
assert local_rank == rank
)py";
    const auto exchanged = play_program("all_reduce(ones(1))", two_ranks, other, {{"start", "own"}});
    EXPECT_EQ(last_words(exchanged), "");
    std::vector<std::int32_t> bound;
    for (const results::Event* event : exchanged.evidence.each<results::DeviceBind>())
        bound.push_back(event->as<results::DeviceBind>()->device);
    EXPECT_EQ(bound, (std::vector<std::int32_t>{1, 0}));
    const auto same = play_program("all_reduce(ones(1))", two_ranks, "set_device(0)\ninit_process_group()",
                                   {{"start", "own"}});
    EXPECT_NE(last_words(same).find("Duplicate GPU detected"), std::string::npos) << last_words(same);
    EXPECT_EQ(symptoms_in(same), std::vector<std::string>{"communication_setup_failure"});
    const auto later = play_program("pass", two_ranks, "set_device(\"cuda:0\")\ng = new_group()");
    EXPECT_NE(last_words(later).find("Duplicate GPU detected"), std::string::npos) << last_words(later);
    Words gloo = two_ranks;
    gloo["library"] = "gloo";
    EXPECT_EQ(last_words(play_program("all_reduce(ones(1))", gloo, "set_device(0)\ninit_process_group()",
                                      {{"start", "own"}})),
              "");
}

// Goal: what the manual says of files, exceptions and early ends is so.
TEST(ProgramMachine, EndsAreFoundAsTheManualSays) {
    const auto of = [](const char* step, const Words& more = {}) {
        return symptoms_in(play_program(step, two_ranks, "", more));
    };
    using Found = std::vector<std::string>;
    EXPECT_EQ(of("save(rank, \"shared/both\")"), Found{"reshard_restore_failure"});
    EXPECT_EQ(of("load(\"run/ckpt_3/rank0\")"), Found{"checkpoint_unreadable"});
    EXPECT_EQ(of("load(\"outputs/train/rank0\")"), Found{"checkpoint_unreadable"});
    const std::string missing = "raise FileNotFoundError(\"[Errno 2] No such file or directory: ";
    EXPECT_EQ(of((missing + "'run/ckpt_3/a'\")").c_str()), Found{"checkpoint_unreadable"});
    EXPECT_EQ(of((missing + "'outputs/a'\")").c_str()), Found{"model_or_data_loading_failure"});
    EXPECT_EQ(of("raise AssertionError(\"no\")"), Found{"framework_runtime_exception"});
    EXPECT_EQ(of("assert rank < 0"), Found{"framework_runtime_exception"});
    Words tested = two_ranks;
    tested["launcher"] = "test";
    EXPECT_EQ(symptoms_in(play_program("assert rank < 0", tested)), Found{"ci_or_test_failure"});
    Words bare = two_ranks;
    bare["launcher"] = "bare";
    Words hosted = two_ranks;
    hosted["store"] = "rank";
    for (const Words& cluster : {bare, hosted})
        EXPECT_EQ(symptoms_in(
                      play_program("if rank == 0:\n    exit()\nsleep(\"5s\")\nstore_get(\"key\")", cluster)),
                  Found{"remote_peer_connection_error"});
    const auto kept = play_program(
        "store_set(\"key\", 3)\nif rank == 0:\n    exit()\nsleep(\"5s\")\nassert store_get(\"key\") == '3'");
    EXPECT_EQ(last_words(kept, 1), "") << "torchrun's agent keeps it";
    EXPECT_TRUE(symptoms_in(kept).empty());
    for (const results::Event* event : kept.evidence.each<results::RankLog>())
        EXPECT_EQ(kept.evidence.text(event->as<results::RankLog>()->line), "") << "exit() says nothing";
    EXPECT_EQ(of("store_get(\"key\", timeout=\"2s\") if rank == 1 else sleep(\"4s\")"),
              Found{"communication_setup_failure"});
    const auto left =
        play_program("all_reduce(ones(1)) if step < 2 else 0\nif step == 3 and rank == 1:\n    exit(0)",
                     two_ranks, "", {{"steps", "6"}});
    EXPECT_EQ(last_words(left, 1), "");
    EXPECT_TRUE(symptoms_in(left).empty()) << symptoms_in(left).front();
    EXPECT_TRUE(left.truth.completed());
}

// Goal: of several wrong values one finding speaks, in the order and with the tolerance that the manual says.
TEST(ProgramMachine, OneOfSeveralWrongValuesIsTold) {
    const auto first = [](const char* step) {
        const auto record = play_program(step, two_ranks);
        return results::detect(record.evidence, results::all_detectors());
    };
    const std::string all =
        "all_reduce(ones(1))\nreference(\"r\", 1, 2)\nrestored(\"s\", 1, 2)\ncheck(\"c\", 1, "
        "2)\ndigest(\"d\", tensor([rank]))\n";
    const auto told = first(all.c_str());
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told.front().symptom, "replica_state_divergence");
    const auto names =
        first("all_reduce(ones(1))\ncheck(\"a\", 1, 2 if rank == 0 else 1)\ncheck(\"b\", 1, 2)");
    ASSERT_EQ(names.size(), 1U);
    EXPECT_EQ(names.front().blame.variable, "a");
    EXPECT_EQ(names.front().blame.ranks, std::vector<results::Rank>{0});
    EXPECT_TRUE(first("all_reduce(ones(1))\ncheck(\"v\", 1.0, 1.0 + 8 / 65536)").empty());
    EXPECT_FALSE(first("all_reduce(ones(1))\ncheck(\"v\", 1.0, 1.0 + 9 / 65536)").empty());
}

}  // namespace
}  // namespace deadrank::tests

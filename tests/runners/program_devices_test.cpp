// tests/runners/program_devices_test.cpp — Goal: tensors lie where a program says, and what meets on two
// devices, or is handed to a library that does not reach it, is refused as by torch; groups have bounds of
// their own.
#include <gtest/gtest.h>

#include "runners/pipeline/play_trial.h"
#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

constexpr const char* two_devices =
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, ";

TEST(ProgramDevices, WhatMeetsOnTwoDevicesIsRefused) {
    const std::pair<const char*, std::string> cases[] = {
        {"ones(2).cuda() + ones(2)", "cuda:0 and cpu!"},
        {"ones(2) + ones(2).cuda()", "cuda:0 and cpu!"},
        {"x = ones(2, device=\"cuda:0\")\nx += ones(2, device=\"cuda:1\")", "cuda:0 and cuda:1!"},
        {"ones(2, 2, device=\"cpu\") @ ones(2, device=\"cuda\")",
         "cpu and cuda:0! (when checking argument for argument mat2 in method wrapper_CUDA_mm)"},
        {"cat([zeros(1).cuda(), zeros(1)])",
         "cuda:0 and cpu! (when checking argument for argument tensors in method wrapper_CUDA_cat)"},
        {"where(ones(2).cuda() > 0, ones(2), 0.0)", "cuda:0 and cpu!"},
        {"stack([zeros(1).cuda(), zeros(1)])",
         "cuda:0 and cpu! (when checking argument for argument tensors in method wrapper_CUDA_cat)"},
    };
    for (const auto& [step, words] : cases) {
        const auto record = play_program(step);
        EXPECT_TRUE(last_words(record).starts_with(two_devices)) << step << last_words(record);
        EXPECT_NE(last_words(record).find(words), std::string::npos) << step << last_words(record);
        EXPECT_EQ(symptoms_in(record).front(), "wrong_device_used") << step;
    }
}

TEST(ProgramDevices, TensorsSayWhereTheyLie) {
    const char* step = R"py(
here = device("cuda", local_rank)
x = ones(4)
y = x.to(here)
assert x.device == "cpu" and not x.is_cuda and y.is_cuda
assert y.device == f"cuda:{rank}" and y.device.type == "cuda" and y.device.index == rank
assert y.to(here) is y and y.cpu().device == "cpu" and y.to("float16").device == y.device
assert zeros_like(y).device == y.device and y[1:3].device == y.device and (y * 2 + 1).device == y.device
assert y.reshape(2, 2).sum(0).device == y.device and (y > 0).device == y.device and x.to(y).device == y.device
z = y * tensor(0.5)
assert y.sum().item() == 4.0 and z.device == y.device and tensor(0.5).dim() == 0 and tensor(0.5).item() == 0.5
x.copy_(y)
y[0:2] = zeros(2)
assert y[tensor([2, 3])].sum() == 2.0 and x.sum() == 4.0
set_default_device("cuda")
assert zeros(1).device == y.device and x.device == "cpu"
all_reduce(y)
digest("y", y)
loss(y.sum())
)py";
    const auto record = play_program(step);
    EXPECT_EQ(last_words(record), "");
    EXPECT_EQ(symptoms_in(record), std::vector<std::string>{}) << "replicas on two devices are alike";
    EXPECT_EQ(last_words(play_program("x = ones(2)\nall_reduce(x)\nassert x.device == f\"{x.device}\"")), "")
        << "who speaks of no device need not think of them";
}

TEST(ProgramDevices, CallsMoveWhatTheirLibraryReaches) {
    EXPECT_EQ(last_words(play_program("all_reduce(ones(2, device=\"cpu\"))")),
              "RuntimeError: No backend type associated with device type cpu");
    EXPECT_EQ(
        last_words(play_program("all_reduce(ones(2, device=\"cuda:0\"))"), 1),
        "torch.distributed.DistBackendError: Attempt to perform collective on tensor not on device passed to "
        "init_process_group");
    EXPECT_EQ(
        last_words(play_program("x = ones(2, device=\"cpu\")\nbroadcast(x, 0, group=g)\nsend(x, 1, group=g) "
                                "if rank == 0 else recv(x, 0, group=g)",
                                two_ranks, "g = new_group(backend=\"gloo\")")),
        "");
    Words gloo = two_ranks;
    gloo["library"] = "gloo";
    EXPECT_EQ(last_words(play_program("all_reduce(ones(2, device=\"cpu\"))", gloo)), "");
    EXPECT_EQ(last_words(play_program("all_reduce(ones(2, device=\"cpu\"), group=g)", gloo,
                                      "g = new_group(backend=\"nccl\")")),
              "RuntimeError: No backend type associated with device type cpu");
}

// Goal: a word that names the node's memory says nothing of tensors that were made elsewhere.
TEST(ProgramDevices, TheNodesMemoryIsNoPlacement) {
    const char* loads =
        "if rank == 0:\n  save({\"w\": ones(2).cpu()}, \"shared/w\")\nbarrier()\nhost = \"cpu\"\n"
        "w, x = zeros(2), load(\"shared/w\", map_location=host)[\"w\"]\n"
        "y = load(\"shared/w\", map_location=\"cpu\")[\"w\"].to(\"cpu\")\n"
        "w.copy_(x)\nall_reduce(w)\nassert w.sum() == 4.0 and x.device == \"cpu\" and y.device == \"cpu\"\n";
    EXPECT_EQ(last_words(play_program(loads)), "");
    EXPECT_EQ(last_words(play_program(loads + std::string("all_reduce(x)"))),
              "RuntimeError: No backend type associated with device type cpu");
    EXPECT_EQ(last_words(play_program("all_reduce(ones(1)) if get_backend() == \"nccl\" else 0", two_ranks,
                                      "assert get_backend(new_group(backend=\"gloo\")) == \"gloo\"")),
              "");
}

// Goal: NCCL's refusal names no line; the log says which one to mend.
TEST(ProgramDevices, TheLogSaysWhyATensorLiesInTheNodesMemory) {
    const auto warned = [](const char* step, const char* setup) {
        const auto record = play_program(step, two_ranks, setup);
        EXPECT_EQ(last_words(record), "RuntimeError: No backend type associated with device type cpu");
        std::string said;
        for (const results::Event* event : record.evidence.each<results::RankLog>())
            if (event->as<results::RankLog>()->level == 1)
                said = record.evidence.text(event->as<results::RankLog>()->line);
        return said;
    };
    EXPECT_EQ(warned("all_reduce(w)", "x = ones(1).cuda()\nw = zeros(1)"),
              "the tensor was made without a device in line 2 of setup, and so lies in the node's memory, as "
              "line 1 of setup puts others on a device");
    EXPECT_EQ(warned("w = rand(2)\nall_reduce(w)", "d = \"cuda\"\nx = ones(1).to(d)"),
              "the tensor was made without a device in line 1 of step, and so lies in the node's memory, as "
              "line 1 of setup puts others on a device");
    EXPECT_EQ(warned("x = ones(1, device=\"cpu\")\nall_reduce(x)", ""), "");
}

// Goal: until it chooses one, a process of its own start has device 0, as with CUDA.
TEST(ProgramDevices, TheFirstDeviceIsThatOfAllWhoChooseNone) {
    const Words own = {{"start", "own"}};
    const char* forgets = "if world_size == 0:\n  set_device(local_rank)\ninit_process_group()";
    const auto record = play_program("all_reduce(ones(1))", two_ranks, forgets, own);
    EXPECT_NE(last_words(record).find("Duplicate GPU detected"), std::string::npos) << last_words(record);
    const char* late = "assert current_device() == 0\nset_device(local_rank)\ninit_process_group()";
    EXPECT_EQ(last_words(play_program("all_reduce(ones(1, device=\"cuda\"))", two_ranks, late, own), 1), "");
    EXPECT_EQ(last_words(play_program("all_reduce(ones(1))", two_ranks, "init_process_group()", own)), "")
        << "who speaks of no device has the one that is meant for it";
}

// Goal: who uses a device before it chooses its own leaves a context and what it allocated there.
TEST(ProgramDevices, WhatWasUsedBeforeTheChoiceStaysWhereItIs) {
    const Words own = {{"start", "own"}};
    const auto play = [&](const std::string& first) {
        return play_program("all_reduce(ones(1, device=\"cuda\"))", two_ranks,
                            first + "\nset_device(local_rank)\ninit_process_group()", own);
    };
    const auto used = [](const auto& record, results::Rank rank) {
        std::int64_t bytes = 0;
        for (const results::Event* event : record.evidence.template each<results::MemorySample>())
            if (event->rank == rank) bytes = event->template as<results::MemorySample>()->used;
        return bytes;
    };
    constexpr std::int64_t context = 512 << 20, more = 1 << 30;
    const std::vector<std::string> told = {"unbalanced_rank_memory"};
    const auto made = play("x = ones(1, device=\"cuda:0\")");
    EXPECT_EQ(last_words(made, 1), "");
    EXPECT_EQ(symptoms_in(made), told);
    EXPECT_EQ(used(made, 0) - used(made, 1), context);
    const auto held = play("held = allocate(\"1GiB\", device=\"cuda:0\")");
    EXPECT_EQ(symptoms_in(held), told);
    EXPECT_EQ(used(held, 0) - used(held, 1), context + 2 * more);
    const auto nothing = play("x = ones(1)\nassert current_device() == 0");
    EXPECT_EQ(symptoms_in(nothing), std::vector<std::string>{});
    EXPECT_EQ(used(nothing, 0), used(nothing, 1));
    const auto chosen = play("set_device(local_rank)\nx = ones(1, device=\"cuda\")");
    EXPECT_EQ(symptoms_in(chosen), std::vector<std::string>{});
    EXPECT_EQ(used(chosen, 0), used(chosen, 1));
}

TEST(ProgramDevices, WhatIsLoadedLiesWhereItLay) {
    const char* saves = "if rank == 0:\n  save({\"w\": ones(2, device=\"cuda\")}, \"shared/w\")\nbarrier()\n";
    const auto play = [&](const std::string& step, const Words& more = {}) {
        return play_program(saves + step, two_ranks, "", more);
    };
    const auto stranger = play("x = load(\"shared/w\")[\"w\"]\nassert x.device == \"cuda:0\"");
    EXPECT_EQ(last_words(stranger, 1), "");
    EXPECT_EQ(symptoms_in(stranger), std::vector<std::string>{"unbalanced_rank_memory"});
    const auto mapped =
        play("x = load(\"shared/w\", map_location=\"cuda\")[\"w\"]\nassert x.device.index == rank");
    EXPECT_EQ(last_words(mapped, 1), "");
    EXPECT_EQ(symptoms_in(mapped), std::vector<std::string>{});
    const auto objects =
        play("all = all_gather_object(ones(1, device=\"cuda\"))\nassert all[1].device == \"cuda:1\"");
    EXPECT_EQ(last_words(objects), "");
    EXPECT_EQ(symptoms_in(objects), std::vector<std::string>{"unbalanced_rank_memory"});
}

// Goal: what was saved on a device that the process does not see is refused, unless it is told where to lie.
TEST(ProgramDevices, WhatLayOnAnUnseenDeviceIsRefused) {
    using scenarios::Value;
    using enum scenarios::ValueType;
    const auto play = [](const std::string& loads) {
        scenarios::Plan plan = plan_of("program",
                                       {{"steps", "1"},
                                        {"start", "own"},
                                        {"setup", "set_device(0)\ninit_process_group()"},
                                        {"step",
                                         "if rank == 0:\n  save(ones(1, device=\"cuda:1\"), "
                                         "\"shared/w\")\nbarrier()\nif rank == 1:\n  " +
                                             loads}},
                                       two_ranks);
        plan.faults.push_back({.kind = "set_env",
                               .parameters = {{"rank", Value{.type = ranks, .list = {1}}},
                                              {"name", Value{.type = text, .text = "CUDA_VISIBLE_DEVICES"}},
                                              {"value", Value{.type = text, .text = "1"}}},
                               .when = {.at_start = true}});
        return last_words(played(plan), 1);
    };
    EXPECT_EQ(
        play("load(\"shared/w\")"),
        "RuntimeError: Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1. "
        "Please use torch.load with map_location to map your storages to an existing device.");
    EXPECT_EQ(play("assert load(\"shared/w\", map_location=\"cuda\").device == \"cuda:0\""), "");
}

// Goal: a group's own bound rings when it is over, and leaves those of other groups alone.
TEST(ProgramDevices, GroupsHaveBoundsOfTheirOwn) {
    const auto rung = [](const char* setup, const char* step) {
        Words cluster = two_ranks;
        cluster["collective_timeout"] = "2m";
        const auto record = play_program(step, cluster, setup);
        return std::pair(last_words(record), record.evidence.events().back().at);
    };
    using std::chrono::seconds;
    const char* waits = "if rank == 0:\n  barrier(group=g)\nelse:\n  sleep(3600)";
    const auto soon = rung("g = new_group(timeout=timedelta(seconds=30))", waits);
    EXPECT_NE(soon.first.find("Timeout(ms)=30000) ran for"), std::string::npos) << soon.first;
    EXPECT_LT(soon.second, seconds(60));
    const auto usual = rung("g = new_group()", waits);
    EXPECT_NE(usual.first.find("Timeout(ms)=120000) ran for"), std::string::npos) << usual.first;
    const auto late = rung("g = new_group(timeout=\"10m\")", waits);
    EXPECT_NE(late.first.find("Timeout(ms)=600000) ran for"), std::string::npos) << late.first;
    // A call of the world is bounded as ever beside one that may take longer.
    const auto both = rung("g = new_group(timeout=\"10m\")",
                           "if rank == 0:\n  w = all_reduce(ones(1), group=g, async_op=True)\n  sleep(1)\n  "
                           "barrier()\nelse:\n  sleep(3600)");
    EXPECT_NE(both.first.find("Timeout(ms)=120000) ran for"), std::string::npos) << both.first;
}

TEST(ProgramDevices, DrawsAreThoseOfTheSeed) {
    const auto record = play_program(R"py(
manual_seed(7 + rank)
x, y = randn(1000), rand(2, 3)
assert x.shape == [1000] and y.shape == [2, 3] and y.min() >= 0.0 and y.max() < 1.0
assert abs(x.mean()) < 0.15 and abs(x.std() - 1) < 0.1
n = randint(0, 5, (50,))
assert n.dtype == "torch.int64" and n.min() == 0 and n.max() == 4
g, h = Generator(3), Generator(3)
assert g.randn(4).equal(randn(4, generator=h)) and g.rand(2, 2).shape == [2, 2]
assert sorted(randperm(5).tolist()) == [0, 1, 2, 3, 4]
manual_seed(7 + rank)
assert randn(1000).equal(x)
others = all_gather(x)
assert not others[0].equal(others[1])
manual_seed(0)
same = all_gather(randn(4))
assert same[0].equal(same[1])
)py");
    EXPECT_EQ(last_words(record), "");
    EXPECT_EQ(last_words(play_program("same = all_gather(rand(3))\nassert same[0].equal(same[1])")), "")
        << "without a seed all begin alike, as torch's do";
}

TEST(ProgramDevices, TextsMeanWhatTheyMeanInPython) {
    const auto record = play_program(R"py(
x = 3
assert f"a\tb{x}\n" == "a\tb3\n" and len(f"\t{x}") == 2
assert f"\"{x}\"" == '"3"' and f"\\{x}" == "\\3" and len("\d") == 2 and f"\d" == "\d"
)py");
    EXPECT_EQ(last_words(record), "");
}

// Goal: a world that was told no device takes that of its first tensor; a barrier before that guesses.
TEST(ProgramDevices, AWorldTakesTheDeviceOfItsFirstTensor) {
    const Words own = {{"start", "own"}};
    const auto ends = [&](const std::string& setup) {
        return last_words(play_program("loss(1.0)", two_ranks, setup, own));
    };
    const std::string reduces =
        "x = ones(2, device=f\"cuda:{local_rank}\")\nall_reduce(x)\nassert x.sum() == 4.0";
    EXPECT_EQ(ends("init_process_group()\n" + reduces), "");
    EXPECT_EQ(ends("init_process_group(device_id=local_rank)\n" + reduces), "");
    EXPECT_EQ(
        ends("init_process_group(device_id=device(\"cuda\", local_rank))\nassert current_device() == 0\n" +
             reduces),
        "");
    EXPECT_NE(ends("init_process_group()\nx = ones(2, device=\"cuda\")\nall_reduce(x)")
                  .find("Duplicate GPU detected"),
              std::string::npos);
    EXPECT_NE(ends("init_process_group(device_id=0)\n" + reduces).find("Duplicate GPU detected"),
              std::string::npos);
    const auto record =
        play_program("loss(1.0)", two_ranks, "init_process_group()\nbarrier()\n" + reduces, own);
    EXPECT_EQ(last_words(record), "");
    int guesses = 0;
    for (const results::Event* event : record.evidence.each<results::RankLog>())
        guesses += record.evidence.text(event->as<results::RankLog>()->line).find("currently unknown") !=
                   std::string::npos;
    EXPECT_EQ(guesses, 2);
    EXPECT_TRUE(last_words(play_program("loss(1.0)", two_ranks,
                                        "init_process_group(device_id=local_rank)\n"
                                        "all_reduce(ones(2, device=\"cuda:0\"))",
                                        own),
                           1)
                    .starts_with("torch.distributed.DistBackendError: Attempt to perform collective on"));
}

// Goal: what stands between init_process_group and the first call decides on the device, and no alarm rings.
TEST(ProgramDevices, AWorldIsConnectedByItsFirstCall) {
    const Words own = {{"start", "own"}};
    const auto play = [&](const std::string& setup) {
        return play_program("loss(1.0)", two_ranks, setup, own);
    };
    const auto quiet = [&](const auto& record) {
        EXPECT_EQ(last_words(record), "");
        EXPECT_EQ(symptoms_in(record), std::vector<std::string>{});
    };
    quiet(play("init_process_group()\nset_device(local_rank)\nbarrier()"));
    quiet(play("init_process_group()\nall_reduce(ones(2, device=f\"cuda:{local_rank}\"))"));
    quiet(
        play("init_process_group()\nwith torch.cuda.device(local_rank):\n    g = new_group(name=\"g\")\n"
             "all_reduce(ones(2, device=f\"cuda:{local_rank}\"), group=g)"));
    const auto late =
        play("init_process_group()\nx = ones(1, device=\"cuda\")\nbarrier()\nset_device(local_rank)");
    EXPECT_NE(last_words(late).find("Duplicate GPU detected"), std::string::npos) << last_words(late);
}

}  // namespace
}  // namespace deadrank::tests

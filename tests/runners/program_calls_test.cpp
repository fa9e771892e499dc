// tests/runners/program_calls_test.cpp — Goal: what torch programs call among ranks moves the right numbers,
// and where ranks do not agree each meets what the library gives.
#include <gtest/gtest.h>

#include "results/detectors/detector.h"
#include "runners/pipeline/play_trial.h"
#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

std::vector<results::Finding> found_in(const runners::Record& record) {
    return results::detect(record.evidence, results::all_detectors());
}

std::vector<std::string> symptoms(const runners::Record& record) {
    std::vector<std::string> found;
    for (const auto& finding : found_in(record)) found.push_back(finding.symptom);
    return found;
}

void expect_silent(const char* step, const std::string& setup = "") {
    const auto record = play_program(step, four_ranks, setup);
    for (results::Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(last_words(record, rank), "") << rank;
    EXPECT_TRUE(record.truth.completed());
    EXPECT_TRUE(symptoms(record).empty()) << symptoms(record).front();
}

TEST(ProgramCalls, MoveUnequalParts) {
    expect_silent(R"py(
sends = [(rank + peer) % 3 for peer in range(world_size)]
takes = [(rank + peer) % 3 for peer in range(world_size)]
x = cat([full([n], float(10 * rank + peer)) for peer, n in enumerate(sends)])
y = zeros(sum(takes))
all_to_all_single(y, x, takes, sends)
assert y.tolist() == [float(10 * peer + rank) for peer, n in enumerate(takes) for i in range(n)], y
out = [zeros(rank + 1) for peer in range(world_size)]
all_to_all(out, [ones(peer + 1) * rank for peer in range(world_size)])
assert [o[0] for o in out] == [0.0, 1.0, 2.0, 3.0]
parts = [zeros(peer + 1) for peer in range(world_size)]
all_gather(parts, ones(rank + 1) * rank)
assert [p.tolist() for p in parts] == [[float(peer)] * (peer + 1) for peer in range(world_size)]
same = [zeros(2) for peer in range(world_size)]
dist.all_gather(same, ones(2) * rank)
assert same[3].tolist() == [3.0, 3.0]
mine = zeros(rank + 1)
reduce_scatter(mine, [ones(peer + 1) for peer in range(world_size)])
assert mine.tolist() == [4.0] * (rank + 1)
gathered = [zeros(rank_of + 1) for rank_of in range(world_size)] if rank == 2 else None
gather(ones(rank + 1) * rank, gathered, dst=2)
assert rank != 2 or gathered[3].tolist() == [3.0] * 4
got = zeros(2)
scatter(got, [ones(2) * peer for peer in range(world_size)] if rank == 1 else None, src=1)
assert got[0] == float(rank)
next_rank, before = (rank + 1) % world_size, (rank - 1) % world_size
box = zeros(1)
works = batch_isend_irecv([P2POp(isend, tensor([float(rank)]), next_rank), P2POp(irecv, box, before)])
for work in works:
    work.wait()
assert box[0] == float(before)
)py");
}

// Goal: exchanges with sizes that do not wait are under way together, in whatever order ranks begin them.
TEST(ProgramCalls, ExchangesWithSizesCanBeUnderWayTogether) {
    const char* step = R"py(
groups = [new_group(name="first"), new_group(name="second")]
takes = [2 if rank % 2 and peer % 2 else 1 for peer in range(world_size)]
sizes = [2 if rank % 2 and peer % 2 else 1 for peer in range(world_size)]
outs = [zeros(sum(takes)), zeros(sum(takes))]
works = [None, None]
for place in ([0, 1] if rank < 2 else [1, 0]):
    x = ones(sum(sizes)) * (rank + 10 * place)
    works[place] = all_to_all_single(outs[place], x, takes, sizes, group=groups[place], async_op=True)
assert outs[0].sum() == 0.0
for work in works:
    work.wait()
assert works[0].is_completed()
rows = [[zeros(peer + 1) for peer in range(world_size)] for place in (0, 1)]
for place in ([0, 1] if rank < 2 else [1, 0]):
    parts = [ones(rank + 1) * rank for peer in range(world_size)]
    works[place] = all_to_all(rows[place], parts, group=groups[place], async_op=True)
assert rows[0][rank][0] == 0.0
for work in works:
    work.wait()
assert [row[0] for row in rows[1]] == [0.0, 1.0, 2.0, 3.0]
began = now()
if rank == 0:
    sleep(3)
work = all_to_all_single(outs[0], ones(sum(sizes)), takes, sizes, async_op=True)
assert rank == 0 or now() - began < 1
work.wait()
assert now() - began > 2 and outs[0].sum() == float(sum(takes))
)py";
    expect_silent(step);
}

TEST(ProgramCalls, MoveObjects) {
    expect_silent(R"py(
filled = [None] * world_size
all_gather_object(filled, {"rank": rank})
assert [f["rank"] for f in filled] == [0, 1, 2, 3]
there = [None] * world_size if rank == 3 else None
gather_object(rank * rank, there, dst=3)
assert rank != 3 or there == [0, 1, 4, 9]
objects = ["a", {"b": 1}] if rank == 1 else [None, None]
broadcast_object_list(objects, src=1)
assert objects == ["a", {"b": 1}]
mine = [None]
scatter_object_list(mine, [[peer] for peer in range(world_size)] if rank == 0 else None)
assert mine == [[rank]]
monitored_barrier()
)py");
}

TEST(ProgramCalls, KnowGroupsByTheirMembers) {
    expect_silent(R"py(
assert get_process_group_ranks(mesh.get_group("tp")) == [rank // 2 * 2, rank // 2 * 2 + 1]
assert mesh["dp"].get_group().ranks == [rank % 2, rank % 2 + 2] and mesh.size("dp") == 2 and mesh.size() == 4
assert mesh.get_coordinate() == [rank // 2, rank % 2] and mesh.get_local_rank("tp") == rank % 2
tp = mesh.get_group("tp")
x = tensor([float(rank)])
all_reduce(x, group=tp)
assert x[0] == float(rank // 2 * 4 + 1)
y = tensor([float(rank)])
broadcast(y, group_src=1, group=tp)
assert y[0] == float(rank // 2 * 2 + 1) and get_global_rank(tp, 1) == rank // 2 * 2 + 1
assert get_group_rank(tp, rank) == rank % 2 and tp.rank() == rank % 2 and tp.size() == 2
own, every = new_subgroups(2)
assert own.ranks == tp.ranks and len(every) == 2 and is_initialized()
samples([rank // 2 * 10 + i for i in range(4)], group=tp)
barrier()
)py",
                  "mesh = init_device_mesh(\"cuda\", (2, 2), mesh_dim_names=(\"dp\", \"tp\"))\n");
}

// Goal: a mesh tells its dimensions, has parts of one and of several of them, and several made into one.
TEST(ProgramCalls, MeshesHaveUpToThreeDimensionsAndParts) {
    const char* step = R"py(
assert mesh.ndim == 3 and mesh.shape == [2, 2, 2] and mesh.mesh_dim_names == ["pp", "dp", "tp"]
assert mesh.size() == 8 and mesh.size(0) == 2 and mesh.size("tp") == 2 and mesh.size(mesh_dim=-1) == 2
assert mesh.get_coordinate() == [rank // 4, rank // 2 % 2, rank % 2]
assert [mesh.get_local_rank(d) for d in range(3)] == mesh.get_coordinate()
assert mesh.get_group("pp").ranks == [rank % 4, rank % 4 + 4]
assert mesh.get_group("dp").ranks == [rank - rank // 2 % 2 * 2, rank - rank // 2 % 2 * 2 + 2]
assert [g.ranks for g in mesh.get_all_groups()][2] == [rank // 2 * 2, rank // 2 * 2 + 1]
both = mesh["pp", "tp"]
assert both.ndim == 2 and both.shape == [2, 2] and both.mesh_dim_names == ["pp", "tp"]
assert mesh["tp"].ndim == 1 and mesh["tp"]._flatten().get_group() is mesh.get_group("tp")
flat = both._flatten()
first = rank // 2 % 2 * 2
assert flat.ndim == 1 and flat.get_group().ranks == [first, first + 1, first + 4, first + 5]
assert mesh["pp_tp"].size() == 4 and mesh["pp_tp"].get_local_rank() == rank // 4 * 2 + rank % 2
assert mesh.flatten("all").get_group().ranks == list(range(8))
x = ones(1)
all_reduce(x, group=mesh["pp_tp"].get_group())
assert x[0] == 4.0
line = init_device_mesh("cuda", (8,))
assert line.ndim == 1 and line.mesh_dim_names is None and line.get_local_rank() == rank
)py";
    const Words eight = {{"gpus_per_node", "8"}, {"nodes", "1"}};
    const char* setup = "mesh = init_device_mesh(\"cuda\", (2, 2, 2), (\"pp\", \"dp\", \"tp\"))\n";
    EXPECT_EQ(last_words(play_program(step, eight, setup)), "");
    EXPECT_EQ(
        last_words(play_program("mesh[\"tp\", \"dp\"]", eight, setup)),
        "KeyError: Invalid mesh_dim_names ('tp', 'dp') specified. Valid mesh_dim_names are ['pp', 'dp', "
        "'tp'].");
    EXPECT_EQ(last_words(play_program("mesh.shape = 1", eight, setup)),
              "AttributeError: attribute 'shape' of 'DeviceMesh' objects is not writable");
}

// Goal: small types round and overflow where torch's do.
TEST(ProgramCalls, RoundToTheirType) {
    expect_silent(R"py(
x = full([1], 60000.0, dtype="float16")
all_reduce(x)
assert x[0] == inf
y = full([1], 60000.0, dtype="float16") / world_size
work = all_reduce(y, async_op=True)
work.wait()
assert y[0] == 60000.0
z = tensor([1.0 + rank / 512]).to("bfloat16")
all_reduce(z)
assert z[0] == tensor([4.0]).to("bfloat16")[0]
i = full([1], 100, dtype="int8")
all_reduce(i)
assert i[0] == -112
p = tensor([2.0])
all_reduce(p, op=dist.ReduceOp.PRODUCT)
assert p[0] == 16.0
n = tensor([nan if rank == 1 else 1.0, inf if rank == 2 else 1.0])
all_reduce(n)
assert isnan(n[0]) and n[1] == inf
m = full([1], inf)
all_reduce(m, op="avg")
assert m[0] == inf
)py");
}

// Goal: what only a call within a group holds is there until the group's calls are over.
TEST(ProgramCalls, KeepWhatIsGivenToTheCallsOfAGroup) {
    const auto record = play_program(R"py(
group_start()
for peer in range(world_size):
    if peer != rank:
        send(full([64], float(rank)), peer)
        recv(zeros(64), peer)
all_reduce(ones(64))
group_end()
)py",
                                     four_ranks);
    EXPECT_TRUE(record.truth.completed());
    EXPECT_EQ(last_words(play_program("new_group([])", two_ranks), 0),
              "TypeError: __init__(): incompatible constructor arguments.");
}

// Goal: sizes that do not fit between ranks are met by the library, as messages that nobody sends.
TEST(ProgramCalls, WaitForRowsThatNobodySends) {
    const auto record = play_program(R"py(
sends = [1, 1, 1, 1]
takes = [1, 1, 1, 1]
if rank == 2:
    sends = [1, 1, 1, 0]
x = ones(sum(sends))
y = zeros(sum(takes))
all_to_all_single(y, x, takes, sends)
)py",
                                     four_ranks);
    const auto found = symptoms(record);
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(found.front().starts_with("collective_")) << found.front();
}

TEST(ProgramCalls, NameWhoDidNotPassAMonitoredBarrier) {
    const auto record =
        play_program("if rank == 2:\n    sleep(\"20s\")\nmonitored_barrier(timeout=\"5s\")", four_ranks);
    EXPECT_EQ(last_words(record, 0),
              "RuntimeError: [Rank 0]: Rank 2 failed to pass monitoredBarrier in 5000 ms");
    const auto findings = found_in(record);
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings.front().symptom, "collective_timeout_abort");
    EXPECT_EQ(findings.front().blame.ranks, (std::vector<results::Rank>{2}));
}

// Goal: each telling becomes the symptom that the manual's table says.
TEST(ProgramCalls, TellingsBecomeWhatTheManualSays) {
    const std::string loaded = "save(1, f\"shared/{rank}\")\nx = load(f\"shared/{rank}\")\n";
    EXPECT_EQ(symptoms(play_program(loaded + "check(\"v\", x, 2)")),
              std::vector<std::string>{"wrong_intermediate_value"});
    EXPECT_EQ(symptoms(play_program("restored(\"v\", 1, 2)")),
              std::vector<std::string>{"resume_state_regression"});
    EXPECT_EQ(symptoms(play_program("reference(\"v\", 1, 2)")),
              std::vector<std::string>{"parallel_result_mismatch"});
    EXPECT_EQ(symptoms(play_program("check(\"evaluation.samples\", 3, 4)")),
              std::vector<std::string>{"wrong_sample_coverage"});
    EXPECT_EQ(symptoms(play_program("samples([1, 2])")), std::vector<std::string>{"wrong_sample_coverage"});
    EXPECT_TRUE(symptoms(play_program("samples([1, 2], group=\"all\")")).empty());
    EXPECT_EQ(symptoms(play_program("samples([rank, 2 + rank], group=\"all\")")),
              std::vector<std::string>{"wrong_sample_coverage"});
    EXPECT_EQ(symptoms(play_program("raise NothingToTrain(\"rank 3\")")),
              std::vector<std::string>{"framework_runtime_exception"});
    EXPECT_EQ(
        symptoms(play_program("raise AssertionError(\"Cannot writeback when the parameter shape changes. "
                              "Expects torch.Size([16]) but got torch.Size([8, 8])\")")),
        std::vector<std::string>{"tensor_shape_or_dtype_error"});
}

// Goal: a rank that left a call out is found in that step, though its peers notice at the end.
TEST(ProgramCalls, ACallLeftOutIsFoundInItsStep) {
    const auto record = play_program(
        "for i in range(2):\n    if not (rank == 3 and step == 2 and i == 1):\n"
        "        all_reduce(ones(1))\n",
        four_ranks, "", {{"steps", "6"}});
    const auto findings = found_in(record);
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings.front().blame.ranks, (std::vector<results::Rank>{3}));
    EXPECT_EQ(findings.front().blame.step, 2);
}

// Goal: the files of a job that came before are there, whoever wrote them, and nothing else of it is seen.
TEST(ProgramCalls, AnEarlierJobLeavesItsFiles) {
    const Words earlier = {{"earlier", "save([rank, world_size], f\"old/{rank}\")"}, {"earlier_ranks", "6"}};
    const char* setup =
        "assert listdir(\"old/\") == [f\"old/{r}\" for r in range(6)]\nassert load(\"old/5\") == [5, 6]\n";
    const auto record = play_program("assert load(\"old/1\") == [1, 6]", four_ranks, setup, earlier);
    EXPECT_EQ(last_words(record), "");
    EXPECT_TRUE(record.evidence.each<results::CheckpointSave>().empty());
    const auto fewer = play_program("assert exists(\"old/1\") and not exists(\"old/2\")", four_ranks, "",
                                    {{"earlier", earlier.at("earlier")}, {"earlier_ranks", "2"}});
    EXPECT_EQ(last_words(fewer), "");
    const auto calls = play_program("pass", two_ranks, "", {{"earlier", "barrier()"}});
    EXPECT_EQ(last_words(calls),
              "RuntimeError: the job that came before is over: only what it saves is left");
}

}  // namespace
}  // namespace deadrank::tests

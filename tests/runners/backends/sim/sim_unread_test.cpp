// tests/runners/backends/sim/sim_unread_test.cpp — Goal: nothing that a workload declares is silently
// ignored: each setting changes some run, each seam and block is read in one, and each phase is entered, and
// no other.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runners/backends/sim/played_calls.h"
#include "scenarios/model/plan.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners {
namespace {

using scenarios::Parameter;
using scenarios::Values;
using scenarios::ValueType;
using Texts = std::map<std::string, std::string>;

// Settings that a workload does not have are left out, so that one list does for all.
struct Situation {
    Texts workload = {};
    Texts cluster = {};
    Disturbance disturbance = {};
};

const std::vector<Situation>& situations() {
    static const std::vector<Situation> all = {
        {},
        // Saved, killed, restored.
        {{}, {{"restarts_max", "1"}}, {.killed_before = "step", .killed_at = 3}},
        {{{"optimizer_steps", "true"}}, {{"restarts_max", "1"}}, {.killed_before = "step", .killed_at = 3}},
        {{{"checkpoint_keys", "strict"}, {"optimizer_steps", "true"}},
         {{"restarts_max", "1"}},
         {.killed_before = "step", .killed_at = 3}},
        {{{"load", "root"}}, {{"restarts_max", "1"}}, {.killed_before = "step", .killed_at = 3}},
        {{{"checkpoint_every", "0"}, {"load", "announced"}},
         {{"restarts_max", "1"}},
         {.killed_before = "step", .killed_at = 3}},
        {{{"checkpoint_every", "0"}, {"checkpoint_interval", "150ms"}}},
        {{{"checkpoint_finish", "1"}}, {}, {.seams = {{"checkpoint.helper", 9}}}},
        {{}, {{"versions", "megatron-core 0.15"}}},
        // Replicas that come and go.
        {{{"quorum", "reports"}},
         {{"restarts_max", "1"}},
         {.killed_before = "step", .killed_at = 3, .killed = 0}},
        {{{"quorum", "reports"}},
         {{"nodes", "1"}, {"gpus_per_node", "2"}},
         {.killed_before = "step", .killed_at = 3}},
        {{{"recovery", "checkpoint"}}, {{"restarts_max", "1"}}, {.killed_before = "step", .killed_at = 3}},
        // One never comes, or does not know its place.
        {{}, {{"launcher", "bare"}}, {.killed_before = "rendezvous"}},
        {{}, {}, {.environment = {{"RANK", "0"}}}},
        {{}, {}, {.environment = {{"RANK", "1x"}}}},
        {{}, {{"launcher", "mpirun"}}, {.environment = {{"RANK", ""}}}},
        {{{"exit_barrier", "true"}}, {}, {.lost_file = "rendezvous/store"}},
        {{{"conditional_reduce", "alone"}}},
        {{{"groups", "world"}, {"dp_size", "2"}}},
        {{{"groups", "world"}}},
        {{{"dp_size", "2"}}},
        // Data.
        {{{"samples", "8"}}},
        {{}, {}, {.seams = {{"sampler.steps", 2}}}},
        {{{"loader_workers", "1"}}, {}, {.seams = {{"loader.helper", 9}}}},
        {{{"loader_workers", "1"}}},
        {{{"loader_workers", "2"}, {"loader_time", "20ms"}}},
        {{{"compile_workers", "1"}}, {}, {.seams = {{"compile.helper", 9}}}},
        {{}, {}, {.seams = {{"compile.helper", 9}}}},
        {{{"batch", "4"}, {"micro_batches", "2"}}},
        {{{"sample_tokens", "uneven"}, {"normalise", "step"}}},
        {{{"branch_one_in", "2"}}},
        {{{"evaluate_every", "2"}, {"evaluation_samples", "20"}}},
        {{}, {}, {.seams = {{"sampler.balance", 0}}}},
        {{{"lengths", "long_tail"}}},
        // The optimizer, and what looks at it.
        {{{"dropout", "4"}}, {}, {.seams = {{"rng.seed", 7}}}},
        {{{"dropout", "4"}}},
        {{{"rate_scaling", "sqrt"}}},
        {{{"clip", "1/100"}}},
        {{{"auxiliary", "1/100"}}},
        {{{"collect_every", "2"}}},
        {{{"reference", "true"}}, {}, {.seams = {{"model.seed", 77}}}},
        {{}, {}, {.seams = {{"optimizer.learning_rate", 77}}}},
        {{{"audit", "true"}}, {}, {.left_out = {"gradient.all_reduce"}}},
        {{}, {}, {.left_out = {"activations.release"}}},
        {{{"pretrained", "true"}}, {}, {.left_out = {"weights.assign"}}},
        {{{"pretrained", "true"}}},
        {{{"saved_ranks", "3"}}},
        {{{"saved_ranks", "3"}}, {}, {.seams = {{"saved.first_number", 1}}}},
        {{{"saved_ranks", "3"}, {"saved_steps", "1"}, {"optimizer_steps", "true"}}},
        {{{"host_work", "20ms"}, {"copy_time", "10ms"}}},
        {{{"ranks_before", "4"}, {"ranks_after", "8"}}},
        {{{"overlap", "backward"}}},
        {{{"mixture", "4"}}},
        // Layouts.
        {{{"stage", "3"}}},
        {{{"stage", "3"}, {"fetch", "all_reduce"}}},
        {{{"stage", "3"}, {"fetch", "all_reduce"}, {"empty_parameters", "1"}, {"share_buffer", "true"}}},
        {{{"stage", "2"}, {"bucket", "5"}, {"unwritten", "nan"}}},
        {{{"stage", "2"}, {"bucket", "5"}}, {}, {.left_out = {"pack.wait"}}},
        {{{"stage", "3"}, {"fetch", "all_reduce"}, {"unwritten", "nan"}}, {}, {.left_out = {"fetch.clear"}}},
        {{{"stage", "3"}}, {}, {.left_out = {"fetch.mark_empty"}}},
        {{{"stage", "3"}, {"empty_parameters", "1"}}},
        {{{"offload", "true"}, {"width", "1"}}},
        {{{"clip", "1/100"}, {"stage", "2"}}},
        {{{"replicated_layers", "1"}}},
        {{{"exchange", "all_to_all"}}},
        {{}, {}, {.seams = {{"overflow.flag", 1}}}},
        {{{"rounds", "2"}}},
        {{{"fp8", "true"}}},
        {{}, {}, {.seams = {{"p2p.blocking", 1}}}},
        {{{"replica_sync", "true"}, {"idle_every", "2"}}},
        // A program that the scenario brings.
        {{{"step", "for i in range(9):\n    log(i)"}}},
        {{{"step", "x = zeros(8, device=\"cuda\")\nall_reduce(x)\nlog(memory_reserved())"}}},
        {{{"earlier", "save({\"a\": rank}, f\"run/{rank}\")"},
          {"setup", "log(str([other for other in range(8) if exists(f\"run/{other}\")]))"}}},
    };
    return all;
}

const Parameter* parameter_of(const std::vector<Parameter>& all, const std::string& name) {
    for (const Parameter& one : all) {
        if (one.name == name) return &one;
    }
    return nullptr;
}

Values values_of(const std::vector<Parameter>& known, const Texts& texts) {
    Values values;
    for (const auto& [name, text] : texts) {
        const Parameter* parameter = parameter_of(known, name);
        if (!parameter) continue;
        if (parameter->type == ValueType::table) {
            values[name] = {.type = ValueType::table, .table = {{"megatron-core", "0.15"}}};
            continue;
        }
        auto value = scenarios::parse_value(parameter->type, text);
        EXPECT_TRUE(value) << name << " = " << text;
        if (value) values[name] = std::move(*value);
    }
    return values;
}

Texts workload_texts(const Situation& situation) {
    Texts texts = {{"steps", "4"}, {"checkpoint_every", "2"}};
    for (const auto& [name, text] : situation.workload) texts[name] = text;
    return texts;
}

PlayedJob play_in(const sim::WorkloadKind& kind, const Situation& situation, const Texts& more = {}) {
    Texts texts = workload_texts(situation);
    for (const auto& [name, text] : more) texts[name] = text;
    auto job = played_calls(kind, values_of(scenarios::cluster_parameters(), situation.cluster),
                            values_of(kind.words.parameters, texts), situation.disturbance);
    EXPECT_TRUE(job);
    return std::move(*job);
}

// Does it change a situation that the workload has? One that it has nothing of is the first again.
bool is_played(const sim::WorkloadKind& kind, const Situation& situation) {
    for (const auto& [name, text] : situation.workload) {
        if (!parameter_of(kind.words.parameters, name)) return false;
    }
    return true;
}

std::vector<std::string> other_values(const Parameter& setting) {
    switch (setting.type) {
        case ValueType::boolean:
            return {setting.fallback == "true" ? "false" : "true"};
        case ValueType::integer:
            return {"2", "1", "4", "3"};
        case ValueType::duration:
            return {"40ms", "150ms", "20s"};
        case ValueType::bytes:
            return {"3MiB", "9TiB"};
        case ValueType::ratio:
            return {"1/50"};
        case ValueType::rate:
            return {"100Gbps"};
        case ValueType::text:
            return {"log(\"another text\")"};
        default:
            return setting.choices;
    }
}

class Declared : public testing::TestWithParam<std::string> {
protected:
    const sim::WorkloadKind& kind() const { return *sim::find_workload(GetParam()); }
};

TEST_P(Declared, EachSettingChangesSomeRun) {
    std::map<std::size_t, std::uint64_t> usual;  // hashes
    std::vector<std::string> unfelt;
    for (const Parameter& setting : kind().words.parameters) {
        bool felt = false;
        for (std::size_t i = 0; i < situations().size() && !felt; ++i) {
            const Situation& situation = situations()[i];
            if (!is_played(kind(), situation)) continue;
            if (!usual.contains(i)) usual[i] = play_in(kind(), situation).hash;
            for (const std::string& other : other_values(setting))
                felt = felt || play_in(kind(), situation, {{setting.name, other}}).hash != usual[i];
        }
        if (!felt) unfelt.push_back(setting.name);
    }
    EXPECT_EQ(fmt::format("{}", fmt::join(unfelt, ", ")), "") << "change no run of " << GetParam();
}

TEST_P(Declared, EachSeamAndBlockIsReadAndEachPhaseEntered) {
    std::set<std::string> read;
    std::set<std::string> phases;
    for (const Situation& situation : situations()) {
        if (!is_played(kind(), situation)) continue;
        for (const auto& calls : play_in(kind(), situation).ranks) {
            for (const PlayedCall& call : calls) {
                if (call.kind == sim::CallKind::seam || call.kind == sim::CallKind::block)
                    read.insert(call.name);
                if (call.kind == sim::CallKind::phase) phases.emplace(results::name_of(call.phase));
            }
        }
    }
    for (const auto* names : {&kind().words.seams, &kind().words.blocks}) {
        for (const std::string& name : *names)
            EXPECT_TRUE(read.contains(name))
                << GetParam() << " declares " << name << " and never comes to it";
    }
    for (const scenarios::PhaseWord& phase : kind().words.phases)
        EXPECT_TRUE(phases.erase(phase.name) > 0) << GetParam() << " never enters " << phase.name;
    for (const std::string& name : phases)
        ADD_FAILURE() << GetParam() << " enters " << name << " and does not declare it";
}

TEST_P(Declared, APhaseIsNotEnteredWithoutWhatItNeeds) {
    std::set<std::string> entered;
    for (const auto& calls : play_in(kind(), {.workload = {{"checkpoint_every", "0"}}}).ranks) {
        for (const PlayedCall& call : calls) {
            if (call.kind == sim::CallKind::phase) entered.emplace(results::name_of(call.phase));
        }
    }
    for (const scenarios::PhaseWord& phase : kind().words.phases)
        EXPECT_EQ(entered.contains(phase.name), phase.needs.empty()) << GetParam() << " " << phase.name;
}

std::vector<std::string> workload_names() {
    std::vector<std::string> names;
    for (const sim::WorkloadKind& kind : sim::workload_catalog()) names.push_back(kind.words.name);
    return names;
}

INSTANTIATE_TEST_SUITE_P(Workloads, Declared, testing::ValuesIn(workload_names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace deadrank::runners

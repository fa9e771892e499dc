// runners/manual/symptom_rows.cpp — All rows, and how the example of one is played.
#include "runners/manual/symptom_rows.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/detectors/detector.h"
#include "runners/backends/sim/sim_runner.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/model/python_program.h"

namespace deadrank::runners::manual {

namespace {

SymptomExample example_of(const scenarios::Plan& plan, const Record& record, const Library& library) {
    SymptomExample example{.finding = {}, .culprit = record.truth.culprit(), .everybody = {}};
    const auto findings = results::detect(record.evidence, library.detectors());
    const auto wanted = std::find_if(findings.begin(), findings.end(), [&](const results::Finding& one) {
        return one.symptom == plan.expect.symptom;
    });
    if (!findings.empty()) example.finding = wanted == findings.end() ? findings.front() : *wanted;
    example.after =
        example.finding.at - (record.truth.applied() ? record.truth.first_fault() : results::Time{0});
    for (const results::Event* start : record.evidence.each<results::RankStart>())
        example.everybody.push_back(start->rank);
    std::sort(example.everybody.begin(), example.everybody.end());
    example.everybody.erase(std::unique(example.everybody.begin(), example.everybody.end()),
                            example.everybody.end());
    return example;
}

// A job of four ranks that does this in each step; with no fault, since the program itself is wrong.
scenarios::Scenario small_job(const SymptomRow& row) {
    scenarios::Scenario scenario;
    scenario.id = "manual/example";
    scenario.workload_kind = scenarios::python_workload;
    const auto set = [](scenarios::Settings& into, const std::vector<scenarios::Parameter>& known,
                        const std::string& name, const std::string& text) {
        for (const scenarios::Parameter& one : known)
            if (one.name == name) into[name] = {.options = {*scenarios::parse_value(one.type, text)}};
    };
    scenarios::Value program{.type = scenarios::ValueType::text, .text = program_around(row.program)};
    scenario.workload["program"] = {.options = {program}};
    set(scenario.cluster, scenarios::cluster_parameters(), "nodes", "2");
    set(scenario.cluster, scenarios::cluster_parameters(), "gpus_per_node", "2");
    if (const auto equals = row.cluster.find(" = "); equals != std::string_view::npos)
        set(scenario.cluster, scenarios::cluster_parameters(), std::string(row.cluster.substr(0, equals)),
            std::string(row.cluster.substr(equals + 3)));
    scenario.expect.symptom = id_of(row.symptom);
    return scenario;
}

}  // namespace

std::string program_around(std::string_view body) {
    std::string text = R"(import os, signal, sys, threading, time
from datetime import timedelta
import torch, torch.distributed as dist
from deadrank import check
from torch import ones, zeros

dist.init_process_group("gloo" if "monitored" in BODY or "gloo" in BODY else "nccl")
rank, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(12):
    model(ones(1, 2)).square().mean().backward()
    exec(BODY)
    optimizer.step()
dist.destroy_process_group()
)";
    return "BODY = '''\n" + std::string(body) + "\n'''\n" + text;
}

const std::vector<SymptomRow>& symptom_rows() {
    static const std::vector<SymptomRow> all = [] {
        std::vector<SymptomRow> rows = failure_symptom_rows();
        const std::vector<SymptomRow> more = value_symptom_rows();
        rows.insert(rows.end(), more.begin(), more.end());
        return rows;
    }();
    return all;
}

scenarios::Result<SymptomExample> play_symptom_example(const Library& library, const SymptomRow& row) {
    scenarios::Scenario scenario;
    if (row.scenario.empty()) {
        scenario = small_job(row);
    } else {
        auto loaded = load_scenario(library, library.catalog / fmt::format("{}.toml", row.scenario));
        if (!loaded) return tl::unexpected(loaded.error());
        scenario = *std::move(loaded);
    }
    SimRunner runner;
    const auto trial =
        scenarios::resolve(scenario, scenarios::Seed{1}, runner.capabilities(), library.vocabulary);
    if (!trial) return tl::unexpected(trial.error());
    const auto record = runner.run(trial->fault, {});
    if (!record) return tl::unexpected(record.error());
    return example_of(trial->fault, *record, library);
}

}  // namespace deadrank::runners::manual

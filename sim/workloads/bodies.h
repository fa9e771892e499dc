// sim/workloads/bodies.h — The workloads by name: what each rank runs, and the words its scenario may use.
// Listed in catalog.cpp.
#pragma once

#include "scenarios/model/vocabulary.h"
#include "sim/workloads/settings.h"
#include "sim/world/world.h"

namespace deadrank::sim {

scenarios::Kind data_parallel_words();
void data_parallel(World& world, const Settings& settings);

scenarios::Kind zero_words();
void zero(World& world, const Settings& settings);

scenarios::Kind tensor_parallel_words();
void tensor_parallel(World& world, const Settings& settings);

scenarios::Kind pipeline_words();
void pipeline(World& world, const Settings& settings);

scenarios::Kind expert_parallel_words();
void expert_parallel(World& world, const Settings& settings);

scenarios::Kind fsdp_words();
void fsdp(World& world, const Settings& settings);

scenarios::Kind context_parallel_words();
void context_parallel(World& world, const Settings& settings);

scenarios::Kind mixed_precision_words();
void mixed_precision(World& world, const Settings& settings);

scenarios::Kind serving_words();
void serving(World& world, const Settings& settings);

scenarios::Kind reshard_words();
void reshard(World& world, const Settings& settings);

}  // namespace deadrank::sim

// runners/local/subject.cpp — Our own training program: the settings of a simulated workload, said in its
// arguments.
#include "runners/local/subject.h"

#include <algorithm>
#include <fmt/format.h>

namespace deadrank::runners {

namespace {

struct Mode {
    std::string_view workload, mode;
};
constexpr Mode modes[] = {{"data_parallel", "manual"},
                          {"zero", "zero"},
                          {"tensor_parallel", "tensor"},
                          {"pipeline", "pipeline"},
                          {"fsdp", "fsdp"}};

const std::map<std::string, std::string>& seam_functions() {
    static const std::map<std::string, std::string> functions = {
        {"shard.offset", "layout.shard_offset"},
        {"shard.length", "layout.shard_length"},
        {"tp.size", "layout.tensor_parallel_size"},
        {"gradient.divisor", "layout.gradient_divisor"},
        {"pp.size", "layout.pipeline_size"},
        {"stage.first_layer", "layout.first_layer"},
        {"p2p.peer", "layout.peer"},
        {"loss.divisor", "layout.loss_divisor"},
        {"row_parallel.all_reduce", "layout.sum_partial_results"},
        {"backward.all_reduce", "layout.sum_partial_gradients"},
        {"gradient.all_reduce", "layout.reduce_bucket"},
        {"gradient.reduce", "layout.reduce_bucket"},
        {"parameters.broadcast", "layout.broadcast_parameters"},
        {"checkpoint.shard", "layout.checkpoint_shard"},
        {"checkpoint.step", "layout.checkpoint_step"},
        {"checkpoint.publish", "checkpoint.publish"},
        {"checkpoint.restore", "checkpoint.apply"},
        {"checkpoint.wait_for_all", "layout.wait_for_all"},
    };
    return functions;
}

std::int64_t number(const scenarios::Plan& plan, const std::string& name, std::int64_t otherwise) {
    const auto found = plan.workload.find(name);
    return found == plan.workload.end() ? otherwise : found->second.number;
}

// A model that the simulator calls 8 wide and 4 deep is small for real as well; the rest is passed on as it
// is.
std::vector<std::string> settings(const scenarios::Plan& plan, std::string_view mode) {
    std::vector<std::string> said = {
        "--mode",
        std::string(mode),
        "--steps",
        std::to_string(number(plan, "steps", 8)),
        "--step-seconds",
        fmt::format("{:.6f}", static_cast<double>(number(plan, "step_time", 0)) / 1e9),
        "--layers",
        std::to_string(number(plan, "layers", 4)),
        "--width",
        std::to_string(number(plan, "width", 8)),
        "--batch",
        std::to_string(number(plan, "batch", 2)),
        "--samples",
        std::to_string(number(plan, "samples", 256)),
        "--seed",
        std::to_string(number(plan, "seed", 1)),
        "--learning-rate",
        fmt::format("{:.9f}", static_cast<double>(number(plan, "learning_rate", 10'000'000)) / 1e9),
        "--checkpoint-every",
        std::to_string(number(plan, "checkpoint_every", 0)),
        "--resume",
    };
    if (number(plan, "shuffle", 1) == 0) said.emplace_back("--in-order");
    if (mode == "manual") said.insert(said.end(), {"--buckets", std::to_string(number(plan, "buckets", 2))});
    if (mode == "zero") said.insert(said.end(), {"--stage", std::to_string(number(plan, "stage", 1))});
    if (mode == "pipeline") {
        said.insert(said.end(), {"--pp-size", std::to_string(number(plan, "pp_size", 2))});
        said.insert(said.end(), {"--micro-batches", std::to_string(number(plan, "micro_batches", 1))});
    }
    if (mode == "tensor") said.insert(said.end(), {"--tp-size", std::to_string(number(plan, "tp_size", 2))});
    return said;
}

// Ranks of one group must hold the same parameters; a group of one may hold what it likes.
std::string group_of(const scenarios::Plan& plan, std::string_view mode, std::int64_t rank) {
    if (mode == "tensor")
        return fmt::format("dp:tp{}", rank % std::max<std::int64_t>(1, number(plan, "tp_size", 2)));
    if (mode == "fsdp") return fmt::format("shard{}", rank);
    if (mode != "pipeline") return "replica";
    const std::int64_t stages = std::max<std::int64_t>(1, number(plan, "pp_size", 2));
    return fmt::format("dp:pp{}", rank / std::max<std::int64_t>(1, plan.world_size() / stages));
}

}  // namespace

std::vector<std::string> subject_workloads() {
    std::vector<std::string> names;
    for (const Mode& mode : modes) names.emplace_back(mode.workload);
    return names;
}

scenarios::Result<Subject> subject_for(const scenarios::Plan& plan, const std::filesystem::path& home,
                                       const std::filesystem::path& checkpoints, double timeout_seconds) {
    std::string_view mode;
    for (const Mode& known : modes) {
        if (known.workload == plan.workload_kind) mode = known.mode;
    }
    if (mode.empty()) {
        return scenarios::refuse(
            scenarios::ErrorCode::unsupported,
            fmt::format("the real training program has no workload '{}'", plan.workload_kind),
            "play this scenario with --runner sim");
    }
    if (mode == "zero" && number(plan, "stage", 1) > 2) {
        return scenarios::refuse(scenarios::ErrorCode::unsupported,
                                 "the real training program shards optimizer and gradients only",
                                 "use stage = 1 or 2, or play this scenario with --runner sim");
    }
    Subject subject;
    subject.arguments = {(home / "subjects" / "train.py").string()};
    for (std::string& word : settings(plan, mode)) subject.arguments.push_back(std::move(word));
    subject.arguments.insert(subject.arguments.end(), {"--timeout", fmt::format("{:.3f}", timeout_seconds)});
    subject.arguments.insert(subject.arguments.end(), {"--checkpoint", checkpoints.string()});
    subject.seams = seam_functions();
    for (std::int64_t rank = 0; rank < plan.world_size(); ++rank) {
        subject.groups.push_back(group_of(plan, mode, rank));
    }
    return subject;
}

}  // namespace deadrank::runners

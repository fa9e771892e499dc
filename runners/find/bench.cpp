// runners/find/bench.cpp — The last control is kept: whoever takes faults away asks for it again at once.
#include "runners/find/bench.h"

namespace deadrank::runners::find {

using scenarios::Plan;
using scenarios::Result;

Plan control_of(Plan plan) {
    plan.variant = scenarios::Variant::control;
    plan.faults.clear();
    plan.expect = {};
    return plan;
}

bool Sight::is_job() const {
    const results::Truth& truth = control->record.truth;
    return !truth.ends.empty() && truth.completed();
}

Result<Played> Bench::again(const Plan& plan) {
    ++plays_;
    return play_plan(plan, runner_, options_);
}

Result<std::shared_ptr<const Played>> Bench::control_of(const Plan& plan) {
    Plan control = find::control_of(plan);
    if (last_control_ && last_ == control) return last_control_;
    auto played = again(control);
    if (!played) return tl::unexpected(played.error());
    last_ = std::move(control);
    last_control_ = std::make_shared<const Played>(std::move(*played));
    return last_control_;
}

Result<Sight> Bench::look(const Plan& plan) {
    auto control = control_of(plan);
    if (!control) return tl::unexpected(control.error());
    auto played = again(plan);
    if (!played) return tl::unexpected(played.error());
    if (stopped()) return scenarios::refuse(scenarios::ErrorCode::internal, "it was stopped");
    Sight sight{.fault = std::move(*played), .control = *control};
    sight.harm = harm_of(sight.fault.record, sight.control->record);
    sight.ranks_per_node = static_cast<int>(plan.number(plan.cluster, "gpus_per_node"));
    return sight;
}

}  // namespace deadrank::runners::find

// inject/core/trigger.cpp — When a fault begins: a moment where a rank is, the `when` that it must fit, and
// what each rank of a fault still waits for.
#include "inject/core/trigger.h"

namespace deadrank::inject {

namespace {

bool names_a_place(const scenarios::Trigger& when) {
    return when.step >= 0 || !when.phase.empty() || !when.before.empty() || !when.comm.empty();
}

}  // namespace

std::string_view implied_call(const scenarios::Trigger& when) {
    if (!when.before.empty()) return when.before;
    if (!when.comm.empty()) return "communication";
    return when.phase.empty() ? "step" : "phase";
}

bool fits_step(const scenarios::Trigger& when, std::int64_t step) {
    if (when.until_step >= 0 && step > when.until_step) return false;
    if (when.step < 0) return true;
    return when.always ? step >= when.step : step == when.step;
}

bool is_call(std::string_view call, std::string_view before) {
    if (call == before) return true;
    const results::Op op = results::op_named(call);
    const bool message = op == results::Op::send || op == results::Op::recv;
    const bool collective = op != results::Op::none && !message;
    return (before == "collective" && collective) || (before == "message" && message) ||
           (before == "communication" && (collective || message));
}

bool by_clock(const scenarios::Trigger& when) {
    return !when.at_start && when.at >= 0 && !names_a_place(when);
}

bool from_start(const scenarios::Trigger& when) {
    return when.at_start || (when.at < 0 && !names_a_place(when));
}

bool fits(const scenarios::Trigger& when, const Moment& moment) {
    if (when.at >= 0 && moment.now.count() < when.at) return false;
    if (!fits_step(when, moment.step)) return false;
    if (!when.phase.empty() && results::name_of(moment.phase) != when.phase) return false;
    if (!when.comm.empty() && moment.comm != when.comm) return false;
    return is_call(moment.call, implied_call(when));
}

bool over(const scenarios::Trigger& when, const Moment& moment) {
    return when.until_step >= 0 && moment.step > when.until_step;
}

}  // namespace deadrank::inject

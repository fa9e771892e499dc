// inject/standin/nccl/standin_faults.cpp — How a fault of the plan alters a call of the drop-in. Plan,
// moments and what hits the whole process are those of every library that real programs load.
#include "inject/standin/nccl/standin_faults.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "inject/standin/nccl/call_evidence.h"
#include "inject/standin/nccl/standin_job.h"

namespace deadrank::inject::standin {

using inject::Alteration;
using results::Dtype;
using results::ReduceOp;

namespace {

bool moves_data(std::string_view call) { return !call.starts_with("comm_"); }

bool alters_data(const Alteration& how) {
    return how.skip || how.hold || how.count_set >= 0 || how.count_change != 0 || how.flip_bit >= 0 ||
           how.root >= 0 || how.dtype != Dtype::none || how.op != results::Op::none ||
           how.reduce != ReduceOp::none;
}

std::optional<Element> element_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::i8:
            return Element::i8;
        case Dtype::i32:
            return Element::i32;
        case Dtype::i64:
            return Element::i64;
        case Dtype::f16:
            return Element::f16;
        case Dtype::bf16:
            return Element::bf16;
        case Dtype::f32:
            return Element::f32;
        case Dtype::f64:
            return Element::f64;
        default:
            return std::nullopt;
    }
}

std::optional<Reduction> reduction_named(ReduceOp reduce) {
    switch (reduce) {
        case ReduceOp::sum:
            return Reduction::sum;
        case ReduceOp::prod:
            return Reduction::prod;
        case ReduceOp::max:
            return Reduction::max;
        case ReduceOp::min:
            return Reduction::min;
        case ReduceOp::avg:
            return Reduction::avg;
        default:
            return std::nullopt;
    }
}

// What was held back, by communicator.
class Held {
public:
    static Held& of_this_process() {
        static Held& all = *new Held;
        return all;
    }
    void keep(Planned planned) {
        const std::lock_guard lock(mutex_);
        calls_[planned.comm].push_back(std::move(planned));
    }
    std::vector<Planned> release(ncclComm_t comm) {
        const std::lock_guard lock(mutex_);
        const auto found = calls_.find(comm);
        return found == calls_.end() ? std::vector<Planned>() : std::exchange(found->second, {});
    }

private:
    std::mutex mutex_;
    std::map<ncclComm_t, std::vector<Planned>> calls_;
};

}  // namespace

Alteration apply_fault(std::string_view call, const ncclComm& comm) {
    inject::shims::Faults& faults = Watch::of_this_process().rank(comm.slot).faults;
    const inject::shims::Decision decision = faults.at(call, comm.name);
    if (!decision.any || moves_data(call) || !alters_data(decision.alteration)) return decision.alteration;
    faults.refuse(decision.fault,
                  "this call moves no data: delay, answer and never_completes are all it knows");
    return {};
}

ncclResult_t apply_fault_without_data(std::string_view call, const ncclComm& comm) {
    const Alteration how = apply_fault(call, comm);
    inject::shims::sleep_for(how.delay.count());
    if (how.never_completes) inject::shims::sleep_forever();
    if (how.answer == results::Code::ok) return ncclSuccess;
    const auto code = static_cast<ncclResult_t>(how.answer);
    warn("{} : {}", call, ncclGetErrorString(code));
    return code;
}

ncclResult_t alter(Planned& planned, const Alteration& alteration) {
    Call& call = planned.call;
    if (alteration.answer != results::Code::ok) {
        const auto code = static_cast<ncclResult_t>(alteration.answer);
        if (!alteration.never_completes) {
            warn("{} : {}", results::name_of(call.op), ncclGetErrorString(code));
            return code;
        }
        planned.later = code;
    }
    call.stuck = alteration.never_completes;
    if (alteration.count_set >= 0) call.count = static_cast<std::uint64_t>(alteration.count_set);
    if (alteration.count_change < 0 && call.count < static_cast<std::uint64_t>(-alteration.count_change))
        call.count = 0;
    else
        call.count += static_cast<std::uint64_t>(alteration.count_change);
    if (const auto element = element_of(alteration.dtype)) call.element = *element;
    if (const auto reduction = reduction_named(alteration.reduce)) call.reduction = *reduction;
    if (alteration.root >= 0 && call.peer >= 0) call.peer = alteration.root;
    const results::Op other = alteration.op;
    if (other != results::Op::none && other != call.op) {
        call.op = other;
        const bool directed = other == results::Op::broadcast || other == results::Op::reduce;
        call.peer = directed ? std::max(0, alteration.root) : -1;
    }
    planned.flip_bit = alteration.flip_bit;
    planned.flip_received = alteration.flip_received;
    return ncclSuccess;
}

ncclResult_t issue_in_order(Planned planned, bool hold) {
    Held& held = Held::of_this_process();
    if (hold) {
        held.keep(std::move(planned));
        return ncclSuccess;
    }
    Group& group = Group::of_this_thread();
    const ncclComm_t comm = planned.comm;
    ncclResult_t answer = group.add(std::move(planned));
    for (Planned& late : held.release(comm)) {
        const ncclResult_t next = group.add(std::move(late));
        if (answer == ncclSuccess) answer = next;
    }
    return answer;
}

}  // namespace deadrank::inject::standin

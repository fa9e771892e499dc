// inject/standin/nccl/call_evidence.cpp — One process of the drop-in: the plan, the evidence and the truth of
// each of its ranks.
#include "inject/standin/nccl/call_evidence.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

namespace deadrank::inject::standin {

using inject::shims::Entry;
using inject::shims::Line;
using inject::shims::RankSession;
using inject::shims::ShimLever;
using results::Dtype;
using results::ReduceOp;

namespace {

Dtype dtype_of(Element element) {
    switch (element) {
        case Element::i8:
        case Element::u8:
            return Dtype::i8;
        case Element::i32:
        case Element::u32:
            return Dtype::i32;
        case Element::i64:
        case Element::u64:
            return Dtype::i64;
        case Element::f16:
            return Dtype::f16;
        case Element::bf16:
            return Dtype::bf16;
        case Element::f32:
            return Dtype::f32;
        case Element::f64:
            return Dtype::f64;
        default:
            return Dtype::none;  // the evidence has no name for 8-bit floats
    }
}

ReduceOp reduction_of(const Call& call) {
    using results::Op;
    if (call.op != Op::all_reduce && call.op != Op::reduce && call.op != Op::reduce_scatter)
        return ReduceOp::none;
    switch (call.reduction) {
        case Reduction::prod:
            return ReduceOp::prod;
        case Reduction::max:
            return ReduceOp::max;
        case Reduction::min:
            return ReduceOp::min;
        case Reduction::avg:
            return ReduceOp::avg;
        default:
            return ReduceOp::sum;
    }
}

inject::shims::SeenCall seen(const ncclComm& comm, const Call& call) {
    return {.rank = comm.slot,
            .comm = static_cast<results::CommId>(comm.number),
            .number = static_cast<std::int64_t>(call.sequence),
            .op = call.op,
            .root = call.peer,
            .count = static_cast<std::int64_t>(call.count),
            .dtype = dtype_of(call.element),
            .reduce = reduction_of(call)};
}

std::string_view code_name(ncclResult_t code) { return results::name_of(static_cast<results::Code>(code)); }

bool is_recorded_above() {
    const char* hook = std::getenv("DEADRANK_PID");
    if (hook && std::atoi(hook) == getpid()) return true;
    Dl_info own{}, first{};
    void* called = dlsym(RTLD_DEFAULT, "ncclAllReduce");
    return called && dladdr(called, &first) && dladdr(reinterpret_cast<void*>(&is_recorded_above), &own) &&
           first.dli_fbase != own.dli_fbase;
}

// Why this library cannot play it; empty when it can.
std::string refusal_of(const Entry& entry) {
    if (entry.when.step >= 0 || !entry.when.phase.empty()) return "steps and phases are not seen below NCCL";
    for (const auto& pull : entry.pulls) {
        const bool known = pull.lever == ShimLever::kill || pull.lever == ShimLever::exit ||
                           pull.lever == ShimLever::stop || pull.lever == ShimLever::alter_call;
        if (!known) return "there is no lever " + pull.name + " here";
    }
    return {};
}

// A fault without a place acts at the first call: nothing else is seen here.
void set_default_place(scenarios::Trigger& when) {
    if (inject::from_start(when)) {
        when.at_start = false;
        when.before = "comm_init";
    } else if (inject::by_clock(when)) {
        when.before = "communication";
    }
}

}  // namespace

int slot_of_this_process(int otherwise) {
    const results::Rank said = inject::shims::rank_of_process();
    return said >= 0 ? said : otherwise;
}

Watch& Watch::of_this_process() {
    static Watch& one = *new Watch;  // threads of streams may still write while the process ends
    return one;
}

Watch::Watch() : started_(inject::shims::now()) {
    if (is_recorded_above()) return;
    if (const char* said = std::getenv("DEADRANK_STARTED")) started_ = std::atoll(said);
    if (const char* said = std::getenv("DEADRANK_EVIDENCE")) directory_ = said;
    const char* path = std::getenv("DEADRANK_PLAN");
    auto plan = inject::shims::read_plan(path ? path : "");
    if (!plan) {
        std::fprintf(stderr, "deadrank: %s\n", plan.error().text().c_str());
        return;
    }
    for (Entry& entry : plan->faults) {
        if (std::string why = refusal_of(entry); !why.empty()) {
            refused_.emplace_back(std::move(entry), std::move(why));
            continue;
        }
        set_default_place(entry.when);
        plan_.faults.push_back(std::move(entry));
    }
}

RankSession& Watch::rank(int slot) {
    const std::lock_guard lock(mutex_);
    auto& found = ranks_[slot];
    if (found) return *found;
    found = std::make_unique<RankSession>(plan_, slot, directory_, started_);
    for (const auto& [entry, why] : refused_) {
        if (entry.ranks.contains(slot)) found->faults.refuse(entry.fault, why);
    }
    return *found;
}

int Watch::next_communicator(int slot) {
    const std::lock_guard lock(mutex_);
    return ++communicators_[slot];
}

void Watch::open(const ncclComm& comm) {
    Line line("comm.init.enter", comm.slot);
    line.add("comm", comm.number).add("size", comm.size).add("rank_in_comm", comm.rank);
    rank(comm.slot).evidence.write(line.add("name", comm.name));
}

void Watch::opened(const ncclComm& comm, ncclResult_t code) {
    Line line("comm.init.leave", comm.slot);
    line.add("comm", comm.number).add("result", code_name(code));
    rank(comm.slot).evidence.write(line.add("transport", "stand-in"));
}

void Watch::enter(const ncclComm& comm, const Call& call) {
    rank(comm.slot).evidence.write(enter_line(seen(comm, call)));
}

void Watch::leave(const ncclComm& comm, const Call& call, ncclResult_t code) {
    rank(comm.slot).evidence.write(leave_line(seen(comm, call), static_cast<results::Code>(code)));
}

void Watch::trouble(const ncclComm& comm, ncclResult_t code, const std::string& says) {
    Line line("comm.error", comm.slot);
    line.add("comm", comm.number).add("code", code_name(code));
    rank(comm.slot).evidence.write(line.add("message", says));
}

}  // namespace deadrank::inject::standin

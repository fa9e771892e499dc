// inject/standin/nccl/standin_faults.cpp — The faults that the drop-in plays, and how they alter a call.
#include "inject/standin/nccl/standin_faults.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>
#include <utility>

#include "inject/standin/nccl/call_evidence.h"
#include "inject/standin/nccl/standin_job.h"

namespace deadrank::standin {

// Reading the plan, waiting, pulling. A moment or a lever that this place does not know is refused in the
// truth file, not passed over.

using nlohmann::json;

namespace {

std::int64_t now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

bool names_message(const std::string& call) { return call == "send" || call == "recv"; }
bool moves_data(const std::string& call) { return !call.starts_with("comm_"); }

// The families of a plan's `before`.
bool means(const std::string& before, const std::string& call) {
    if (before == call) return true;
    if (!moves_data(call)) return false;
    return before == "communication" || before == (names_message(call) ? "message" : "collective");
}

bool alters_data(const Alteration& how) {
    const Alteration none;
    return how.skip || how.hold || how.count_set >= 0 || how.count_change != 0 || how.flip_bit >= 0 ||
           how.root >= 0 || how.dtype != none.dtype || how.op != none.op || how.reduce != none.reduce;
}

Alteration alteration_from(const json& pull) {
    Alteration read;
    read.skip = pull.value("skip", false);
    read.hold = pull.value("hold", false);
    read.never_completes = pull.value("never_completes", false);
    read.flip_received = pull.value("flip_received", false);
    read.delay = pull.value("delay", std::int64_t{0});
    read.count_set = pull.value("count_set", std::int64_t{-1});
    read.count_change = pull.value("count_change", std::int64_t{0});
    read.flip_bit = pull.value("flip_bit", std::int64_t{-1});
    read.root = pull.value("root", -1);
    read.dtype = pull.value("dtype", "none");
    read.op = pull.value("op", "none");
    read.reduce = pull.value("reduce", "none");
    read.answer = pull.value("answer", "ok");
    return read;
}

std::string refusal_of(const json& when) {
    if (when.value("step", std::int64_t{-1}) >= 0 || !when.value("phase", "").empty()) {
        return "steps and phases are not seen below NCCL";
    }
    return {};
}

}  // namespace

Faults& Faults::of_this_process() {
    static Faults& all = *new Faults;
    return all;
}

Faults::Faults() : started_(now()) {
    if (const char* started = std::getenv("DEADRANK_STARTED")) started_ = std::atoll(started);
    const char* path = std::getenv("DEADRANK_PLAN");
    if (path && !watched_from_above()) read(path);
}

void Faults::read(const std::string& path) {
    std::ifstream file(path);
    const json plan = json::parse(file, nullptr, false);
    if (!plan.is_object()) return warn("DEADRANK_PLAN={} holds no plan: nothing is injected", path);
    for (const json& entry : plan.value("faults", json::array())) {
        const json when = entry.value("when", json::object());
        Armed armed;
        armed.fault = entry.value("fault", 0);
        armed.ranks = entry.value("ranks", std::vector<int>{});
        armed.before = when.value("before", "");
        armed.comm = when.value("comm", "");
        armed.says = entry.value("says", "");
        armed.refusal = refusal_of(when);
        armed.at = when.value("at", std::int64_t{-1});
        armed.lasts = when.value("lasts", std::int64_t{-1});
        armed.nth = std::max(1, when.value("nth", 1));
        armed.always = when.value("always", false);
        // Without a moment of its own a fault acts at the first thing that happens.
        if (armed.before.empty())
            armed.before = armed.comm.empty() && armed.at < 0 ? "comm_init" : "communication";
        for (const json& pull : entry.value("pulls", json::array())) {
            armed.pulls.push_back({pull.value("lever", ""), pull.value("signal", 9), pull.value("code", 1),
                                   alteration_from(pull)});
        }
        armed.seen.assign(armed.ranks.size(), 0);
        armed.fired.assign(armed.ranks.size(), 0);
        armed_.push_back(std::move(armed));
    }
}

bool Faults::due(Armed& armed, std::size_t place, const std::string& call, const ncclComm& comm) const {
    if (armed.fired[place] && !armed.always) return false;
    if (!means(armed.before, call) || (!armed.comm.empty() && armed.comm != comm.name)) return false;
    if (armed.at >= 0 && now() - started_ < armed.at) return false;
    return ++armed.seen[place] >= armed.nth;
}

ncclResult_t Faults::around(const std::string& call, const ncclComm& comm) {
    Alteration how;
    at(call, comm, how);
    std::this_thread::sleep_for(std::chrono::nanoseconds(how.delay));
    while (how.never_completes) std::this_thread::sleep_for(std::chrono::hours(1));
    if (how.answer == "ok") return ncclSuccess;
    const auto code = static_cast<ncclResult_t>(results::code_named(how.answer));
    warn("{} : {}", call, ncclGetErrorString(code));
    return code;
}

void Faults::at(const std::string& call, const ncclComm& comm, Alteration& into) {
    std::vector<const Armed*> now_due;
    {
        const std::lock_guard lock(mutex_);
        for (Armed& armed : armed_) {
            const auto found = std::find(armed.ranks.begin(), armed.ranks.end(), comm.slot);
            const auto place = static_cast<std::size_t>(found - armed.ranks.begin());
            if (found == armed.ranks.end() || !due(armed, place, call, comm)) continue;
            const bool first = armed.fired[place]++ == 0;
            Evidence& evidence = Evidence::of_this_process();
            const bool refused = !armed.refusal.empty();
            if (first && refused)
                evidence.fault(comm.slot, "fault.refused", armed.fault, call, armed.refusal);
            if (first && !refused) evidence.fault(comm.slot, "fault.applied", armed.fault, call, armed.says);
            if (!refused) now_due.push_back(&armed);
        }
    }
    for (const Armed* armed : now_due) pull(*armed, call, comm.slot, into);
}

void Faults::pull(const Armed& armed, const std::string& call, int slot, Alteration& into) {
    for (const Pull& pull : armed.pulls) {
        if (pull.lever == "kill") {
            ::kill(getpid(), pull.signal);
        } else if (pull.lever == "exit") {
            ::_exit(pull.code);
        } else if (pull.lever == "stop") {
            if (armed.lasts >= 0) {  // somebody else must wake us: a stopped process cannot
                const std::string wake = fmt::format("(sleep {}; kill -CONT {}) >/dev/null 2>&1 &",
                                                     static_cast<double>(armed.lasts) / 1e9, getpid());
                (void)!std::system(wake.c_str());
            }
            ::kill(getpid(), SIGSTOP);
        } else if (pull.lever == "alter_call" && (moves_data(call) || !alters_data(pull.alteration))) {
            into = pull.alteration;
        } else {
            const std::string why =
                pull.lever == "alter_call"
                    ? "this call moves no data: delay, answer and never_completes are all it knows"
                    : fmt::format("there is no lever {} here", pull.lever);
            Evidence::of_this_process().fault(slot, "fault.refused", armed.fault, call, why);
        }
    }
}

// The words of an alteration, applied.

namespace {

template <class Value, std::size_t size>
const Value* named(const std::array<std::pair<std::string_view, Value>, size>& table, std::string_view name) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.first == name; });
    return found == table.end() ? nullptr : &found->second;
}

constexpr std::array<std::pair<std::string_view, Element>, 12> elements{{{"i8", Element::i8},
                                                                         {"u8", Element::u8},
                                                                         {"i32", Element::i32},
                                                                         {"u32", Element::u32},
                                                                         {"i64", Element::i64},
                                                                         {"u64", Element::u64},
                                                                         {"f16", Element::f16},
                                                                         {"bf16", Element::bf16},
                                                                         {"f32", Element::f32},
                                                                         {"f64", Element::f64},
                                                                         {"e4m3", Element::e4m3},
                                                                         {"e5m2", Element::e5m2}}};

constexpr std::array<std::pair<std::string_view, Reduction>, 5> reductions{{{"sum", Reduction::sum},
                                                                            {"prod", Reduction::prod},
                                                                            {"max", Reduction::max},
                                                                            {"min", Reduction::min},
                                                                            {"avg", Reduction::avg}}};

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

ncclResult_t alter(Planned& planned, const Alteration& alteration) {
    Call& call = planned.call;
    if (alteration.answer != "ok") {
        const auto code = static_cast<ncclResult_t>(results::code_named(alteration.answer));
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
    if (const Element* element = named(elements, alteration.dtype)) call.element = *element;
    if (const Reduction* reduction = named(reductions, alteration.reduce)) call.reduction = *reduction;
    if (alteration.root >= 0 && call.peer >= 0) call.peer = alteration.root;
    const results::Op other = results::op_named(alteration.op);
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

}  // namespace deadrank::standin

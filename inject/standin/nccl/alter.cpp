// inject/standin/nccl/alter.cpp — The words of an alteration, applied.
#include "inject/standin/nccl/alter.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "inject/standin/nccl/log.h"

namespace deadrank::standin {

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

// inject/standin/operators/communication_record.h — The record "record_param_comms" that torch's own process
// group over NCCL leaves in profiles and execution traces. It is made of C++ objects, which Python cannot
// make.
#pragma once

#include <ATen/core/List.h>
#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#include <tuple>
#include <type_traits>
#include <vector>

namespace deadrank::inject::standin::operators {

// Of one call: the group's name, what is said of it, its members' first rank and their distance.
struct CommunicationRecord {
    std::string call, group, description;
    std::int64_t rank, size, sent, received, first, stride, sequence;
    at::ScalarType dtype;
};

// `Info` is torch::ParamCommsDebugInfo. Does nothing in a release that makes it of other arguments.
template <class Info>
void record_communication(const CommunicationRecord& record, const std::vector<at::Tensor>& ins,
                          const std::vector<at::Tensor>& outs) {
    using Name = std::tuple<std::string, std::string>;
    using Sizes = std::vector<std::int64_t>;
    if constexpr (std::is_constructible_v<Info, Name, int, std::string&&, std::int64_t, std::int64_t,
                                          at::ScalarType, Sizes, Sizes, int, int, int>) {
        const Name name{record.group, record.description};
        std::string call = record.call;
        const auto place = [](std::int64_t number) { return static_cast<int>(number); };
        const auto info = std::make_shared<Info>(
            name, place(record.rank), std::move(call), record.sent, record.received, record.dtype, Sizes{},
            Sizes{}, place(record.first), place(record.stride), place(record.size));
        const c10::DebugInfoGuard info_in_use(c10::DebugInfoKind::PARAM_COMMS_INFO, info);
        const std::initializer_list<const c10::IValue> inputs = {
            c10::IValue(ins),           c10::IValue(std::make_tuple(record.sequence, false)),
            c10::IValue(name),          c10::IValue(record.rank),
            c10::IValue(record.call),   c10::IValue(Sizes{}),
            c10::IValue(Sizes{}),       c10::IValue(record.first),
            c10::IValue(record.stride), c10::IValue(record.size)};
        const c10::ArrayRef<const c10::IValue> shown(inputs);
        RECORD_FUNCTION_WITH_INPUTS_OUTPUTS(at::kParamCommsCallName, shown,
                                            std::vector<c10::IValue>(1, c10::IValue(outs)));
    }
}

}  // namespace deadrank::inject::standin::operators

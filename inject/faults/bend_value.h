// inject/faults/bend_value.h — A named quantity of the program is wrong on some ranks: a divisor, an index, a
// seed, a stride. The workload publishes its names (`seams`); result = value × multiply / divide + add, or
// what `set` says.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind bend_value() {
    return {{.name = "bend_value",
             .what = "A named value of the workload is other than it should be.",
             .parameters = {rank_parameter(),
                            {"seam", ValueType::text, "", "name of the value, one of the workload's seams"},
                            {"set", ValueType::integer, "", "the value itself", {}, true},
                            {"add", ValueType::integer, "0", "added to it"},
                            {"multiply", ValueType::integer, "1", "multiplied with it"},
                            {"divide", ValueType::integer, "1", "divides it", {}, false, 1}},
             .levers = {BendValue::lever},
             .at_start = true},
            [](const FaultSpec& spec) {
                const std::string seam = spec.text("seam");
                const Bend bend{.set_it = spec.parameters.count("set") > 0,
                                .set = spec.number("set"),
                                .add = spec.number("add"),
                                .multiply = spec.number("multiply"),
                                .divide = spec.number("divide")};
                return make_deed(spec, {.apply =
                                            [seam, bend](Levers& levers, Rank rank) {
                                                return levers.pull(BendValue{rank, seam, bend});
                                            },
                                        .revert =
                                            [seam](Levers& levers, Rank rank) {
                                                (void)levers.pull(Unbend{rank, seam});
                                            },
                                        .blame = aimed(spec)});
            }};
}

}  // namespace deadrank::inject

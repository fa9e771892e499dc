// inject/faults/value_faults.cpp — Faults of what is computed: bits, named values, shards, and steps of the
// program that are left out.
#include <algorithm>

#include "inject/core/fault.h"

namespace deadrank::inject {

// A bit flips in what a rank sends or receives, or on the way from it to a peer: silent corruption, which no
// checksum on the wire sees.
extern const FaultRow flip_bits_row{
    {.name = "flip_bits",
     .what = "One bit of the call's payload is flipped.",
     .parameters = {rank_parameter(),
                    {"bit", ValueType::integer, "40", "element × 64 + bit", {}, false, 0},
                    {"side",
                     ValueType::choice,
                     "sent",
                     "in what the rank contributes, in what it gets, or in the bytes on the way to a "
                     "peer, below the library",
                     {"sent", "received", "way"}}},
     .levers = {AlterCall::flip}},
    [](const FaultSpec& spec) {
        return make_alteration(spec, {.flip_bit = spec.number("bit"),
                                      .flip_received = spec.text("side") == "received",
                                      .flip_on_the_way = spec.text("side") == "way"});
    },
    "collective"};

// A named quantity of the program is wrong on some ranks: a divisor, an index, a seed, a stride. The workload
// publishes its names (`seams`); result = value × multiply / divide + add, or what `set` says.
extern const FaultRow bend_value_row{
    {.name = "bend_value",
     .what = "A named value of the workload is other than it should be.",
     .parameters =
         {rank_parameter(),
          {"seam", ValueType::text, "", "name of the value, one of the workload's seams"},
          {"set", ValueType::integer, "", "the value itself", {}, true},
          {"add", ValueType::integer, "0", "added to it"},
          {"by_rank", ValueType::integer, "", "added once more for each number of the rank", {}, true},
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
        const std::int64_t by_rank = spec.parameters.count("by_rank") > 0 ? spec.number("by_rank") : 0;
        return make_simple_fault(spec, {.apply =
                                            [seam, bend, by_rank](Levers& levers, Rank rank) {
                                                Bend own = bend;
                                                (own.set_it ? own.set : own.add) += by_rank * rank;
                                                return levers.pull(BendValue{rank, seam, own});
                                            },
                                        .revert =
                                            [seam](Levers& levers, Rank rank) {
                                                (void)levers.pull(Unbend{rank, seam});
                                            },
                                        .blame = aimed(spec)});
    }};

// A rank believes that its shard begins elsewhere: an off-by-one in the partition, a rank counted from one.
extern const FaultRow shift_shard_row{
    {.name = "shift_shard",
     .what = "The rank's shard begins some elements further on.",
     .parameters = {rank_parameter(),
                    {"by", ValueType::integer, "1", "elements further on (or back, when negative)"}},
     .levers = {BendValue::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        return make_simple_fault(spec,
                                 {.apply =
                                      [by = spec.number("by")](Levers& levers, Rank rank) {
                                          return levers.pull(BendValue{rank, "shard.offset", {.add = by}});
                                      },
                                  .revert =
                                      [](Levers& levers, Rank rank) {
                                          (void)levers.pull(Unbend{rank, "shard.offset"});
                                      },
                                  .blame = aimed(spec)});
    }};

// The program refuses a value: a check that is too strict, that compares with another number than it means
// to, or that tells the user something else than what is wrong. Who raises is decided by the values, and a
// setting that satisfies the check heals it as well as a better check does.
extern const FaultRow refuse_value_row{
    {.name = "refuse_value",
     .what = "The program checks a value and raises where it does not like it.",
     .parameters =
         {rank_parameter(),
          {"checks", ValueType::text, "",
           "what is looked at: one of the workload's seams where it is read, or before all else a setting of "
           "the workload, as setting.batch, or the number of ranks, as setting.ranks"},
          {"refuses", ValueType::choice, "other_than", "which values it refuses, beside `than` or `against`",
           results::relation_words()},
          {"than", ValueType::integer, "0", "the number that it compares with"},
          {"against",
           ValueType::text,
           "",
           "a setting that it compares with instead, as setting.micro_batches",
           {},
           true},
          {"says", ValueType::text, "ValueError: invalid value {value}",
           "the last line of its traceback; {value} and {than} stand for the two numbers"}},
     .levers = {CheckValue::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const auto& words = results::relation_words();
        const auto which = std::find(words.begin(), words.end(), spec.text("refuses")) - words.begin();
        const ValueCheck check{.refuses = static_cast<results::Relation>(which),
                               .than = spec.number("than"),
                               .against = spec.text("against"),
                               .says = spec.text("says")};
        const std::string seam = spec.text("checks");
        return make_simple_fault(spec, {.apply =
                                            [seam, check](Levers& levers, Rank rank) {
                                                return levers.pull(CheckValue{rank, seam, check});
                                            },
                                        .revert =
                                            [seam](Levers& levers, Rank rank) {
                                                (void)levers.pull(CheckValue{rank, seam, {}});
                                            },
                                        .blame = aimed(spec)});
    }};

// A step of the program is not executed on some ranks: the forgotten line, the wrong `if`. The workload
// publishes its names (`blocks`).
extern const FaultRow skip_block_row{
    {.name = "skip_block",
     .what = "A named step of the workload is left out.",
     .parameters = {rank_parameter(),
                    {"block", ValueType::text, "", "name of the step, one of the workload's blocks"}},
     .levers = {SkipBlock::lever},
     .at_start = true},
    [](const FaultSpec& spec) {
        const std::string block = spec.text("block");
        return make_simple_fault(spec, {.apply =
                                            [block](Levers& levers, Rank rank) {
                                                return levers.pull(SkipBlock{rank, block, true});
                                            },
                                        .revert =
                                            [block](Levers& levers, Rank rank) {
                                                (void)levers.pull(SkipBlock{rank, block, false});
                                            },
                                        .blame = aimed(spec)});
    }};

}  // namespace deadrank::inject

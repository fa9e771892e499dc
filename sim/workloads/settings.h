// sim/workloads/settings.h — A workload's settings: a struct of which each member declares its own row, with
// name, default and meaning. Made from a plan it holds what the plan says, once for all ranks; made from a
// list it adds its rows to it.
//
//     struct RingSettings : Settings {
//         using Settings::Settings;
//         std::int64_t rounds = integer("rounds", "4", "rounds of the token", 1);
//     };
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record/time.h"
#include "scenarios/model/error.h"
#include "scenarios/model/value.h"
#include "scenarios/model/vocabulary.h"
#include "sim/world/world.h"

namespace deadrank::sim {

class Settings {
public:
    // One of both, while the struct is made.
    struct Source {
        Source(const scenarios::Values& said) : plan(&said) {}            // NOLINT: either will do
        Source(std::vector<scenarios::Parameter>& list) : rows(&list) {}  // NOLINT

        const scenarios::Values* plan = nullptr;
        std::vector<scenarios::Parameter>* rows = nullptr;
    };
    explicit Settings(Source source) : source_(source) {}

protected:
    using ValueType = scenarios::ValueType;
    using Text = std::string_view;

    // An empty default: it may be absent, and is 0 then. None is below `least`.
    std::int64_t integer(Text name, Text usual, Text what, std::int64_t least = 0) {
        return number({name, ValueType::integer, usual, what, least});
    }
    std::int64_t ratio(Text name, Text usual, Text what) {  // in parts per billion
        return number({name, ValueType::ratio, usual, what});
    }
    std::int64_t bytes(Text name, Text usual, Text what) {
        return number({name, ValueType::bytes, usual, what});
    }
    Time duration(Text name, Text usual, Text what) {
        return Time(number({name, ValueType::duration, usual, what}));
    }
    bool flag(Text name, Text usual, Text what) {
        return number({name, ValueType::boolean, usual, what}) != 0;
    }
    // An enum whose values are in the order of the words.
    template <class Choice>
    Choice choice(Text name, Text usual, Text what, std::initializer_list<Text> words) {
        return static_cast<Choice>(place({name, ValueType::choice, usual, what}, words));
    }
    // Another default than the base's row has.
    void usual(Text name, Text value);

private:
    struct Row {
        Text name;
        ValueType type;
        Text usual, what;
        std::int64_t least = 0;
    };
    std::int64_t number(const Row& row);
    int place(const Row& row, std::initializer_list<Text> words);
    void list(const Row& row, std::initializer_list<Text> words = {});
    const scenarios::Value* said(const Row& row) const;

    Source source_;
};

using Script = std::function<void(World&)>;  // what each rank runs

// What only jobs that save a state look at, and more.
std::vector<std::string_view> checkpoint_settings_and(std::initializer_list<std::string_view> more);

struct WorkloadKind {
    scenarios::Kind words;  // name, parameters, seams and blocks
    std::function<Script(const scenarios::Values&)> script;
};

// A workload out of its seams and blocks, its settings and what a rank does with them. Settings that every
// job has and this one never looks at are `ignored`: a scenario that states one is refused.
template <class Own>
WorkloadKind workload(scenarios::Kind words, void (*body)(World&, const Own&),
                      const std::vector<std::string_view>& ignored = {}) {
    Own{Settings::Source(words.parameters)};
    std::erase_if(words.parameters, [&](const scenarios::Parameter& parameter) {
        return std::find(ignored.begin(), ignored.end(), parameter.name) != ignored.end();
    });
    return {std::move(words), [body](const scenarios::Values& plan) -> Script {
                return
                    [body, settings = Own(Settings::Source(plan))](World& world) { body(world, settings); };
            }};
}

}  // namespace deadrank::sim

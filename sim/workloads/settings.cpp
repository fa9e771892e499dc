// sim/workloads/settings.cpp — A workload's settings: a struct of which each member declares its own row,
// with name, default and meaning.
// What a workload ignores has its usual value.
#include "sim/workloads/settings.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>

#include "scenarios/model/error.h"

namespace deadrank::sim {

void Settings::list(const Row& row, std::initializer_list<Text> words) {
    scenarios::Parameter& listed = source_.rows->emplace_back();
    listed.name = row.name;
    listed.type = row.type;
    listed.fallback = row.usual;
    listed.what =
        row.needs.empty() ? std::string(row.what) : fmt::format("{}; needs {}", row.what, row.needs);
    listed.needs = row.needs;
    for (const Text word : words) listed.choices.emplace_back(word);
    listed.optional = row.usual.empty();
    listed.least = row.least;
}

const scenarios::Value* Settings::find_value(const Row& row) const {
    const auto found = source_.plan->find(std::string(row.name));
    return found == source_.plan->end() ? nullptr : &found->second;
}

std::int64_t Settings::number(const Row& row) {
    if (source_.rows) return list(row), 0;
    const scenarios::Value* value = find_value(row);
    if (value || row.usual.empty()) return value ? value->number : 0;
    return scenarios::parse_value(row.type, row.usual).value().number;
}

int Settings::place(const Row& row, std::initializer_list<Text> words) {
    if (source_.rows) return list(row, words), 0;
    const scenarios::Value* value = find_value(row);
    if (!value && row.usual.empty()) return 0;
    const auto found = std::find(words.begin(), words.end(), value ? Text(value->text) : row.usual);
    CHECK(found != words.end());
    return static_cast<int>(found - words.begin());
}

std::string Settings::text_or_file(Text name, Text what, Text suffix) {
    const Row row{.name = name, .type = ValueType::text, .usual = {}, .what = what};
    if (source_.rows) {
        list(row);
        source_.rows->back().optional = false;
        source_.rows->back().suffixes = {std::string(suffix)};
        return {};
    }
    const scenarios::Value* const value = find_value(row);
    return value ? value->text : std::string();
}

void drop_unmet_parameters(scenarios::Kind& words) {
    const auto lacks = [&](std::string_view needs) {
        return !needs.empty() && !scenarios::any_needed(needs, [&](std::string_view name) {
            return std::any_of(words.parameters.begin(), words.parameters.end(),
                               [&](const scenarios::Parameter& known) { return known.name == name; });
        });
    };
    std::vector<std::string> gone;
    for (const scenarios::Parameter& parameter : words.parameters) {
        if (lacks(parameter.needs)) gone.push_back(parameter.name);
    }
    std::erase_if(words.parameters, [&](const scenarios::Parameter& parameter) {
        return std::find(gone.begin(), gone.end(), parameter.name) != gone.end();
    });
    std::erase_if(words.phases, [&](const scenarios::PhaseWord& phase) { return lacks(phase.needs); });
}

bool of_whole_models(std::string_view setting) {
    constexpr std::string_view of_these[] = {"branch_one_in",      "sample_tokens",
                                             "normalise",          "clip",
                                             "saved_ranks",        "saved_pad",
                                             "saved_steps",        "evaluate_every",
                                             "evaluation_samples", "evaluation_remainder",
                                             "auxiliary",          "frozen_layer",
                                             "saved_listed"};
    return std::find(std::begin(of_these), std::end(of_these), setting) != std::end(of_these);
}

std::vector<std::string_view> checkpoint_settings_and(std::initializer_list<std::string_view> more) {
    std::vector<std::string_view> all = {"checkpoint_every",
                                         "checkpoint_interval",
                                         "checkpoint_agreed",
                                         "checkpoint_finish",
                                         "optimizer_steps",
                                         "resume",
                                         "load",
                                         "checkpoint_keys",
                                         "commit",
                                         "sharding"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

std::shared_ptr<const WholeNumbers> whole_numbers(const scenarios::Values& plan) {
    auto numbers = std::make_shared<WholeNumbers>();
    for (const auto& [name, value] : plan) {
        if (value.type == scenarios::ValueType::integer)
            numbers->emplace_back("setting." + name, value.number);
    }
    return numbers;
}

void pass_checks(World& world, const WholeNumbers& numbers) {
    for (int time = 0; time < 2; ++time) {  // once to be known, once to be compared with any other
        (void)world.seam("setting.ranks", world.processes());
        for (const auto& [name, number] : numbers) (void)world.seam(name, number);
    }
}

void Settings::usual(Text name, Text value) {
    if (!source_.rows) return;
    const auto row = std::find_if(source_.rows->begin(), source_.rows->end(),
                                  [&](const auto& known) { return known.name == name; });
    CHECK(row != source_.rows->end());
    row->fallback = value;
}

}  // namespace deadrank::sim

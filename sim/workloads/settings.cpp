// sim/workloads/settings.cpp — A workload's settings: a struct of which each member declares its own row,
// with name, default and meaning.
#include "sim/workloads/settings.h"

#include <algorithm>
#include <string>

#include "scenarios/model/error.h"

namespace deadrank::sim {

void Settings::list(const Row& row, std::initializer_list<Text> words) {
    scenarios::Parameter& listed = source_.rows->emplace_back();
    listed.name = row.name;
    listed.type = row.type;
    listed.fallback = row.usual;
    listed.what = row.what;
    for (const Text word : words) listed.choices.emplace_back(word);
    listed.optional = row.usual.empty();
    listed.least = row.least;
}

const scenarios::Value* Settings::said(const Row& row) const {
    const auto found = source_.plan->find(std::string(row.name));
    CHECK(found != source_.plan->end() || row.usual.empty());
    return found == source_.plan->end() ? nullptr : &found->second;
}

std::int64_t Settings::number(const Row& row) {
    if (source_.rows) return list(row), 0;
    const scenarios::Value* value = said(row);
    return value ? value->number : 0;
}

int Settings::place(const Row& row, std::initializer_list<Text> words) {
    if (source_.rows) return list(row, words), 0;
    const auto found = std::find(words.begin(), words.end(), said(row)->text);
    CHECK(found != words.end());
    return static_cast<int>(found - words.begin());
}

void Settings::usual(Text name, Text value) {
    if (!source_.rows) return;
    const auto row = std::find_if(source_.rows->begin(), source_.rows->end(),
                                  [&](const auto& known) { return known.name == name; });
    CHECK(row != source_.rows->end());
    row->fallback = value;
}

}  // namespace deadrank::sim

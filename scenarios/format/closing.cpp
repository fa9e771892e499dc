// scenarios/format/closing.cpp — One draw a setting, named by the setting's path, so that no draw depends on
// another.
#include "scenarios/format/closing.h"

#include "scenarios/model/check.h"

namespace deadrank::scenarios {

namespace {

// The type is not part of a selector; only its parameter knows it.
Setting typed_setting(Setting setting, ValueType type) {
    if (!setting.selector.empty()) setting.options = {Value{.type = type}};
    return setting;
}

}  // namespace

Result<Value> Closing::close(const Setting& setting, const std::string& path) const {
    const Draw draw(seed_.number, scenario_, path);
    if (setting.range) {
        Value value = setting.range->first;
        value.number = draw.between(0, value.number, setting.range->second.number);
        return value;
    }
    CHECK(!setting.options.empty());
    Value value = setting.options[draw.below(0, setting.options.size())];
    if (!counts_members(value.type)) return value;
    const std::string words = setting.selector.empty() ? value_text(value) : setting.selector;
    auto members = select(value.type, words, shape_, earlier_, draw);
    if (!members) {
        Error error = members.error();
        error.place = setting.place;
        return tl::unexpected(std::move(error));
    }
    value.list = std::move(*members);
    return value;
}

Result<Value> Closing::fallback(const Parameter& parameter, const std::string& path) const {
    if (counts_members(parameter.type)) {
        return close(typed_setting({.selector = parameter.fallback}, parameter.type), path);
    }
    auto value = parse_value(parameter.type, parameter.fallback);
    CHECK(value.has_value());  // defaults are ours
    return value;
}

Result<Values> Closing::all(const Settings& settings, const std::vector<Parameter>& parameters,
                            const std::string& path) const {
    Values values;
    for (const Parameter& parameter : parameters) {
        const std::string name = path + "." + parameter.name;
        const auto found = settings.find(parameter.name);
        if (found == settings.end() && parameter.fallback.empty()) continue;
        auto value = found != settings.end() ? close(typed_setting(found->second, parameter.type), name)
                                             : fallback(parameter, name);
        if (!value) return tl::unexpected(value.error());
        values.emplace(parameter.name, std::move(*value));
    }
    return values;
}

Result<Values> Closing::stated(const Settings& settings, const std::string& path) const {
    Values values;
    for (const auto& [name, setting] : settings) {
        auto value = close(setting, path + "." + name);
        if (!value) return tl::unexpected(value.error());
        values.emplace(name, std::move(*value));
    }
    return values;
}

Trigger trigger_of(const Values& when, bool at_start) {
    const auto number = [&](const char* name, std::int64_t otherwise) {
        const auto found = when.find(name);
        return found == when.end() ? otherwise : found->second.number;
    };
    const auto text = [&](const char* name) {
        const auto found = when.find(name);
        return found == when.end() ? std::string() : found->second.text;
    };
    Trigger trigger{.at = number("at", -1),
                    .step = number("step", -1),
                    .phase = text("phase"),
                    .before = text("before"),
                    .comm = text("comm"),
                    .nth = number("nth", 1),
                    .always = number("always", 0) != 0,
                    .until_step = number("until_step", -1),
                    .lasts = number("lasts", -1)};
    const bool placed = trigger.at >= 0 || trigger.step >= 0 || !trigger.phase.empty() ||
                        !trigger.before.empty() || !trigger.comm.empty();
    trigger.at_start = number("start", 0) != 0 || (!placed && at_start);
    return trigger;
}

}  // namespace deadrank::scenarios

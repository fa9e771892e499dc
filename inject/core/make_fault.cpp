// inject/core/make_fault.cpp — Looks the kind up, writes defaults out, and says which ranks have an occasion
// of their own.
#include "inject/core/make_fault.h"

#include <fmt/format.h>

#include "inject/core/trigger.h"

namespace deadrank::inject {

namespace {

std::vector<std::string> known_kinds() {
    std::vector<std::string> names;
    for (const FaultRow& kind : fault_catalog()) names.push_back(kind.words.name);
    return names;
}

tl::unexpected<scenarios::Error> refuse_kind(const std::string& kind) {
    const std::string near = scenarios::nearest(kind, known_kinds());
    return scenarios::refuse(
        scenarios::ErrorCode::bad_input, fmt::format("there is no fault '{}'", kind),
        near.empty() ? "`deadrank list --faults` names them all" : fmt::format("did you mean '{}'?", near));
}

scenarios::Result<void> write_defaults(scenarios::FaultSpec& spec, const scenarios::Kind& words) {
    for (const scenarios::Parameter& parameter : words.parameters) {
        if (spec.parameters.count(parameter.name) > 0 || parameter.optional) continue;
        if (parameter.fallback.empty()) {
            return scenarios::refuse(scenarios::ErrorCode::bad_input,
                                     fmt::format("fault '{}' lacks '{}'", words.name, parameter.name),
                                     parameter.what);
        }
        const auto value = scenarios::parse_value(parameter.type, parameter.fallback);
        if (!value) return tl::unexpected(value.error());
        spec.parameters.emplace(parameter.name, *value);
    }
    return {};
}

// A fault that alters calls needs one to be under way, and one that kills needs a process: they wait for it
// even when `when` is silent about it. A step is implied already where a place is named.
void aim(scenarios::Trigger& when, const FaultRow& kind) {
    const bool anywhere = from_start(when) && !when.at_start;
    const bool call = !kind.awaits.empty() && kind.awaits != "step";
    if (call) when.at_start = false;
    if (when.before.empty() && (call || (anywhere && !kind.awaits.empty()))) when.before = kind.awaits;
}

}  // namespace

const FaultRow* find_fault(std::string_view name) {
    for (const FaultRow& kind : fault_catalog()) {
        if (kind.words.name == name) return &kind;
    }
    return nullptr;
}

scenarios::Result<PlannedFault> make_fault(const scenarios::FaultSpec& spec) {
    const FaultRow* kind = find_fault(spec.kind);
    if (!kind) return refuse_kind(spec.kind);
    PlannedFault planned{.spec = spec};
    if (const auto written = write_defaults(planned.spec, kind->words); !written)
        return tl::unexpected(written.error());
    aim(planned.spec.when, *kind);
    planned.fault = kind->make(planned.spec);
    planned.rhythm = planned.fault->rhythm();
    if (planned.spec.parameters.count("rank") == 0) planned.ranks = {results::no_rank};
    for (const std::int64_t rank : planned.spec.ranks()) planned.ranks.push_back(static_cast<Rank>(rank));
    return planned;
}

}  // namespace deadrank::inject

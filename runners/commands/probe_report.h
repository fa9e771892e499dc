// runners/commands/probe_report.h — A detection curve as a chart of text, as JSON and as CSV.
#pragma once

#include <functional>
#include <string>

#include "results/text/style.h"
#include "runners/find/curve.h"

namespace deadrank::runners::commands {

struct ProbeSubject {
    std::string who;                                // "straggler", "alert GpuHot (promtool 2.42.0)"
    std::string what;                               // "scheduling/one_slow_device, slow_rank.factor"
    std::function<std::string(std::int64_t)> unit;  // a magnitude in words
    bool harm = true;                               // whether harm and bystanders are known
};

std::string probe_text(const find::Curve& curve, const ProbeSubject& subject,
                       const results::reports::Style& style);
std::string probe_json(const find::Curve& curve, const ProbeSubject& subject);
std::string probe_csv(const find::Curve& curve, const ProbeSubject& subject);

}  // namespace deadrank::runners::commands

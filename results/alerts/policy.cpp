// results/alerts/policy.cpp — Reads the policy and holds a study against it.
#include "results/alerts/policy.h"

#include <algorithm>
#include <fmt/format.h>
#include <fnmatch.h>

#include "results/alerts/study.h"
#include "results/exporters/toml_file.h"

namespace deadrank::results::alerts {

namespace {

using scenarios::ErrorCode;
using scenarios::Node;
using scenarios::refuse;
using scenarios::Result;

Result<Must> must_of(const Node& node, const std::string& file) {
    static const std::vector<std::string> keys = {"fault",  "within",   "place",
                                                  "alerts", "severity", "receiver"};
    if (auto checked = exporters::check_members(node, keys, file); !checked)
        return tl::unexpected(checked.error());
    Must must{.fault = node["fault"].text_or(),
              .alerts = node["alerts"].texts(),
              .severities = node["severity"].texts(),
              .receiver = node["receiver"].text_or(),
              .line = node.place.line};
    if (must.fault.empty()) {
        return refuse(ErrorCode::bad_input, "[[must]] names no fault", "write fault = \"nccl_hang\"",
                      {file, node.place.line, 0});
    }
    if (node["within"]) {
        must.within = exporters::seconds_of(node["within"].text_or());
        if (must.within < 0) {
            return refuse(ErrorCode::bad_input, "'" + node["within"].text_or() + "' is not a duration",
                          "write \"5m\"", {file, node["within"].place.line, 0});
        }
    }
    const std::string place = node["place"].text_or();
    const auto wanted = scenarios::read_word<WantedPlace>(place);
    if (!wanted) {
        return refuse(ErrorCode::bad_input, "unknown place '" + place + "'", "use node or exact",
                      {file, node["place"].place.line, 0});
    }
    must.place = *wanted;
    return must;
}

bool satisfies_place(WantedPlace wanted, Locality place) {
    switch (wanted) {
        case WantedPlace::exact:
            return place == Locality::exact;
        case WantedPlace::node:
            return place == Locality::exact || place == Locality::node;
        case WantedPlace::anywhere:
            return true;
    }
    return true;
}

// An empty list accepts everything.
bool fits_any(const std::vector<std::string>& patterns, const std::string& text) {
    return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                           [&](const std::string& one) { return fits_glob(one, text); });
}

std::string severity_of(const Rule& rule) {
    const auto at = rule.labels.find("severity");
    return at == rule.labels.end() ? "" : at->second;
}

// Empty when an alert meets this demand; else why the nearest one does not.
std::string unmet(const Study& study, const Row& row, const Must& must) {
    const double within = must.within >= 0 ? must.within : row.incident.within;
    std::string nearest = "no alert noticed it";
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
        const Cell& cell = row.cells[i];
        const std::string& name = study.rules[i].name;
        if (!cell.noticed()) continue;
        if (!fits_any(must.alerts, name)) continue;
        if (!fits_any(must.severities, severity_of(study.rules[i]))) {
            if (nearest.starts_with("no alert"))
                nearest =
                    fmt::format("{} noticed it, but its severity is '{}'", name, severity_of(study.rules[i]));
            continue;
        }
        if (cell.latency_low > within) {
            nearest =
                fmt::format("{} noticed it after {}, and {} are allowed", name,
                            exporters::duration_text(cell.latency_low), exporters::duration_text(within));
        } else if (!satisfies_place(must.place, cell.place)) {
            nearest = fmt::format("{} noticed it, but does not lead to the {}", name,
                                  must.place == WantedPlace::node ? "node" : "place");
        } else if (!must.receiver.empty() &&
                   std::find(cell.paged.begin(), cell.paged.end(), must.receiver) == cell.paged.end()) {
            nearest = fmt::format(
                "{} noticed it, but goes to {} and not to {}", name,
                cell.paged.empty() ? "nobody known" : fmt::format("{}", fmt::join(cell.paged, ", ")),
                must.receiver);
        } else {
            return {};
        }
    }
    return nearest;
}

void check_requirements(const Study& study, const Policy& policy, std::vector<Breach>& found) {
    for (const Must& must : policy.musts) {
        bool played = false;
        for (const Row& row : study.rows) {
            if (!fits_glob(must.fault, row.incident.id)) continue;
            played = true;
            if (!row.trouble.empty()) continue;
            if (std::string why = unmet(study, row, must); !why.empty())
                found.push_back({row.incident.id, "", std::move(why)});
        }
        if (!played) {
            found.push_back(
                {must.fault, "",
                 fmt::format("{}:{} demands it, but no such failure was played", policy.file, must.line)});
        }
    }
}

}  // namespace

bool fits_glob(const std::string& pattern, const std::string& text) {
    return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool wants_silence(const Policy& policy, const Rule& rule) {
    const bool allowed = !policy.allowed.empty() && fits_any(policy.allowed, rule.name);
    return policy.healthy_silent && !allowed && fits_any(policy.severities, severity_of(rule));
}

std::vector<std::string> undecided(const Study& study, const Policy& policy) {
    std::vector<std::string> found;
    for (const Row& row : study.rows) {
        const bool asked = std::any_of(policy.musts.begin(), policy.musts.end(), [&](const Must& must) {
            return fits_glob(must.fault, row.incident.id);
        });
        if (asked && !row.trouble.empty())
            found.push_back(
                fmt::format("the policy demands {}, which was not judged: {}", row.incident.id, row.trouble));
    }
    return found;
}

Result<Policy> load_policy(const std::filesystem::path& file) {
    auto tree = exporters::read_toml(file);
    if (!tree) return tl::unexpected(tree.error());
    if (auto checked = exporters::check_members(*tree, {"must", "healthy", "rules"}, file.string());
        !checked) {
        return tl::unexpected(checked.error());
    }
    Policy policy{.file = file.string(), .given = true};
    for (const Node& node : (*tree)["must"].items) {
        auto must = must_of(node, file.string());
        if (!must) return tl::unexpected(must.error());
        policy.musts.push_back(std::move(*must));
    }
    const Node& healthy = (*tree)["healthy"];
    auto checked = exporters::check_members(healthy, {"silent", "allow", "severity"}, file.string());
    if (checked) checked = exporters::check_members((*tree)["rules"], {"dead", "sticky"}, file.string());
    if (!checked) return tl::unexpected(checked.error());
    if (healthy["silent"]) policy.healthy_silent = healthy["silent"].is_true();
    policy.allowed = healthy["allow"].texts();
    policy.severities = healthy["severity"].texts();
    policy.forbid_dead = (*tree)["rules"]["dead"].text_or() == "fail";
    policy.forbid_sticky = (*tree)["rules"]["sticky"].text_or() == "fail";
    return policy;
}

std::vector<Breach> breaches(const Study& study, const Policy& policy) {
    std::vector<Breach> found;
    for (const external::LoadTrouble& trouble : study.invalid) {
        found.push_back({"", trouble.place(), trouble.words});
    }
    for (std::size_t i = 0; i < study.healthy.size(); ++i) {
        const std::string& name = study.rules[i].name;
        if (!wants_silence(policy, study.rules[i])) continue;
        const bool loud = study.healthy[i].verdict == AlertVerdict::false_alarm ||
                          (policy.given && study.healthy[i].verdict == AlertVerdict::background);
        if (loud) found.push_back({"healthy", name, study.healthy[i].says, static_cast<int>(i)});
    }
    for (std::size_t i = 0; policy.forbid_dead && i < study.rules.size(); ++i) {
        const RuleReads& reads = study.analysis.rules[i];
        // A metric that this run does not simulate is not the fault of the rules.
        if (study.rules[i].is_alert && silence_of(reads.dead_kind) == Silence::never) {
            found.push_back(
                {"", study.rules[i].name, "can never fire: " + reads.why_dead, static_cast<int>(i)});
        }
    }
    for (const Row& row : study.rows) {
        for (std::size_t i = 0; policy.forbid_sticky && i < row.cells.size(); ++i) {
            if (row.cells[i].verdict != AlertVerdict::sticky) continue;
            found.push_back({row.incident.id, study.rules[i].name, row.cells[i].says, static_cast<int>(i)});
        }
    }
    check_requirements(study, policy, found);
    return found;
}

}  // namespace deadrank::results::alerts

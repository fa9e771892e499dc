// results/alerts/policy.h — What must be caught, how soon, how precisely, and who must be paged: a small TOML
// file for the operator's CI. A breach makes the command exit 1.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/model/enum_words.h"
#include "scenarios/model/error.h"

namespace deadrank::results::alerts {

struct Rule;
struct Study;

// How precisely an alert must lead to the failure.
enum class WantedPlace { anywhere, node, exact };
constexpr auto enum_words(WantedPlace) { return std::to_array<std::string_view>({"", "node", "exact"}); }

// [[must]] fault = "nccl_hang", within = "5m", place = "node", alerts = ["…"], severity = "critical",
// receiver = "pager". Faults, alerts and severities are globs: "ib_*", "Gpu*Critical".
struct Must {
    std::string fault;
    double within = -1;                   // seconds; -1 = the fault's own objective
    WantedPlace place = WantedPlace::anywhere;
    std::vector<std::string> alerts;      // only these count; empty = any
    std::vector<std::string> severities;  // only alerts with one of these in their label severity
    std::string receiver;                 // who must be paged; empty = not asked
    int line = 0;
};

struct Policy {
    std::string file;
    std::vector<Must> musts;
    bool healthy_silent = true;           // [healthy] silent
    std::vector<std::string> allowed;     // [healthy] allow = ["Watchdog", "Info*"]
    std::vector<std::string> severities;  // [healthy] severity: only these have to be silent; empty = all
    bool forbid_dead = false;             // [rules] dead = "fail"
    bool forbid_sticky = false;           // [rules] sticky = "fail"
    bool given = false;                   // false: only the checks that need no policy
};

scenarios::Result<Policy> load_policy(const std::filesystem::path& file);

struct Breach {
    std::string fault, alert;  // either may be empty
    std::string says;
    int rule = -1;  // the alert's place in the study: several may have one name
};

// Without a policy file: rules that Prometheus rejects, and false alarms on a healthy cluster.
std::vector<Breach> breaches(const Study& study, const Policy& policy);

// Failures that the policy demands but that could not be judged, with reasons: neither met nor broken.
std::vector<std::string> undecided(const Study& study, const Policy& policy);

// Does the policy ask the alert to be silent on a healthy cluster?
bool wants_silence(const Policy& policy, const Rule& rule);

bool fits_glob(const std::string& pattern, const std::string& text);

}  // namespace deadrank::results::alerts

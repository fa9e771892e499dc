// results/alerts/rule.h — Alert rules as read from a Prometheus rule file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::results::alerts {

struct Rule {
    bool is_alert = true;
    std::string name;  // of the alert, or of the recorded metric
    std::string expr;
    double hold = 0;         // `for`, in seconds
    double keep_firing = 0;  // `keep_firing_for`
    std::map<std::string, std::string> labels, annotations;
    std::string file;  // the operator's
    int line = 0;      // of the rule
    int expr_line = 0;
    std::string group;
    int group_line = 0;
    int group_limit = 0;   // of firing instances; 0 = none
    double interval = -1;  // of its group, in seconds; -1 = the global one
};

struct RuleFile {
    std::string path;     // the operator's file
    std::string loaded;   // what promtool gets: the same, or the unwrapped copy
    std::string content;  // bytes of what promtool gets
    std::vector<Rule> rules;
    bool unwrapped = false;
    bool resource = false;           // a PrometheusRule, which a Prometheus Operator loads
    std::vector<std::string> notes;  // what was left out or unwrapped
    std::string broken;  // why it is not valid YAML, in the parser's words; there are no rules then
    int broken_line = 0, broken_column = 0;
};

// `scratch`: where an unwrapped copy may be written. Errors: io, bad_input (it is not a rule file but a Helm
// template, a Grafana export, an Alertmanager configuration, …; the remedy says what to do). Broken YAML is
// not an Error but a RuleFile with `broken` set, so that the verdict `invalid` can name the line.
scenarios::Result<RuleFile> read_rules(const std::filesystem::path& file,
                                       const std::filesystem::path& scratch);

// These files, and what lies in these directories with the ending of a rule file, which is marked: it may be
// something else. `unread`: directories without the right to list them, each with the reason.
struct ListedFiles {
    std::vector<std::pair<std::string, bool>> files;
    std::vector<std::string> unread;
};
ListedFiles rule_files_in(const std::vector<std::string>& paths);

// Refuses a text that is evidently not a rule file, and says what it is.
scenarios::Result<void> check_kind(const std::string& text, const std::string& path);

// Does it have lines of template control? Harmless inside an annotation's text; in a text that is not valid
// YAML they explain why.
bool is_template(const std::string& text);

}  // namespace deadrank::results::alerts

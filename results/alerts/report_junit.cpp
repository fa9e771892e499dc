// results/alerts/report_junit.cpp — JUnit for CI. A demand of the policy is a case, a failure without one is
// a case too; what could not be judged is skipped with its reason and never passed.
#include <pugixml.hpp>
#include <sstream>

#include "results/alerts/report.h"

namespace deadrank::results::alerts {

namespace {

class Suite {
public:
    Suite(pugi::xml_node parent, const char* name) : node_(parent.append_child("testsuite")) {
        node_.append_attribute("name") = name;
        tests_ = node_.append_attribute("tests");
        failures_ = node_.append_attribute("failures");
        skipped_ = node_.append_attribute("skipped");
        write();
    }

    void add(const std::string& group, const std::string& name, const std::string& failure,
             const std::string& skip = {}) {
        pugi::xml_node one = node_.append_child("testcase");
        one.append_attribute("classname") = group.c_str();
        one.append_attribute("name") = name.c_str();
        ++counts_[0];
        if (!skip.empty()) {
            one.append_child("skipped").append_attribute("message") = skip.c_str();
            ++counts_[2];
        } else if (!failure.empty()) {
            one.append_child("failure").append_attribute("message") = failure.c_str();
            ++counts_[1];
        }
        write();
    }

private:
    void write() {
        tests_ = counts_[0];
        failures_ = counts_[1];
        skipped_ = counts_[2];
    }

    pugi::xml_node node_;
    pugi::xml_attribute tests_, failures_, skipped_;
    int counts_[3] = {0, 0, 0};
};

std::string breach_of(const std::vector<Breach>& found, const std::string& fault, const std::string& alert) {
    for (const Breach& one : found) {
        if (one.fault == fault && one.alert == alert) return one.says;
    }
    return {};
}

bool demanded(const Policy& policy, const std::string& id) {
    for (const Must& must : policy.musts) {
        if (fits_fault(must.fault, id)) return true;
    }
    return false;
}

}  // namespace

std::string junit_report(const Study& study, const Policy& policy, const std::vector<Breach>& found) {
    pugi::xml_document document;
    pugi::xml_node root = document.append_child("testsuites");
    root.append_attribute("name") = "deadrank alerts";
    Suite rules(root, "rules");
    for (const auto& one : study.invalid) rules.add(one.file, "loads", one.words);
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        const Rule& rule = study.rules[i];
        if (!rule.is_alert) continue;
        const bool dead = study.analysis.rules[i].dead;
        rules.add(rule.file, rule.name + " can fire", dead ? study.analysis.rules[i].why_dead : "");
        if (i < study.healthy.size()) {
            rules.add("healthy", rule.name + " is silent on a healthy cluster",
                      breach_of(found, "healthy", rule.name));
        }
    }
    Suite faults(root, "failures");
    for (const Row& row : study.rows) {
        const std::string& id = row.incident.id;
        std::string failure = breach_of(found, id, "");
        // Without a policy every failure is expected to be caught within its own objective.
        if (!policy.given && outcome_of(row) != "caught") failure = outcome_of(row);
        faults.add("failures",
                   id + (demanded(policy, id) ? " is caught as the policy demands" : " is caught in time"),
                   failure, row.trouble);
    }
    std::ostringstream text;
    document.save(text, "  ");
    return text.str();
}

}  // namespace deadrank::results::alerts

// results/reports/junit.cpp — A failure's text is the terminal's failure block, so CI shows the same story.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "results/record/text_file.h"
#include "results/reports/json_files.h"
#include "results/reports/output.h"
#include "results/reports/terminal.h"

namespace deadrank::results::reports {

namespace {

std::string seconds_text(double seconds) { return fmt::format("{:.3f}", seconds); }

void add_case(pugi::xml_node suite, const Case& one) {
    const std::size_t slash = one.scenario.rfind('/');
    const bool plain = slash == std::string::npos;
    pugi::xml_node node = suite.append_child("testcase");
    node.append_attribute("classname") =
        visible(one.runner + "." + (plain ? "scenarios" : one.scenario.substr(0, slash))).c_str();
    node.append_attribute("name") =
        visible(fmt::format("{} seed {}", plain ? one.scenario : one.scenario.substr(slash + 1), one.seed))
            .c_str();
    node.append_attribute("time") = seconds_text(one.seconds).c_str();
    if (one.verdict == Verdict::pass) return;
    if (one.differs_as_documented()) {
        node.append_child("skipped").append_attribute("message") =
            visible("differs as documented: " + one.documented).c_str();
        return;
    }
    pugi::xml_node trouble = node.append_child(one.verdict == Verdict::fail ? "failure" : "skipped");
    trouble.append_attribute("message") = visible(one.reason).c_str();
    if (one.verdict == Verdict::fail) {
        const Outcome outcome = one.fault ? one.fault->outcome : Outcome::silent;
        trouble.append_attribute("type") = std::string(name_of(outcome)).c_str();
    }
    trouble.append_child(pugi::node_pcdata).set_value(visible("\n" + failure_block(one, Style{})).c_str());
}

void count(pugi::xml_node node, const std::vector<const Case*>& cases) {
    const auto with = [&](Verdict verdict) {
        return std::count_if(cases.begin(), cases.end(), [&](const Case* one) {
            return one->verdict == verdict && !one->differs_as_documented();
        });
    };
    const auto documented = std::count_if(cases.begin(), cases.end(),
                                          [](const Case* one) { return one->differs_as_documented(); });
    double seconds = 0;
    for (const Case* one : cases) seconds += one->seconds;
    node.append_attribute("tests") = static_cast<unsigned long>(cases.size());
    node.append_attribute("failures") = static_cast<unsigned long>(with(Verdict::fail));
    node.append_attribute("skipped") = static_cast<unsigned long>(with(Verdict::unknown) + documented);
    node.append_attribute("errors") = 0;
    node.append_attribute("time") = seconds_text(seconds).c_str();
}

}  // namespace

std::string junit_document(const std::vector<Case>& cases) {
    std::map<std::string, std::vector<const Case*>> by_runner;
    std::vector<const Case*> all;
    for (const Case& one : cases) {
        by_runner[one.runner].push_back(&one);
        all.push_back(&one);
    }
    pugi::xml_document document;
    pugi::xml_node root = document.append_child("testsuites");
    root.append_attribute("name") = "deadrank";
    count(root, all);
    for (const auto& [runner, group] : by_runner) {
        pugi::xml_node suite = root.append_child("testsuite");
        suite.append_attribute("name") = ("deadrank." + runner).c_str();
        count(suite, group);
        for (const Case* one : group) add_case(suite, *one);
    }
    std::ostringstream text;
    document.save(text, "  ");
    return text.str();
}

scenarios::Result<void> write_junit(const std::vector<Case>& cases, const std::filesystem::path& file) {
    return write_text(junit_document(cases), file);
}

}  // namespace deadrank::results::reports

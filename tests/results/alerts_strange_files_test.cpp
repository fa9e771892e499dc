// tests/results/alerts_strange_files_test.cpp — Goal: a rule file that nobody here has seen gives rules or a
// refusal, and never a crash: the samples with bytes changed, cut, doubled, and some texts made to hurt.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "results/alerts/promql.h"
#include "tests/results/alerts_site.h"

namespace deadrank::results::alerts::testing {
namespace {

std::string rule_bytes(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

void must_not_crash(const Emitted& emitted, const std::string& text) {
    std::filesystem::create_directories(scratch());
    const std::string path = scratch() + "/strange.yml";
    std::ofstream(path, std::ios::binary) << text;
    const auto file = read_rules(path, scratch());
    if (!file) {
        EXPECT_FALSE(file.error().text().empty());
        return;
    }
    analyse(file->rules, emitted);
}

TEST(StrangeRuleFiles, GiveRulesOrARefusal) {
    const Site site("dcgm-default", {2, 2});
    const Emitted emitted(site.world, site.signatures);
    std::uint64_t chance = 1;
    const auto draw = [&](std::size_t below) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>(chance >> 33) % below;
    };
    const std::string signs = "{}[]()\"'`:-#|>&*!%@\n\t \\0a9";
    for (const char* name :
         {"correct.yml", "broken.yml", "late.yml", "prometheus_rule.yml", "helm.yml", "grafana.yml"}) {
        const std::string whole = rule_bytes(rule_file(name));
        for (int round = 0; round < 60; ++round) {
            std::string text = whole;
            for (std::size_t i = 0; i < 1 + draw(6); ++i) text[draw(text.size())] = signs[draw(signs.size())];
            if (round % 3 == 0) text.resize(draw(text.size()) + 1);
            must_not_crash(emitted, text);
        }
    }
}

TEST(StrangeRuleFiles, MadeToHurtDoNot) {
    const Site site("dcgm-default", {2, 2});
    const Emitted emitted(site.world, site.signatures);
    const std::string open = "groups:\n- name: a\n  rules:\n  - alert: A\n    expr: ";
    const auto many = [](const std::string& text, int times) {
        std::string all;
        for (int i = 0; i < times; ++i) all += text;
        return all;
    };
    must_not_crash(emitted, many("[", 20000));
    must_not_crash(emitted, many(" ", 300000) + "x");
    must_not_crash(emitted, open + "'" + many("(", 50000) + "'\n");
    must_not_crash(emitted, open + "'" + many("up or ", 5000) + "up'\n");
    must_not_crash(emitted, open + "up{job=~\"(a+)+" + many("(x|x)*", 12) + "$\"}\n");
    must_not_crash(emitted, open + "up{job=~\"[\"}\n    for: 99999999999999d\n");
    must_not_crash(emitted, "groups: 3\n");
    must_not_crash(emitted,
                   "groups:\n- rules: {a: b}\n- 7\n- rules: [1, [], {alert: [x], expr: {y: z}}]\n");
    must_not_crash(emitted, "a: &a [*a]\n");
    must_not_crash(emitted, "groups: &g\n- name: x\n  rules: *g\n");
    must_not_crash(emitted,
                   "kind: List\nitems:\n- kind: List\n  items: 3\n- kind: PrometheusRule\n  spec: 4\n");
}

// Bounds on depth, length and time are refusals with the place in the file, and not a crash or a minute's
// work.
TEST(StrangeRuleFiles, BeyondAnyBoundAreRefusedAtTheirPlace) {
    const std::string open = "groups:\n- name: a\n  rules:\n  - alert: A\n    expr: ";
    const auto many = [](const std::string& text, int times) {
        std::string all;
        for (int i = 0; i < times; ++i) all += text;
        return all;
    };
    std::string indented;
    for (int i = 0; i < 3000; ++i) indented += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    struct Case {
        std::string text, says;
        int line;
    };
    const Case cases[] = {
        {open + "'" + many("up == 0 or ", 20'000) + "up'\n", "more than 16 KiB", 5},
        {open + "'" + many("(", 20'000) + "up" + many(")", 20'000) + "'\n", "more than 16 KiB", 5},
        {indented, "more than 100 levels deep", 101},
        {"groups:\n- " + many("[", 5'000) + "\n", "more than 100 levels deep", 2},
        {"groups:\n- name: a\n  interval: 1ms\n  rules:\n  - alert: A\n    expr: up == 0\n",
         "more than once a second", 3}};
    std::filesystem::create_directories(scratch());
    for (const Case& one : cases) {
        const std::string path = scratch() + "/bounds.yml";
        std::ofstream(path) << one.text;
        const auto file = read_rules(path, scratch());
        ASSERT_TRUE(file) << one.says;
        EXPECT_NE(file->broken.find(one.says), std::string::npos) << one.says << ": " << file->broken;
        EXPECT_EQ(file->broken_line, one.line) << one.says;
        EXPECT_TRUE(file->rules.empty());
    }
    EXPECT_TRUE(thresholds_of(many("(", 1'000) + "up > 1" + many(")", 1'000)).size() < 2);
    EXPECT_EQ(thresholds_of(many("(", 20) + "up > 1" + many(")", 20) + many(" or up < 0", 200)).size(), 201u);
}

}  // namespace
}  // namespace deadrank::results::alerts::testing

// tests/tidy_test.cpp — Goal: the rules of style and structure hold in every file, and each rule fails on
// what it is there for.
#include "tests/support/tidy/tidy.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <string>

namespace deadrank::tests {
namespace {

const Tree& tree() {
    static const Tree tree = read_tree(DEADRANK_SOURCE_DIRECTORY);
    return tree;
}

std::string listed(const Complaints& complaints) {
    std::string text;
    for (const Complaint& one : complaints) text += "\n  " + one.where + ": " + one.what;
    return text;
}

void expect_none(const std::function<Complaints(const SourceFile&)>& rule) {
    Complaints all;
    for (const SourceFile& file : tree()) {
        for (Complaint& one : rule(file)) all.push_back(std::move(one));
    }
    EXPECT_TRUE(all.empty()) << all.size() << " complaints:" << listed(all);
}

// The rule complains about this text once for each expected piece, in order, and about nothing else.
void expect_complaints(const Complaints& complaints, const std::vector<std::string>& pieces) {
    ASSERT_EQ(complaints.size(), pieces.size()) << listed(complaints);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        EXPECT_NE((complaints[i].where + ": " + complaints[i].what).find(pieces[i]), std::string::npos)
            << listed(complaints);
    }
}

// Directories of this machine that must not be written down: home, the checkout, its build, and what holds
// them.
std::vector<std::string> paths_of_this_machine() {
    std::vector<std::string> paths;
    const auto add = [&](const std::filesystem::path& path) {
        if (path.has_relative_path()) paths.push_back(path.generic_string() + "/");
    };
    add(DEADRANK_SOURCE_DIRECTORY);
    add(DEADRANK_BINARY_DIRECTORY);
    const auto parent = std::filesystem::path(DEADRANK_SOURCE_DIRECTORY).parent_path();
    if (parent != "/tmp" && parent != "/home" && parent != "/opt" && parent != "/srv") add(parent);
    if (const char* home = std::getenv("HOME")) add(home);
    return paths;
}

TEST(TidyHouse, HasFiles) {
    EXPECT_GT(tree().size(), 50u) << "the tree of " << DEADRANK_SOURCE_DIRECTORY << " was not read";
}
TEST(TidyHouse, KeepsTheIncludeArrows) {
    const Complaints complaints = check_module_arrows(tree());
    EXPECT_TRUE(complaints.empty()) << listed(complaints);
}
TEST(TidyHouse, HasNoCircleBetweenFolders) {
    EXPECT_GT(module_rows(tree()).size(), 40u) << "the rows of CMake were not read";
    const Complaints complaints = check_module_circles(tree());
    EXPECT_TRUE(complaints.empty()) << listed(complaints);
}
TEST(TidyHouse, UsesWhatItsRowsSay) {
    const Complaints complaints = check_unused_rows(tree());
    EXPECT_TRUE(complaints.empty()) << listed(complaints);
}
TEST(TidyHouse, NamesOnlyWhatExistsInItsPages) {
    const Complaints complaints = check_names_in_pages(tree());
    EXPECT_TRUE(complaints.empty()) << complaints.size() << " complaints:" << listed(complaints);
}
TEST(TidyHouse, QuotesItsCodeAsItIs) {
    const Complaints complaints = check_quoted_code(tree());
    EXPECT_TRUE(complaints.empty()) << complaints.size() << " complaints:" << listed(complaints);
}
TEST(TidyHouse, KeepsCommentsAtWhatTheyDescribe) { expect_none(check_torn_comments); }
TEST(TidyHouse, IsDrawn) {
    const std::filesystem::path file = DEADRANK_SOURCE_DIRECTORY "/docs/structure.md";
    const std::string page = structure_page(module_rows(tree()));
    if (std::getenv("UPDATE_DOCS")) std::ofstream(file) << page;
    std::ifstream in(file);
    const std::string written((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_EQ(written, page) << "docs/structure.md is stale: run this test with UPDATE_DOCS=1";
}
TEST(TidyHouse, NamesItsNamespacesAfterItsFolders) { expect_none(check_namespaces); }
TEST(TidyHouse, HasAPublicDoor) {
    const Complaints complaints = check_public_door(tree());
    EXPECT_TRUE(complaints.empty()) << listed(complaints);
}
TEST(TidyHouse, HasOneFileOfEachName) {
    const Complaints complaints = check_basenames(tree());
    EXPECT_TRUE(complaints.empty()) << listed(complaints);
}
TEST(TidyHouse, HasNoFunctionThatNothingUses) {
    const Complaints complaints = check_unused(tree());
    EXPECT_TRUE(complaints.empty()) << listed(complaints);
}
TEST(TidyHouse, KeepsBlindWhoMustBeBlind) { expect_none(check_blindness); }
TEST(TidyHouse, KeepsForeignHeadersInTheirRooms) { expect_none(check_third_party); }
TEST(TidyHouse, HasNoRealClockAndNoStrangeChanceInTheSimulation) { expect_none(check_determinism); }
TEST(TidyHouse, HasNoLeftoversAndNoExits) { expect_none(check_habits); }
TEST(TidyHouse, WritesToStandardStreamsInOnePlace) { expect_none(check_output); }
TEST(TidyHouse, TakesNoFailureOfThisMachineForThatOfAFile) { expect_none(check_host_failures); }
TEST(TidyHouse, OpensEveryFileWithWhatItIs) { expect_none(check_opening); }
TEST(TidyHouse, NamesNoPathOfThisMachine) {
    const auto paths = paths_of_this_machine();
    expect_none([&](const SourceFile& file) { return check_machine_paths(file, paths); });
}
TEST(TidyHouse, DefinesMembersWhereTheirClassIsIncluded) {
    const Complaints complaints = check_definitions_see_their_class(tree());
    EXPECT_TRUE(complaints.empty()) << listed(complaints);
}
TEST(TidyHouse, HasAScenarioForEachFault) {
    // Those that still wait for their first scenario. The list only shrinks: an entry that has one fails
    // here.
    const Complaints complaints = check_faults_have_scenarios(tree());
    EXPECT_TRUE(complaints.empty()) << listed(complaints);
}
TEST(TidyHouse, HasAGoldenForEachScenario) {
    const Complaints complaints = check_scenarios_have_goldens(tree());
    EXPECT_TRUE(complaints.empty()) << listed(complaints);
}

// Every package that ./dev fetches from an index is in a lock with its hash, and pip asks for it.
TEST(TidyHouse, FetchesNoPackageWithoutItsHash) {
    const std::filesystem::path source = DEADRANK_SOURCE_DIRECTORY;
    std::set<std::string> locked;
    int locks = 0;
    for (const auto& lock : std::filesystem::directory_iterator(source / ".ci/locks")) {
        std::ifstream in(lock.path());
        for (std::string line; std::getline(in, line);) {
            if (line.starts_with("#")) continue;
            locked.insert(line.substr(0, line.find(' ')));
            EXPECT_NE(line.find(" --hash=sha256:"), std::string::npos) << lock.path() << ": " << line;
        }
        ++locks;
    }
    EXPECT_GE(locks, 7);
    const std::regex pin(R"(([A-Za-z0-9._-]+)==([0-9][0-9A-Za-z.]*))");
    for (const char* list : {".ci/prepare.sh", "runners/backends/local/constraints.txt",
                             "runners/backends/local/requirements-frameworks.txt"}) {
        std::ifstream in(source / list);
        int pins = 0;
        for (std::string line; std::getline(in, line);) {
            if (line.starts_with("#")) continue;
            for (std::sregex_iterator found(line.begin(), line.end(), pin), none; found != none;
                 ++found, ++pins)
                EXPECT_TRUE(locked.contains(found->str()))
                    << list << ": " << found->str() << ": run .ci/lock.py";
            if (line.find("-m pip") != std::string::npos) {
                EXPECT_NE(line.find("--require-hashes"), std::string::npos) << list << ": " << line;
            }
        }
        EXPECT_GT(pins, 5) << list;
    }
}

TEST(TidyRules, SeeAnIncludeAgainstTheArrows) {
    const SourceFile rows{"sim/CMakeLists.txt",
                          "deadrank_module(sim/engine USES results/record LIBS fmt::fmt)\n"
                          "deadrank_module(sim/machine USES sim/engine)\n"};
    const SourceFile good{"sim/machine/clock.cpp", "#include <map>\n#include \"sim/engine/engine.h\"\n"};
    const SourceFile bad{"sim/engine/clock.cpp",
                         "#include \"sim/engine/clock.h\"\n#include \"inject/core/fault.h\"\n"};
    expect_complaints(check_module_arrows({rows, good}), {});
    expect_complaints(check_module_arrows({rows, bad}),
                      {"sim/engine/clock.cpp:2: includes inject/core/fault.h"});
    expect_complaints(check_module_arrows({rows, {"sim/loose.cpp", ""}}), {"no module"});
}

TEST(TidyRules, SeeARowThatNothingIncludes) {
    const SourceFile row{"sim/CMakeLists.txt", "deadrank_module(sim/engine USES results/record sim/world)\n"};
    const SourceFile file{"sim/engine/clock.cpp", "#include \"sim/world/world.h\"\n"};
    expect_complaints(check_unused_rows({row, file}), {"sim/engine: its row uses results/record"});
}

TEST(TidyRules, SeeANameInAPageThatDoesNotExist) {
    const SourceFile clock{"sim/engine/clock.h", ""};
    const auto page = [&](const std::string& text) {
        return check_names_in_pages({clock, {"sim/README.md", text}});
    };
    expect_complaints(page("`clock.h` in `sim/engine/`, `engine/clock.h`, [clock](engine/clock.h#now)\n"),
                      {});
    expect_complaints(page("`plan.toml`, `out/run.h.bak`, `sim/engine/*.h`, `sim/NAME/clock.h`\n"), {});
    expect_complaints(page("```\n`watch.h`\n```\n[page](https://example.org/watch.h)\n"), {});
    expect_complaints(page("one\n`watch.h`\n"), {"sim/README.md:2: names watch.h"});
    expect_complaints(page("`sim/motor/` and `engine/watch` and `motor/clock.h`\n"),
                      {"names sim/motor/", "names engine/watch", "names motor/clock.h"});
    expect_complaints(page("[watch](engine/watch.h)\n"), {"links to engine/watch.h"});
    expect_complaints(page("`program/` and `parts/clock.*` and `watch.py`\n"),
                      {"names program/", "names parts/clock.*", "names watch.py"});
    expect_complaints(
        page("`evidence.jsonl`, `mine.toml`, `FAULT.rules.json`, `.toml`, `1/100`, `Suite.*`\n"), {});
}

TEST(TidyRules, SeeAScenarioInAPageThatDoesNotExist) {
    const SourceFile scenario{"scenarios/catalog/memory/leak.toml", ""};
    const auto page = [&](const std::string& text) {
        return check_names_in_pages({scenario, {"README.md", text}});
    };
    expect_complaints(page("`memory/leak`\n"), {});
    expect_complaints(page("`memory/lake`\n"), {"README.md:1: names memory/lake"});
}

TEST(TidyRules, SeeQuotedCodeThatChanged) {
    const SourceFile clock{"sim/clock.h", "Time now(const Clock& clock,\n         int zone);\nint idle();\n"};
    const auto page = [&](const std::string& fence, const std::string& code) {
        return check_quoted_code({clock, {"README.md", "```" + fence + "\n" + code + "```\n"}});
    };
    expect_complaints(page("cpp", "// sim/clock.h: time\nTime now(const Clock& clock, int zone);\n"), {});
    expect_complaints(page("cpp", "// sim/clock.h\nTime now(…);\nint idle() { … }\n"),
                      {"README.md:4: quotes `int idle() {`", "README.md:4: quotes `}`"});
    expect_complaints(page("cpp", "Time of_a_user();\n"), {});
    expect_complaints(page("cpp", "// sim/watch.h\n"), {"README.md:2: quotes sim/watch.h"});
    expect_complaints(page("diff", " // sim/clock.h\n-int idle();\n+int busy();\n"), {});
    expect_complaints(page("diff", " // sim/clock.h\n-int busy();\n"), {"README.md:3: quotes `int busy();`"});
    expect_complaints(page("sh", "// sim/clock.h\nint busy();\n"), {});
}

TEST(TidyRules, SeeACommentThatIsTornFromWhatItDescribes) {
    const std::string head = "// sim/a.h — Time.\n\n";
    expect_complaints(check_torn_comments({"sim/a.h", head + "// Now.\nint now();\n"}), {});
    expect_complaints(check_torn_comments({"sim/a.h", head + "// ── Clocks.\n\nint now();\n"}), {});
    expect_complaints(check_torn_comments({"sim/a.h", head + "// Now,\n// in hours.\n\nint now();\n"}),
                      {"sim/a.h:4: this comment"});
    expect_complaints(
        check_torn_comments(
            {"sim/a.h", head + "class A {\n    int now();\n    // In hours.\n\nprivate:\n};\n"}),
        {"sim/a.h:5: this comment"});
}

TEST(TidyRules, SeeAMemberWhoseClassIsDeclaredOutOfSight) {
    const SourceFile queue{"sim/queue.h", "class Queue {\n    void reset();\n};\n"};
    const SourceFile above{"sim/above.h", "#include \"sim/queue.h\"\n"};
    const std::string member = "void Queue::reset() {}\n";
    expect_complaints(check_definitions_see_their_class(
                          {queue, above, {"sim/a.cpp", "#include \"sim/above.h\"\n" + member}}),
                      {});
    expect_complaints(
        check_definitions_see_their_class({queue, above, {"sim/a.cpp", "#include <map>\n" + member}}),
        {"sim/a.cpp:2: defines a member of Queue"});
    expect_complaints(
        check_definitions_see_their_class({queue, {"sim/a.cpp", "// Queue::reset()\n    Queue::make();\n"}}),
        {});
}

TEST(TidyRules, SeeAPublicHeaderThatNeedsAPrivateOne) {
    const SourceFile row{"sim/CMakeLists.txt", "deadrank_module(sim/world LIBS fmt::fmt HEADERS a.h b.h)\n"};
    const SourceFile a{"sim/world/a.h", "#include \"sim/world/b.h\"\n"}, b{"sim/world/b.h", ""};
    expect_complaints(check_public_door({row, a, b}), {});
    expect_complaints(check_public_door({row, a}), {"sim/world/b.h: is to be installed and does not exist"});
    expect_complaints(check_public_door({row, a, {"sim/world/b.h", "\n#include \"sim/world/c.h\"\n"}}),
                      {"sim/world/b.h:2: is installed and includes sim/world/c.h"});
}

TEST(TidyRules, DrawLayersAndLeaveOutWhatFollows) {
    const std::string page = structure_page({{"a", {"b", "c"}}, {"b", {"c"}}, {"c", {}}});
    EXPECT_NE(page.find("| 2 | `a` |\n| 1 | `b` |\n| 0 | `c` |"), std::string::npos) << page;
    EXPECT_NE(page.find("a[a] --> b[b]"), std::string::npos) << page;
    EXPECT_EQ(page.find("a[a] --> c[c]"), std::string::npos) << page;
}

TEST(TidyRules, SeeTwoFilesOfOneName) {
    const SourceFile header{"sim/a/job.h", ""}, source{"sim/a/job.cpp", ""}, other{"inject/b/job.cpp", ""};
    expect_complaints(check_basenames({header, source}), {});
    expect_complaints(check_basenames({header, source, other}),
                      {"inject/b/job.cpp: has the name of sim/a/job"});
}

TEST(TidyRules, SeeAFunctionThatNothingUses) {
    const SourceFile header{"sim/a/job.h", "// what\nint used(int a);\nint idle(int a);  // idle()\n"};
    const SourceFile source{"sim/a/job.cpp",
                            "int used(int a) { return a; }\nint idle(int a) { return a; }\n"};
    const SourceFile user{"sim/a/other.cpp", "int x = used(1);\n"}, test{"tests/t.cpp", "int y = idle(1);\n"};
    expect_complaints(check_unused({header, source, user, test}), {"sim/a/job.h: declares idle"});
}

TEST(TidyRules, SeeACircleBetweenFolders) {
    const SourceFile rows{"CMakeLists.txt", "deadrank_module(a USES b)\ndeadrank_module(b USES c)\n"};
    expect_complaints(check_module_circles({rows}), {});
    expect_complaints(check_module_circles({rows, {"c/CMakeLists.txt", "deadrank_module(c USES a)\n"}}),
                      {"is in a circle: a -> b -> c -> a"});
}

TEST(TidyRules, SeeANamespaceOfAnotherFolder) {
    const auto in = [](const std::string& name) {
        return SourceFile{"sim/engine/a.cpp", "namespace {\n}\nnamespace " + name + " {\nint x;\n}\n"};
    };
    expect_complaints(check_namespaces(in("deadrank::sim")), {});
    expect_complaints(check_namespaces(in("deadrank::sim::engine")), {});
    expect_complaints(check_namespaces(in("deadrank::sim::world")),
                      {"sim/engine/a.cpp:3: deadrank::sim::world"});
    expect_complaints(check_namespaces(in("deadrank::results")), {"sim/engine/a.cpp:3: deadrank::results"});
}

TEST(TidyRules, SeeABlindFileThatLooks) {
    expect_complaints(
        check_blindness({"results/detectors/hang.cpp", "#include \"scenarios/model/plan.h\"\n"}), {"blind"});
    expect_complaints(
        check_blindness({"results/detectors/hang.cpp", "#include \"results/record/truth.h\"\n"}), {"blind"});
    expect_complaints(check_blindness({"scenarios/format/load.cpp", "#include \"../sim/a.h\"\n"}),
                      {"repository's root"});
    expect_complaints(check_blindness({"inject/faults/kill.cpp", "#include \"results/record/evidence.h\"\n"}),
                      {"levers"});
    expect_complaints(check_blindness({"results/judging/judge.h", "#include \"results/record/truth.h\"\n"}),
                      {});
}

TEST(TidyRules, SeeAForeignHeaderOutsideItsRoom) {
    expect_complaints(
        check_third_party({"sim/a.cpp", "#include <boost/asio.hpp>\n#include <boost/fiber/all.hpp>\n"}),
        {"sim/a.cpp:1: includes <boost/asio.hpp>"});
    expect_complaints(check_third_party({"scenarios/model/value.h", "#include <toml++/toml.h>\n"}),
                      {"toml++"});
    expect_complaints(check_third_party({"scenarios/format/scenario_file.cpp", "#include <toml++/toml.h>\n"}),
                      {});
    expect_complaints(check_third_party({"results/record/evidence.h", "#include <nlohmann/json.hpp>\n"}),
                      {"json_fwd"});
    expect_complaints(check_third_party({"runners/backends/gpu_rank/nccl.cpp", "#include <nccl.h>\n"}), {});
    expect_complaints(check_third_party({"sim/nccl.cpp", "#include <nccl.h>\n"}), {"standin"});
}

TEST(TidyRules, SeeRealClocksAndStrangeChanceButNotTalkOfThem) {
    expect_complaints(
        check_determinism(
            {"sim/a.cpp", "// never steady_clock\nauto t = std::chrono::steady_clock::now();\n"}),
        {"sim/a.cpp:2: `steady_clock`: time is virtual"});
    expect_complaints(
        check_determinism({"sim/a.cpp", "std::uniform_int_distribution<int> d(0, 1);\nint x = rand();\n"}),
        {"rand", "_distribution"});
    expect_complaints(check_determinism({"scenarios/a.cpp", "std::unordered_map<int, int> m;\n"}),
                      {"std::map"});
    expect_complaints(
        check_determinism({"sim/a.cpp", "auto s = \"rand()\"; int operand = 1'000; /* rand() */\n"}), {});
    expect_complaints(check_determinism({"sim/a.cpp", "auto s = R\"x(rand() \" )x\"; rand();\n"}), {"rand"});
    expect_complaints(check_determinism({"sim/a.h", "void until(std::chrono::steady_clock::time_point);\n"}),
                      {});
    expect_complaints(check_determinism({"sim/a.h", "using Now = std::chrono::steady_clock;\n"}),
                      {"virtual"});
    expect_complaints(check_determinism({"runners/a.cpp", "auto t = std::chrono::steady_clock::now();\n"}),
                      {});
}

TEST(TidyRules, SeeExitsOutsideMain) {
    expect_complaints(check_habits({"sim/a.cpp", "void f() { std::exit(1); }\n"}), {"only main"});
    expect_complaints(check_habits({"sim/a.cpp", "void f() {\n    exit(1);\n}\n"}), {"sim/a.cpp:2"});
    expect_complaints(check_habits({"runners/program/main.cpp", "int main() { std::exit(1); }\n"}), {});
    expect_complaints(
        check_habits({"inject/a.cpp", "void f() { levers.exit(3); p->exit(3); Done exit(int); }\n"}), {});
}

TEST(TidyRules, SeeRawOutput) {
    expect_complaints(check_output({"runners/a.cpp", "void f() {\n    std::fprintf(stderr, path);\n}\n"}),
                      {"runners/a.cpp:2"});
    expect_complaints(check_output({"results/a.cpp", "void f() { fmt::print(stderr, path); }\n"}),
                      {"print_error"});
    expect_complaints(check_output({"inject/a.cpp", "void f() { std::fprintf(stderr, path); }\n"}), {});
    expect_complaints(check_output({"results/a.cpp", "void f() { std::snprintf(a, 3, b); }\n"}), {});
}

TEST(TidyRules, SeeAReaderThatTakesEveryFailureForTheFiles) {
    const std::string begin =
        "void f() {\n    try {\n        g();\n    } catch (const std::exception& wrong) {\n";
    expect_complaints(
        check_host_failures({"results/a.cpp", begin + "        refuse(wrong.what());\n    }\n}\n"}),
        {"results/a.cpp:4"});
    expect_complaints(
        check_host_failures(
            {"results/a.cpp", begin + "        if (scenarios::is_host_failure(wrong)) throw;\n    }\n}\n"}),
        {});
}

TEST(TidyRules, SeeLeftoversAndCarelessHeaders) {
    expect_complaints(check_habits({"dev",
                                    "# TO"
                                    "DO: later\n"}),
                      {"dev:1"});
    expect_complaints(check_habits({"sim/a.h", "#pragma once\nusing namespace std;\n"}), {"sim/a.h:2"});
    expect_complaints(check_habits({"sim/a.h", "struct A;\n"}), {"#pragma once"});
}

TEST(TidyRules, SeeAFileThatDoesNotSayWhatItIs) {
    expect_complaints(check_opening({"sim/a.cpp", "#include <map>\n"}), {"sim/a.cpp — "});
    expect_complaints(check_opening({"sim/a.cpp", "// sim/b.cpp — Copied.\n"}), {"sim/a.cpp — "});
    expect_complaints(check_opening({"sim/a.cpp", "// sim/a.cpp — Time.\n"}), {});
    expect_complaints(check_opening({"x.py", "#!/usr/bin/env python3\n# x.py — Reads.\n"}), {});
    expect_complaints(check_opening({"x.py", "#!/usr/bin/env python3\nimport os\n"}), {"x.py — "});
    expect_complaints(check_opening({"tests/golden/a.toml", "a = 1\n"}), {});
}

TEST(TidyRules, SeeAPathOfTheMachine) {
    expect_complaints(check_machine_paths({"README.md", "one\ncd /srv/checkout/x\n"}, {"/srv/checkout/"}),
                      {"README.md:2"});
}

TEST(TidyRules, SeeAFaultWithoutAScenarioAndAScenarioWithoutAGolden) {
    const SourceFile fault{"inject/faults/kill_rank.h",
                           "return {{.name = \"kill_rank\", .what = \"The process dies.\"}};"};
    const SourceFile scenario{"scenarios/catalog/communication/lost.toml",
                              "[[fault]]\nkind = \"kill_rank\"\n"};
    const SourceFile golden{"tests/golden/communication/lost.jsonl", ""};
    expect_complaints(check_faults_have_scenarios({fault}), {"kill_rank"});
    expect_complaints(check_faults_have_scenarios({fault, scenario}), {});
    expect_complaints(check_faults_have_scenarios({fault}, {"kill_rank"}), {});
    expect_complaints(check_faults_have_scenarios({fault, scenario}, {"kill_rank"}), {"strike it off"});
    expect_complaints(check_faults_have_scenarios({{"inject/faults/nameless.h", "int x;"}}), {"called"});
    expect_complaints(check_scenarios_have_goldens({fault, scenario}), {"UPDATE_GOLDEN=1"});
    expect_complaints(check_scenarios_have_goldens({scenario, golden}), {});
}

}  // namespace
}  // namespace deadrank::tests

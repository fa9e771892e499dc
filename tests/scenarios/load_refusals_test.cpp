// tests/scenarios/load_refusals_test.cpp — Goal: each mistake in a file gets one sentence with its place and
// what would do.
#include <gmock/gmock.h>

#include "runners/extension/extension.h"
#include "scenarios/format/scenario_file.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

const std::string loaded_name = "catalog/communication/sample.toml:";

// The message without the file's name.
std::string message(const std::string& toml) {
    const std::string text = refusal_of(toml);
    return text.starts_with(loaded_name) ? text.substr(loaded_name.size()) : text;
}

std::string with_cluster(std::string lines) {
    return message(SampleFile{.cluster = std::move(lines)}.toml());
}
std::string with_workload(std::string lines) {
    return message(SampleFile{.workload = "kind = \"data_parallel\"\n" + lines}.toml());
}
std::string text_with_fault(std::string lines) {
    return message(SampleFile{.fault = std::move(lines)}.toml());
}
std::string with_expect(std::string lines) { return message(SampleFile{.expect = std::move(lines)}.toml()); }
std::string with_heal(std::string lines) { return message(SampleFile{.heal = std::move(lines)}.toml()); }

TEST(LoadRefuses, UnknownKeysAtEveryLevelWithTheNearest) {
    EXPECT_EQ(with_cluster("node = 2\n"), "13:1: unknown key 'node' in [cluster] — did you mean 'nodes'?");
    EXPECT_EQ(with_cluster("link = { latncy = \"5us\" }\n"),
              "13:10: unknown key 'latncy' in 'link' — did you mean 'latency'?");
    EXPECT_EQ(with_cluster("link = { zzzzzz = \"5us\" }\n"),
              "13:10: unknown key 'zzzzzz' in 'link' — known are bandwidth, latency");
    EXPECT_EQ(with_workload("stpes = 2\n"),
              "16:1: unknown key 'stpes' in [workload] — did you mean 'steps'?");
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = 1\nsignl = 9\n"),
              "21:1: unknown key 'signl' in kill_rank — did you mean 'signal'?");
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = 1\nwhen = { stpe = 3 }\n"),
              "21:10: unknown key 'stpe' in 'when' — did you mean 'step'?");
    EXPECT_EQ(with_expect("symptm = \"x\"\n"),
              "25:1: unknown key 'symptm' in [expect] — did you mean 'symptom'?");
    EXPECT_EQ(with_heal("falt = \"none\"\n"), "29:1: unknown key 'falt' in [heal] — did you mean 'fault'?");
    EXPECT_EQ(with_heal("[heal.workload]\nvalidat = true\n"),
              "30:1: unknown key 'validat' in [heal.workload] — did you mean 'validate'?");
    EXPECT_EQ(message("fromat = 1\n" + SampleFile{}.toml()),
              "1:1: unknown key 'fromat' in a scenario — did you mean 'format'?");
}

// Goal: what is said to differ per rank is what a fault makes differ, of some ranks and not of all.
TEST(LoadRefuses, ASettingPerRankThatNoFaultMakesDiffer) {
    const auto with = [](const std::string& setting, const std::string& rank) {
        std::string toml =
            SampleFile{.fault = "kind = \"set_env\"\nrank = " + rank + "\nname = \"WIDTH\"\nvalue = \"2\"\n"}
                .toml();
        return message(toml.replace(toml.find("[bug]\n"), 6, "[bug]\nper_rank = \"" + setting + "\"\n"));
    };
    EXPECT_EQ(with("WIDTH", "1"), "loads");
    EXPECT_NE(with("DEPTH", "1").find("no fault gives some ranks another 'DEPTH'"), std::string::npos);
    EXPECT_NE(with("WIDTH", "\"all\"").find("no fault gives some ranks another 'WIDTH'"), std::string::npos);
}

TEST(LoadRefuses, UnknownIdsWithTheNearest) {
    std::string toml = SampleFile{}.toml();
    toml.replace(toml.find("unpropagated_rank_failure"), 25, "unpropagated_rank_falure");
    EXPECT_EQ(message(toml),
              "8:9: the taxonomy has no cause 'unpropagated_rank_falure' — did you mean "
              "'unpropagated_rank_failure'?");
    EXPECT_EQ(
        with_expect("symptom = \"collective_deadlock_hangs\"\n"),
        "25:11: there is no symptom 'collective_deadlock_hangs' — did you mean 'collective_deadlock_hang'?");
    EXPECT_EQ(with_expect("symptom = \"banana\"\n").substr(0, 92),
              "25:11: there is no symptom 'banana' — known are build_or_install_failure, import_or_symbol");
    EXPECT_EQ(with_expect("symptom = \"banana\"\n").substr(with_expect("symptom = \"banana\"\n").size() - 11),
              "and 22 more");
    EXPECT_EQ(
        with_expect("symptom = [\"collective_deadlock_hang\", \"collective_timeout_abrt\"]\n"),
        "25:11: there is no symptom 'collective_timeout_abrt' — did you mean 'collective_timeout_abort'?");
    EXPECT_EQ(with_expect("symptom = []\n"),
              "25:11: 'symptom' names no symptom — leave it out, or name a symptom of the taxonomy");
    EXPECT_EQ(with_expect("blames = [\"rnak\"]\n"),
              "25:10: there is no field of a blame 'rnak' — did you mean 'rank'?");
    EXPECT_EQ(with_expect("reaction = \"restrt\"\n"),
              "25:12: there is no reaction 'restrt' — did you mean 'restart'?");
    EXPECT_EQ(text_with_fault("kind = \"kil_rank\"\nrank = 1\n"),
              "19:8: there is no fault 'kil_rank' — did you mean 'kill_rank'?");
}

TEST(LoadRefuses, WordsThatTheWorkloadDoesNotHave) {
    EXPECT_EQ(text_with_fault("kind = \"bend_value\"\nrank = 1\nseam = \"gradient.divsor\"\n"),
              "21:8: there is no seam in data_parallel 'gradient.divsor' — did you mean 'gradient.divisor'?");
    EXPECT_EQ(text_with_fault("kind = \"skip_block\"\nrank = 1\nblock = \"checkpoint.synk\"\n"),
              "21:9: there is no block in data_parallel 'checkpoint.synk' — did you mean 'checkpoint.sync'?");
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = 1\nwhen = { before = \"all_redce\" }\n"),
              "21:19: there is no call in data_parallel 'all_redce' — did you mean 'all_reduce'?");
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = 1\nwhen = { before = \"checkpoint.sync\" }\n"),
              "loads");
}

// Who sees that a word belongs to another workload need not read a list.
TEST(LoadRefuses, WordsOfOthersAndSaysWhoHasThem) {
    EXPECT_EQ(with_workload("tp_size = 2\n"),
              "16:1: unknown key 'tp_size' in [workload] — 'tp_size' is a setting of tensor_parallel");
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = 1\nseam = \"shard.offset\"\n"),
              "21:1: unknown key 'seam' in kill_rank — 'seam' is a parameter of bend_value");
    EXPECT_EQ(text_with_fault("kind = \"bend_value\"\nrank = 1\nseam = \"checkpoint.sync\"\n"),
              "21:8: there is no seam in data_parallel 'checkpoint.sync' — 'checkpoint.sync' is a block of "
              "data_parallel, tensor_parallel");
}

TEST(LoadRefuses, ValuesOfAnotherType) {
    EXPECT_EQ(
        with_cluster("nodes = \"two\"\n"),
        "13:9: 'nodes' is a text, not an integer — write a whole number without quotes, or a range \"3..9\"");
    EXPECT_EQ(with_cluster("nodes = 2.0\n"),
              "13:9: 'nodes' is a number with a fraction, not an integer — write a whole number without "
              "quotes, or a range \"3..9\"");
    EXPECT_EQ(with_cluster("watchdog = \"true\"\n"),
              "13:12: 'watchdog' is a text, not a boolean — write true or false, without quotes");
    EXPECT_EQ(
        with_cluster("observe = 30\n"),
        "13:11: 'observe' is an integer, not a duration — write a number and its unit in quotes: \"30s\"");
    EXPECT_EQ(with_cluster("observe = \"30\"\n"),
              "13:11: 'observe' cannot be that: '30' is not a duration — write a number and one of ns, us, "
              "ms, s, m, min, h, d: \"5us\"");
    EXPECT_EQ(with_cluster("link = 5\n"),
              "13:8: 'link' in [cluster] is an integer, not a table — write [link]");
    EXPECT_EQ(with_cluster("versions = { torch = 2.10 }\n"),
              "13:22: 'torch' in 'versions' is a number with a fraction, not a text — put it in quotes");
    EXPECT_EQ(with_cluster("launcher = \"mpirn\"\n"),
              "13:12: 'launcher' cannot be 'mpirn' — did you mean 'mpirun'?");
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = true\n"),
              "20:8: 'rank' is true or false, not a list of ranks — write a number, a list of numbers, or "
              "words such as \"any 2\" and \"node 1 and node 2\"");
    EXPECT_EQ(text_with_fault("kind = \"set_env\"\nrank = 1\nname = \"A\"\nvalue = 1.10\n"),
              "22:9: 'value' is a number with a fraction, not a text — put it in quotes");
    EXPECT_EQ(with_expect("within = 30\n"),
              "25:10: 'within' in [expect] is an integer, not a duration — write a number and its unit in "
              "quotes: \"30s\"");
}

TEST(LoadRefuses, ValuesThatCannotBe) {
    EXPECT_EQ(with_cluster("nodes = 0\n"), "13:9: 'nodes' cannot be 0 — the least is 1");
    EXPECT_EQ(with_cluster("nodes = \"0..4\"\n"), "13:9: 'nodes' cannot be 0 — the least is 1");
    EXPECT_EQ(with_workload("steps = \"9..3\"\n"),
              "16:9: 'steps' is the empty range \"9..3\" — write the smaller end first");
    EXPECT_EQ(with_workload("steps = []\n"),
              "16:9: 'steps' has nothing to choose from — put values into the list");
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = [1, 1]\n"),
              "20:8: 'rank' names 1 twice — name each once");
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = []\n"),
              "20:8: 'rank' names nobody — write a number, a list of numbers, or words such as \"any 2\" "
              "and \"node 1 and node 2\"");
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = \"anyone\"\n"),
              "20:8: 'rank' cannot be that: 'anyone' does not say which ranks — write a number, [1, 2], "
              "\"any\", \"any 2\", "
              "\"any but 0\", \"any other\", \"any of node 1\", \"all\", \"all but 0\", \"first\", \"last\", "
              "\"node 1\", "
              "\"node 1 and node 2\", \"any node\", \"same\" or "
              "\"others\"");
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = 1\nwhen = { nth = 0, before = \"send\" }\n"),
              "21:16: 'nth' cannot be 0 — the least is 1");
}

TEST(LoadRefuses, WhatIsMissing) {
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\n"),
              "18:1: kill_rank lacks 'rank' — add rank = … (whom it hits)");
    EXPECT_EQ(text_with_fault("rank = 1\n"), "18:1: [[fault]] lacks 'kind' — add kind = \"…\"");
    EXPECT_EQ(refusal_of("format = 1\n"),
              loaded_name + "1:1: there is no [bug] — say its stage, symptom, cause and fix\n" + loaded_name +
                  "1:1: there is no [workload] — say which kind of job runs: kind = \"data_parallel\"\n" +
                  loaded_name + "1:1: there is no [[fault]] — say what is done to the job\n" + loaded_name +
                  "1:1: there is no [expect] — say what must be noticed");
}

TEST(LoadRefuses, AnotherFormat) {
    std::string toml = SampleFile{}.toml();
    toml.replace(toml.find("format = 1"), 10, "format = 2");
    EXPECT_EQ(message(toml), "3:10: this format is not known — write format = 1, or use a newer deadrank");
    toml.erase(toml.find("format = 2"), 11);
    EXPECT_EQ(message(toml), "1:1: the format is not stated — begin the file with format = 1");
}

TEST(LoadRefuses, Contradictions) {
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = 1\nwhen = { start = true, step = 3 }\n"),
              "21:31: 'step' contradicts start = true — keep one of them");
    EXPECT_EQ(text_with_fault("kind = \"kill_rank\"\nrank = 1\nwhen = { step = 3, nth = 2 }\n"),
              "21:26: 'nth' counts nothing here — say which call with before = \"all_reduce\"");
    EXPECT_EQ(with_heal("fault = \"keep\"\n"),
              "28:1: the healed run would be the faulty one again — change something in [heal.cluster], "
              "[heal.workload] or [[heal.change]], or write fault = \"none\"");
    EXPECT_EQ(with_heal("fault = [\"keep\", \"none\"]\n"),
              "29:9: 'fault' has 2 words for 1 faults — say \"keep\" or \"none\" of each [[fault]], in their "
              "order, or once for all");
    EXPECT_EQ(with_heal("[[heal.change]]\nfault = 2\nsignal = 15\n"),
              "29:1: which [[fault]] it changes is not said — add fault = 1 to 1, in the order of the file");
    EXPECT_EQ(with_heal("[[heal.change]]\nfault = 1\n"),
              "29:1: it changes nothing — give it a parameter, or a `when`");
    EXPECT_EQ(
        with_heal("fault = \"none\"\nas_control = \"x\"\n[heal.cluster]\nwatchdog = true\n"),
        "28:1: 'as_control' contradicts what else is said — leave it out: without a fault, settings make "
        "the healed run another one than the control");
    EXPECT_EQ(with_heal("fault = \"keep\"\nas_control = \"x\"\n[heal.cluster]\nwatchdog = true\n"), "loads");
    EXPECT_EQ(with_heal("fault = \"none\"\nas_control = \"x\"\nworkaround = \"y\"\n"),
              "28:1: 'workaround' contradicts 'as_control' — keep one: a run that is the control again shows "
              "no workaround");
    EXPECT_EQ(
        with_expect("rank = \"any\"\n"),
        "25:8: 'rank' in [expect] draws nothing, and \"any\" would — leave it out where the fault's own "
        "ranks are meant, or name them: 3, [1, 2], \"node 1\"");
    EXPECT_EQ(with_expect("rank = \"node 1\"\n"), "loads");
    EXPECT_EQ(with_expect("rank = \"node 1\"\nranks = [2]\n"),
              "26:9: 'rank' and 'ranks' in [expect] are one key — keep one of them");
    std::string toml = SampleFile{}.toml();
    toml.replace(toml.find("\"communication\""), 15, "\"memory\"");
    EXPECT_EQ(message(toml),
              "6:9: stage 'memory' contradicts the directory 'communication' — move the file, or correct the "
              "stage");
}

TEST(LoadRefuses, ADefectThatSitsInNoMachine) {
    SampleFile file;
    file.fault = "kind = \"preempt_job\"\nhardware = true\nwhen = { step = 1 }\n";
    const auto scenario = scenarios::parse_scenario(file.toml(), "catalog/communication/sample.toml",
                                                    sample_taxonomy(), runners::vocabulary());
    ASSERT_FALSE(scenario);
    EXPECT_THAT(scenario.error().text(), ::testing::HasSubstr("'preempt_job' sits in no machine"));
}

TEST(LoadRefuses, ReportsThatNobodyCanFind) {
    std::string toml = SampleFile{}.toml();
    toml.replace(toml.find("owner/repo#1"), 12, "a blog post");
    EXPECT_EQ(
        message(toml),
        "10:11: 'a blog post' is not a public report — write \"owner/repo#123\", \"owner/repo@commit\" or "
        "\"study: which one\"");
}

TEST(LoadRefuses, AllThatIsWrongAtOnceInTheOrderOfTheFile) {
    SampleFile file;
    file.cluster = "nodez = 1\n";
    file.expect = "reaction = \"x\"\n";
    const auto scenario = load_sample(file.toml());
    ASSERT_FALSE(scenario);
    EXPECT_EQ(scenario.error().place.line, 13);
    EXPECT_EQ(scenario.error().remedy.substr(0, 25), "did you mean 'nodes'?\ncat");
}

TEST(LoadRefuses, WhatIsNotToml) {
    EXPECT_EQ(refusal_of("format = \n").substr(0, loaded_name.size() + 24),
              loaded_name + "1:10: this is not TOML: ");
    EXPECT_EQ(refusal_of("format = 1\nformat = 1\n").substr(0, loaded_name.size() + 5),
              loaded_name + "2:10:");
}

TEST(LoadRefuses, FilesThatCannotBeRead) {
    const auto missing = scenarios::load("no/such/file.toml", sample_taxonomy(), sample_vocabulary());
    EXPECT_EQ(missing.error().text(),
              "no/such/file.toml: cannot be read: No such file or directory — name a file that exists and "
              "that you may read");
    EXPECT_EQ(missing.error().code, scenarios::ErrorCode::io);
    const auto directory = scenarios::load("/", sample_taxonomy(), sample_vocabulary());
    EXPECT_EQ(directory.error().what, "cannot be read: it is a directory");
    // It can be opened, and address 0 cannot be read.
    const auto broken = scenarios::load("/proc/self/mem", sample_taxonomy(), sample_vocabulary());
    EXPECT_EQ(broken.error().what, "cannot be read: Input/output error");
}

TEST(LoadRefuses, AKeyThatIsDeeperThanTheStack) {
    std::string deep = "a";
    for (int i = 0; i < 50'000; ++i) deep += ".a";
    EXPECT_THAT(refusal_of("format = 1\n" + deep + " = 1\n"),
                testing::HasSubstr(":2:1: a key has more than 100 parts"));
    EXPECT_THAT(refusal_of("format = 1\n[" + deep + "]\n"),
                testing::HasSubstr("a key has more than 100 parts"));
    EXPECT_THAT(refusal_of("x = \"" + std::string(500, '.') + "\"\n"),
                testing::Not(testing::HasSubstr("100 parts")));
}

}  // namespace
}  // namespace deadrank::tests

// tests/runners/program_file_test.cpp — Goal: whatever is wrong with a rank's program is said before it runs,
// with its place in the file and a word that would do; and what it publishes is what faults may name.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

#include "runners/backend/extension.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/skeleton.h"
#include "scenarios/format/taxonomy_file.h"
#include "scenarios/model/document.h"
#include "scenarios/program/program_examples.h"
#include "scenarios/program/program_parser.h"
#include "tests/support/program_play.h"

namespace deadrank::tests {
namespace {

using scenarios::Scenario;

const scenarios::Vocabulary& all_words() {
    static const scenarios::Vocabulary words = runners::vocabulary();
    return words;
}

const scenarios::Taxonomy& taxonomy_in_the_tree() {
    static const scenarios::Taxonomy taxonomy =
        scenarios::load_taxonomy(DEADRANK_SOURCE_DIRECTORY "/scenarios/taxonomy.toml").value();
    return taxonomy;
}

struct ProgramFile {
    std::string step = "loss(1.0)";
    std::string setup = "";
    std::string more = "";  // of [workload]
    std::string fault = "kind = \"kill_rank\"\nrank = 0\nwhen = { step = 1 }\n";
    std::string heal = "fault = \"none\"\n";

    // The first line of the step is line 15 of the file.
    std::string toml() const {
        return fmt::format(
            "format = 1\n[bug]\nstage = \"communication\"\nsymptom = \"collective_deadlock_hang\"\n"
            "cause = \"hardware_or_link_fault\"\nfix = \"framework_logic_correction\"\n[cluster]\n"
            "gpus_per_node = 2\n[workload]\nkind = \"program\"\nsteps = 3\n"
            "setup = '''\n{}'''\nstep = '''\n{}\n'''\n{}\n[[fault]]\n{}[expect]\n[heal]\n{}",
            setup, step, more, fault, heal);
    }
};

scenarios::Result<Scenario> read(const ProgramFile& file) {
    return scenarios::parse_scenario(file.toml(), "catalog/communication/p.toml", taxonomy_in_the_tree(),
                                     all_words());
}

std::string refusal(const ProgramFile& file) {
    const auto scenario = read(file);
    return scenario ? "loads" : scenario.error().text();
}

// Goal: line and column are those of the file, whatever is wrong, and the remedy helps.
TEST(ProgramFile, SaysWhereAndWhatWouldDo) {
    struct Case {
        std::string step, place, what, remedy;
    };
    const Case cases[] = {
        {"x = 1 +", "15:8", "the end of the line, where a value is wanted", ""},
        {"loss(lss)", "15:6", "name 'lss' is not defined", ""},
        {"weights = 1\nloss(weihgts)", "16:6", "name 'weihgts' is not defined", "did you mean 'weights'?"},
        {"al_reduce(1)", "15:1", "there is no function 'al_reduce'", "did you mean 'all_reduce'?"},
        {"if rank == 0:\nloss(1.0)", "16:1", "expected an indented block", "indent its lines"},
        {"loss(1.0", "16:1", "a bracket is not closed", "close it"},
        {"loss('a)", "15:9", "a text is not closed", "close it with '"},
        {"import torch", "15:1", "an import is not known here", "leave it out"},
        {"class A:\n  x[0] = 1", "16:3", "a class holds methods and values alone", "name = …"},
        {"class A(B):\n  pass", "15:1", "'B' is no class", ""},
        {"class A:\n  def f():\n    pass", "16:3", "f() has no self", ""},
        {"@property\ndef f():\n  pass", "15:1", "a decorator is not known here", ""},
        {"def f(*xs):\n  pass", "15:7", "takes any number of arguments", ""},
        {"x = {1, 2}", "15:7", "a set is not known here", "list"},
        {"x = f(**y)", "15:7", "cannot be spread", ""},
        {"x = 1e-8", "15:", "smaller than 1/65536", "smaller unit"},
        {"x = [1]\nif y := x:\n  pass", "16:6", "", ""},
        {"barrier", "15:1", "'barrier' is a function", "call it"},
        {"f = block", "15:5", "'block' is a function", "call it"},
        {"x = ones(2).sum(dims=0)", "15:13", "unexpected keyword argument 'dims'", ""},
        {"x = ones(2).wight", "15:13", "there is no attribute 'wight'", ""},
        {"try:\n  pass\nexcept E as e:\n  raise e", "18:3", "'e' is a text here", "raise alone"},
        {"nonlocal x", "15:10", "nonlocal outside of a def", ""},
        {"x = torch.nothing(1)", "15:11", "there is no function 'nothing'", ""},
        {"  x = 1\n y = 2", "16:2", "unindent does not match", ""},
        {"\tx = 1", "15:1", "a tab indents this line", "blanks"},
        {"return 1", "15:1", "'return' outside function", ""},
        {"break", "15:1", "'break' outside loop", ""},
        {"rank = 3", "15:1", "'rank' cannot be assigned", "choose another name"},
        {"phase(\"bakward\")", "15:7", "there is no phase 'bakward'", "did you mean 'backward'?"},
        {"log(\"a\", level=\"debgu\")", "15:", "there is no level 'debgu'", "did you mean 'debug'?"},
        {"log(\"a\", level=\"loud\")", "15:", "there is no level 'loud'", "debug, info, warning, error"},
        {"all_reduce(ones(1), \"mxa\")", "15:", "there is no reduction 'mxa'", "did you mean 'max'?"},
        {"reduce(ones(1), dst=0, op=ReduceOp.BAND)", "15:", "there is no reduction 'band'", "sum, avg"},
        {"if step > 9:\n  x = zeros(2, dtype=\"flaot32\")", "16:", "there is no element type 'flaot32'",
         "did you mean 'float32'?"},
        {"x = ones(1).to(\"complex\")", "15:", "there is no element type 'complex'", "bfloat16"},
        {"log(\"a\", \"info\" if step else \"loud\")", "15:", "there is no level 'loud'", ""},
        {"x = ones(1).to(\"gpu\")", "15:", "there is no element type 'gpu'",
         "the devices cpu, cuda and cuda:1"},
        {"x = ones(1, device=\"gpu\")", "15:", "there is no device 'gpu'", "\"cuda:1\""},
        {"x = ones(1).cuda(\"cuda:\")", "15:", "there is no device 'cuda:'", "\"cuda:1\""},
        {"x = load(\"a\", map_location=\"disk\")", "15:", "there is no device 'disk'", "\"cpu\""},
        {"g = new_group(backend=\"mpi\")", "15:", "there is no backend 'mpi'", "nccl, gloo"},
        {"g = new_group(timeout=\"soon\")", "15:", "'soon' is not a time", "10ms"},
        {"init_process_group(pg_options=3)", "15:", "unexpected keyword argument 'pg_options'",
         "init_method"},
        {"sleep(\"10 parsecs\")", "15:", "'10 parsecs' is not a time", "10ms"},
        {"h = allocate(\"much\")", "15:", "'much' is not a size", "1GiB"},
        {"x = block(str(1))", "15:5", "the name of this block is not a text", "between quotes"},
        {"store_set(\"k\")", "15:1", "store_set() lacks the argument 'value'", "add value"},
        {"send(ones(2), dts=1)", "15:19", "unexpected keyword argument 'dts'", "did you mean 'dst'?"},
        {"barrier(1, 2, 3)", "15:1", "barrier() takes 2 arguments but 3 were given", ""},
        {"x = ones(2).reshpe(2)", "15:13", "there is no method 'reshpe'", "did you mean 'reshape'?"},
        {"x = ones(2).shape()", "15:13", "there is no method 'shape'", "without ()"},
        {"init_process_group(backend=\"mpi\")", "15:", "there is no backend 'mpi'", "nccl, gloo"},
        {"os.fork()", "15:1", "name 'os' is not defined", "getpid"},
        {"x = 10ms", "15:7", "is not a number", "\"10ms\""},
        {"x = f\"{1:03y}\"", "15:", "'03y' is not a format", ".3f"},
        {"x = startup", "15:5", "name 'startup' is not defined", ""},
        {"y = block(\"startup.init_process_group\")", "15:11", "start-up has a 'startup.init_process_group'",
         ""},
    };
    for (const Case& one : cases) {
        const std::string said = refusal({.step = one.step});
        EXPECT_NE(said.find("p.toml:" + one.place), std::string::npos) << one.step << "\n" << said;
        EXPECT_NE(said.find(one.what), std::string::npos) << one.step << "\n" << said;
        EXPECT_NE(said.find(one.remedy), std::string::npos) << one.step << "\n" << said;
    }
}

TEST(ProgramFile, IsReadWhereNothingIsWrong) {
    EXPECT_EQ(refusal({}), "loads");
    EXPECT_EQ(refusal({.step = "  x = 1\n  if x:\n    loss(x)\n  # the end"}), "loads")
        << "indented as a whole";
    EXPECT_EQ(refusal({.step = "loss = 1.0\nloss(loss)"}), "loads")
        << "a variable may have a function's name";
    EXPECT_EQ(refusal({.step = "log(\"x\", level=\"debug\")\nx = ones(1, dtype=torch.bool).to(\"half\")\n"
                               "all_reduce(x, op=\"mean\")\nsleep(0)\nsleep(\"1ms\")\nx = x.to(x)"}),
              "loads")
        << "all words that will do";
}

TEST(ProgramFile, NeedsAText) {
    ProgramFile file;
    std::string toml = file.toml();
    const auto at = toml.find("setup = ");
    toml.erase(at, toml.find("[[fault]]") - at);
    const auto scenario =
        scenarios::parse_scenario(toml, "catalog/communication/p.toml", taxonomy_in_the_tree(), all_words());
    ASSERT_FALSE(scenario);
    EXPECT_NE(scenario.error().text().find("the program has no text"), std::string::npos);
}

// Goal: faults may name what this program publishes, and nothing else.
TEST(ProgramFile, PublishesItsOwnNames) {
    ProgramFile file{.step = "phase(\"backward\")\nx = seam(\"parts\", 3)\nif block(\"trim\"):\n    loss(x)"};
    file.fault = "kind = \"skip_block\"\nrank = 0\nblock = \"trim\"\nwhen = { phase = \"backward\" }\n";
    EXPECT_EQ(refusal(file), "loads");
    file.fault = "kind = \"bend_value\"\nrank = 0\nseam = \"parts\"\nadd = 1\nwhen = { before = \"trim\" }\n";
    EXPECT_EQ(refusal(file), "loads");
    ProgramFile broken = file;
    broken.fault = "kind = \"skip_block\"\nrank = 0\nblock = \"trim\"\n";
    broken.setup += "x = 1 +\n";
    EXPECT_EQ(refusal(broken).find("there is no block"), std::string::npos)
        << "what cannot be read is not told twice: " << refusal(broken);
    file.fault = "kind = \"skip_block\"\nrank = 0\nblock = \"trin\"\n";
    EXPECT_NE(refusal(file).find("there is no block in program 'trin' — did you mean 'trim'?"),
              std::string::npos)
        << refusal(file);
    file.fault = "kind = \"skip_block\"\nrank = 0\nblock = \"trim\"\nwhen = { phase = \"optimizer\" }\n";
    EXPECT_NE(refusal(file).find("there is no phase in program 'optimizer'"), std::string::npos)
        << refusal(file);
    file.fault = "kind = \"kill_rank\"\nrank = 0\nwhen = { before = \"gradient.all_reduce\" }\n";
    EXPECT_NE(refusal(file).find("there is no call in program 'gradient.all_reduce'"), std::string::npos);
}

TEST(ProgramFile, RefusesSettingsThatItNeverReads) {
    EXPECT_NE(refusal({.more = "[workload.let]\nmicro = 3"}).find("the program never reads 'micro'"),
              std::string::npos);
    EXPECT_NE(refusal({.more = "[workload.let]\nrank = 3"}).find("'rank' cannot be a setting of let"),
              std::string::npos);
    EXPECT_NE(refusal({.step = "loss(x)", .more = "[workload.let]\nx = [1, \"a\"]"}).find("several types"),
              std::string::npos);
    ProgramFile healed{.step = "loss(x)", .more = "[workload.let]\nx = 3"};
    healed.heal = "fault = \"keep\"\n[heal.workload.let]\ny = 4\n";
    EXPECT_NE(refusal(healed).find("unknown key 'y'"), std::string::npos) << refusal(healed);
    healed.heal = "fault = \"keep\"\n[heal.workload]\nstep = '''\nloss(z)\n'''\n";
    EXPECT_NE(refusal(healed).find("name 'z' is not defined"), std::string::npos) << refusal(healed);
}

// Goal: a plan states what the seed drew, and reads back to the same bytes.
TEST(ProgramFile, GivesPlansThatReadBack) {
    ProgramFile file{.step = "loss(a * b)\nlog(f\"{c} {d}\\n\")\nx = e[0] if f else 0"};
    file.more =
        "[workload.let]\na = \"3..9\"\nb = [0.5, 0.25]\nc = \"it's \\\"so\\\"\"\nd = [\"x\", \"y\"]\n"
        "e = \"[1, 2]\"\nf = true\n";
    file.heal = "fault = \"keep\"\n[heal.workload.let]\na = 2\n";
    const auto scenario = read(file);
    ASSERT_TRUE(scenario) << scenario.error().text();
    const scenarios::Capabilities all{.levers = {"*"}, .workloads = {"*"}};
    std::set<std::int64_t> drawn;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto trial = scenarios::resolve(*scenario, {seed}, all, all_words());
        ASSERT_TRUE(trial) << trial.error().text();
        drawn.insert(trial->fault.workload.at("let.a").number);
        EXPECT_EQ(trial->healed.workload.at("let.a").number, 2);
        for (const auto* plan : {&trial->fault, &trial->healed}) {
            const std::string toml = scenarios::to_toml(*plan);
            const auto back = scenarios::parse_plan(toml, "plan.toml", taxonomy_in_the_tree(), all_words());
            ASSERT_TRUE(back) << back.error().text() << toml;
            EXPECT_EQ(*back, *plan);
            EXPECT_EQ(scenarios::to_toml(*back), toml);
        }
    }
    EXPECT_GT(drawn.size(), 3u);
}

// Goal: bad input never crashes: every prefix of a program, and every letter changed, is read or refused.
TEST(ProgramFile, SurvivesWhateverStandsThere) {
    const std::string_view example = scenarios::program::examples()[1].toml;
    const auto begin = example.find("step = '''") + 11;
    const std::string text(example.substr(begin, example.find("'''", begin) - begin));
    for (std::size_t i = 0; i < text.size(); ++i) {
        for (const std::string& broken : {text.substr(0, i), text.substr(0, i) + "(" + text.substr(i + 1),
                                          text.substr(0, i) + "\n" + text.substr(i)}) {
            scenarios::program::Program program;
            std::vector<scenarios::program::Mistake> mistakes;
            scenarios::program::parse_part(broken, scenarios::program::Part::step, program, mistakes);
            EXPECT_LE(mistakes.size(), 1u);
        }
    }
    const auto many = [](std::string_view what) {
        std::string text = "x = ";
        for (int i = 0; i < 20'000; ++i) text += what;
        return text + "1";
    };
    for (const std::string& deep : {many("("), many("["), many("-"), many("{1: "), many("2 ** "), many("f("),
                                    many("[y for y in "), many("1 if 1 else "), many("a["), many("1 + "),
                                    many("lambda: "), many("~"), many("x.f("), many("1 | ")}) {
        scenarios::program::Program program;
        std::vector<scenarios::program::Mistake> mistakes;
        scenarios::program::parse_part(deep, scenarios::program::Part::step, program, mistakes);
        EXPECT_EQ(mistakes.size(), 1u);
    }
}

TEST(ProgramFile, ASkeletonLoads) {
    for (const char* fault : {"skip_block", "bend_value", "kill_rank"}) {
        const auto text = scenarios::skeleton({.id = "communication/mine",
                                               .symptom = "collective_deadlock_hang",
                                               .fault = fault,
                                               .workload = "program"},
                                              taxonomy_in_the_tree(), all_words());
        ASSERT_TRUE(text) << text.error().text();
        const auto scenario = scenarios::parse_scenario(*text, "catalog/communication/mine.toml",
                                                        taxonomy_in_the_tree(), all_words());
        EXPECT_TRUE(scenario) << scenario.error().text() << *text;
    }
}

// Goal: an error that ends one attempt does not hide what the next one cannot read.
TEST(ProgramFile, FailuresOfTwoAttemptsAreBothTold) {
    const std::string loads = "if exists(\"shared/done\"):\n  load(f\"shared/part{rank}\")\n";
    const std::string saves =
        "if rank == 0:\n  save(ones(1), \"shared/part0\")\n  save(ones(1), \"shared/done\")\nbarrier()\n";
    const std::string fails = "if rank == 1:\n  raise OSError(\"No space left on device\")\nbarrier()";
    Words cluster = two_ranks;
    cluster["restarts_max"] = "1";
    const auto both = play_program(saves + fails, cluster, loads);
    EXPECT_EQ(symptoms_in(both),
              (std::vector<std::string>{"host_resource_exhaustion", "checkpoint_unreadable"}));
}

// Goal: a folder is where something lies below it, and goes as rmdir and rmtree say.
TEST(ProgramFile, FoldersAreThereWithWhatTheyHold) {
    EXPECT_EQ(last_words(play_program(R"py(
assert not exists("shared/a") and not isdir("shared/a")
barrier()
if rank == 0:
    write_text("shared/a/b", "x")
    write_text("shared/a/c/d", "x")
    assert exists("shared/a") and isdir("shared/a/c") and isdir("shared/a/") and not isdir("shared/a/b")
    try:
        os.rmdir("shared/a")
        assert False
    except OSError as error:
        assert str(error) == "[Errno 39] Directory not empty: 'shared/a'"
    os.unlink("shared/a/b")
    shutil.rmtree("shared/a")
    assert not exists("shared/a") and listdir("shared/a") == []
    try:
        rmtree("shared/a")
        assert False
    except FileNotFoundError:
        rmtree("shared/a", ignore_errors=True)
)py")),
              "");
}

}  // namespace
}  // namespace deadrank::tests

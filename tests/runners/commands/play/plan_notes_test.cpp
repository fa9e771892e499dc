// Goal: a plan tells a writer, before anything is judged, what its own scenario lacks: digits that a setting
// can be set by, a fault that changes nothing, a heal that proves nothing. Of the faulty run it tells no
// more.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* skipped = "kind = \"skip_block\"\nrank = 1\nblock = \"call\"\n";
constexpr const char* as_control = "fault = \"none\"\nas_control = \"the call is made\"\n";

struct Sketch {
    std::string step;
    std::string fault = skipped, heal = as_control, blames = "[]";
};

std::string notes(const Sketch& sketch) {
    const auto file =
        std::filesystem::path(testing::TempDir()) / fmt::format("deadrank_plan_notes_{}.toml", getpid());
    std::ofstream(file) << fmt::format(
        "# A story.\nformat = 1\n[bug]\nstage = \"communication\"\nsymptom = \"collective_deadlock_hang\"\n"
        "cause = \"unpropagated_rank_failure\"\nfix = \"validation_and_failure_handling\"\n"
        "[cluster]\nnodes = 1\n[workload]\nkind = \"program\"\nsteps = 2\nstep = '''\n{}\n'''\n"
        "[[fault]]\n{}[expect]\nblames = {}\n[heal]\n{}",
        sketch.step, sketch.fault, sketch.blames, sketch.heal);
    const Answer answer = shell("DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY
                                "/scenarios/catalog' " DEADRANK_BINARY_DIRECTORY "/deadrank plan " +
                                file.string() + " 2>&1");
    std::filesystem::remove(file);
    EXPECT_EQ(answer.code, 0) << answer.out;
    const auto at = answer.out.find("\n# ");
    return at == std::string::npos ? "" : answer.out.substr(at);
}

TEST(PlanNotes, TellTheControlInDigitsToCopyAndWithTheLineThatFails) {
    const std::string quiet = notes({.step = "compute('3659us')\nif block('call'): barrier()"});
    EXPECT_THAT(quiet, AllOf(HasSubstr("# control: a step takes 3671us on rank 0"),
                             HasSubstr("# control: quiet, and all ranks end well")));
    const std::string fails = notes({.step = "x = [1]\nif block('call'):\n    x[step]"});
    EXPECT_THAT(fails,
                AllOf(HasSubstr("fails in step 1: IndexError: list index out of range (line 3 of step)"),
                      Not(HasSubstr("quiet"))));
}

TEST(PlanNotes, TellThatAFaultHasNoEffectAndElseNothingOfTheFaultyRun) {
    EXPECT_THAT(notes({.step = "if block('call'): barrier()\nelse: barrier()"}),
                HasSubstr("# fault: it acts, and has no effect: the faulty run equals the control event for "
                          "event. What block 'call' changes has to be felt"));
    EXPECT_THAT(notes({.step = "if step > 5 and block('call'): barrier()"}),
                AllOf(HasSubstr("# fault 1: it has no effect: nothing read call after skip_block"),
                      HasSubstr("Let its ranks come to block 'call' after its moment")));
    EXPECT_THAT(notes({.step = "if block('call'): barrier()",
                       .fault = std::string(skipped) + "when = { before = \"all_reduce\" }\n"}),
                AllOf(HasSubstr("the `when` of skip_block was never met"),
                      HasSubstr("Choose a moment that comes on its ranks")));
    EXPECT_THAT(notes({.step = "if block('call'): barrier()"}),
                AllOf(HasSubstr("# control: quiet"), Not(HasSubstr("# fault")), Not(HasSubstr("wait"))));
}

TEST(PlanNotes, AgreeWithTheLoaderOnAFaultThatStaysAndIsNotSeen) {
    const auto kept = [](const char* said, const char* step) {
        return notes(
            {.step = "if block('call'): barrier()",
             .heal = fmt::format("fault = \"keep\"\n{}[heal.workload]\nstep = '''\nblock('call')\n{}\n"
                                 "'''\n",
                                 said, step)});
    };
    EXPECT_THAT(kept("", "barrier()"), AllOf(HasSubstr("the healed run equals its control event for event"),
                                             HasSubstr("Say why it is so, as_control = ")));
    const char* said = "as_control = \"the call is made\"\n";
    EXPECT_THAT(kept(said, "barrier()"), AllOf(HasSubstr("# control:"), Not(HasSubstr("# heal:"))));
    EXPECT_THAT(kept(said, "barrier()\nbarrier()"),
                HasSubstr("is the control again, and it is another one: leave it out"));
}

TEST(PlanNotes, TellWhenAVariableCanBeFoundAndWhatADefHides) {
    const std::string set = "kind = \"set_env\"\nname = \"NAME\"\nvalue = \"1\"\nrank = ";
    const std::string asks = "[\"variable\"]";
    EXPECT_THAT(notes({.step = "barrier()", .fault = set + "\"all\"\n", .blames = asks}),
                HasSubstr("asks for a variable that all ranks hold alike"));
    EXPECT_THAT(notes({.step = "barrier()", .fault = set + "1\n", .blames = asks}), Not(HasSubstr("alike")));
    EXPECT_THAT(notes({.step = "def barrier():\n    dist.barrier()\nif block('call'): barrier()"}),
                HasSubstr("# program: def barrier hides the built-in in all texts"));
    for (const char* harmless : {"def barrier():\n    return 1\ndist.barrier()\nblock('call')",
                                 "class A:\n    def barrier(self):\n        dist.barrier()\nblock('call')"})
        EXPECT_THAT(notes({.step = harmless}), Not(HasSubstr("# program:"))) << harmless;
}

}  // namespace
}  // namespace deadrank::tests

// tests/results/program_lines_test.cpp — Goal: findings name the line of the user's own program at which
// ranks waited or failed, and never one of a library.
#include "results/analysis/program_lines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/results/evidence_builder.h"

namespace deadrank::tests {
namespace {

using results::analysis::describe_lines;
using results::analysis::ProgramLines;

constexpr const char* waiting =
    "Current thread (most recent call last):\n"
    "  File \"/home/u/train.py\", line 90, in <module>\n    main()\n"
    "  File \"/home/u/train.py\", line 88, in main\n    loss.backward()\n"
    "  File \"/v/lib/python3.11/site-packages/deepspeed/engine.py\", line 7, in step\n    self.reduce()";

TEST(ProgramLines, AreTheInnermostOfTheUsersOwn) {
    EvidenceBuilder job(4);
    for (const results::Rank rank : {0, 2, 3}) job.log(rank, waiting, 1);
    for (const char* line :
         {"[rank1]: Traceback (most recent call last):",
          "[rank1]:   File \"/home/u/train.py\", line 90, in <module>", "[rank1]:     main()",
          "[rank1]:   File \"/home/u/data.py\", line 12, in next", "[rank1]:     return self.rows[i]",
          "[rank1]:            ~~~~~~~~~^^^",
          "[rank1]:   File \"/usr/lib/python3.11/json/decoder.py\", line 337, in decode",
          "[rank1]:     obj, end = self.raw_decode(s)", "[rank1]: IndexError: list index out of range"})
        job.log(1, line, 2);
    const Evidence seen = job.watched();
    const ProgramLines lines(seen);
    EXPECT_EQ(
        describe_lines(lines, {1}, 1s),
        "rank 1 raised at data.py:12 return self.rows[i]; ranks 0,2,3 waited at train.py:88 loss.backward()");
}

TEST(ProgramLines, AreTheLastBeforeAFindingWhereARankFailedTwice) {
    EvidenceBuilder job(1);
    const auto fails = [&](int line) {
        job.after(10s).log(
            0,
            fmt::format(
                "Traceback (most recent call last):\n  File \"a.py\", line {}, in f\n    g()\nKeyError: 1",
                line),
            2);
    };
    fails(3);
    fails(4);
    const Evidence seen = job.watched();
    EXPECT_EQ(describe_lines(ProgramLines(seen), {0}, 15s), "rank 0 raised at a.py:3 g()");
}

TEST(ProgramLines, AreNoneWhereNoLogShowsOne) {
    EvidenceBuilder job(1);
    job.log(0,
            "Traceback (most recent call last):\n  File \"/v/site-packages/x.py\", line 3, in f\n    "
            "g()\nKeyError: 1",
            2);
    const Evidence seen = job.watched();
    EXPECT_EQ(describe_lines(ProgramLines(seen), {0}, 0s), "");
}

}  // namespace
}  // namespace deadrank::tests

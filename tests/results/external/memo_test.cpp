// Goal: the same question is asked of a tool once, another one anew, and no answer is kept of a tool that had
// to be ended.
#include "results/external/memo.h"

#include <gtest/gtest.h>

namespace deadrank::tests {
namespace {

using results::external::Memo;
using results::processes::BoundedAnswer;
using results::processes::Ending;

TEST(Memo, AsksTheSameQuestionOnce) {
    Memo memo;
    int asked = 0;
    const auto tool = [&]() -> Memo::Answer {
        BoundedAnswer answer;
        answer.code = ++asked;
        return answer;
    };
    EXPECT_EQ(memo.query({{"a", "1"}}, tool)->code, 1);
    EXPECT_EQ(memo.query({{"a", "1"}}, tool)->code, 1);
    EXPECT_EQ(memo.query({{"a", "2"}}, tool)->code, 2);
    EXPECT_EQ(memo.query({{"b", "1"}}, tool)->code, 3);
    EXPECT_EQ(memo.query({{"a", "1"}, {"a", "1"}}, tool)->code, 4);
    EXPECT_EQ(memo.query({{"a1", ""}}, tool)->code, 5) << "where a name ends is part of the question";
    const Memo copy = memo;
    EXPECT_EQ(Memo(copy).query({{"a", "2"}}, tool)->code, 2) << "copies of a tool share what it said";
}

TEST(Memo, ForgetsWhatWasEnded) {
    Memo memo;
    int asked = 0;
    const auto slow = [&]() -> Memo::Answer {
        BoundedAnswer answer;
        answer.ending = ++asked == 1 ? Ending::out_of_time : Ending::by_itself;
        return answer;
    };
    EXPECT_EQ(memo.query({}, slow)->ending, Ending::out_of_time);
    EXPECT_EQ(memo.query({}, slow)->ending, Ending::by_itself);
    EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace deadrank::tests

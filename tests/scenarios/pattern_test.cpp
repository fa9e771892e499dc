// Goal: a pattern that somebody else wrote finds what it names, in time that grows with the text and not with
// the ways to match it, and what would fill the memory or the stack is refused.
#include "scenarios/model/pattern.h"

#include <chrono>
#include <gtest/gtest.h>

namespace deadrank::tests {
namespace {

using scenarios::Pattern;

bool finds(const std::string& pattern, const std::string& text) {
    const auto read = Pattern::of_part(pattern);
    EXPECT_TRUE(read) << pattern;
    return read && read->fits(text);
}

TEST(Patterns, FindPartsOfALine) {
    EXPECT_TRUE(finds("^epoch \\d had 0", "epoch 1 had 0 steps"));
    EXPECT_FALSE(finds("^had 0", "epoch 1 had 0 steps"));
    EXPECT_TRUE(finds("0 steps$", "epoch 1 had 0 steps"));
    EXPECT_FALSE(finds("0 step$", "epoch 1 had 0 steps"));
    EXPECT_TRUE(finds("x|had", "epoch 1 had 0 steps"));
    EXPECT_TRUE(finds("^of (?!.*rank 1$)", "of rank 2"));
    EXPECT_FALSE(finds("^of (?!.*rank 1$)", "of rank 1"));
    EXPECT_TRUE(finds("\\{5000}", "at {5000}"));
    EXPECT_TRUE(Pattern::of_text("a|b+")->fits("bbb"));
    EXPECT_FALSE(Pattern::of_text("a|b+")->fits("bbbc"));
}

TEST(Patterns, DoNotTryAgainForEver) {
    const auto began = std::chrono::steady_clock::now();
    const std::string many(4'000, 'a');
    for (const char* pattern : {"(a+)+$", "(a|aa)*b", "(a|a?)+b", "(.*a){20}b", "((a*)*)*b"})
        EXPECT_FALSE(finds(pattern, many + "c")) << pattern;
    EXPECT_FALSE(Pattern::of_text("(a+)+")->fits(many + "c"));
    // A line of a megabyte neither fills the stack nor takes a minute.
    finds("(a+)+$", std::string(1'000'000, 'a') + "c");
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST(Patterns, AreRefusedWithAReason) {
    for (const char* pattern : {"(epoch", "a)|(b", "(a)\\1", "((a{99}){99}){99}", "a{2000}", "[z-a]"}) {
        const auto read = Pattern::of_part(pattern);
        ASSERT_FALSE(read) << pattern;
        EXPECT_FALSE(read.error().what.empty());
    }
    EXPECT_FALSE(Pattern::of_text(std::string(20'000, 'a')));
    // The largest that is read leaves the stack alone.
    std::string optional;
    for (int i = 0; i < 90; ++i) optional += "a?";
    const auto large = Pattern::of_text("(" + optional + "){300}");
    EXPECT_FALSE(large && large->fits("b"));
}

}  // namespace
}  // namespace deadrank::tests

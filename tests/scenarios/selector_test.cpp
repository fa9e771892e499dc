// tests/scenarios/selector_test.cpp — Goal: each way of saying "which ranks" means what it says, on whole and
// on partly filled nodes.
#include "scenarios/model/selector.h"

#include <gtest/gtest.h>
#include <set>

namespace deadrank::tests {
namespace {

using scenarios::Draw;
using scenarios::Shape;
using scenarios::Targets;
using scenarios::ValueType;

using Numbers = std::vector<std::int64_t>;

const Shape two_nodes{.nodes = 2, .gpus_per_node = 4, .ranks = 8};
const Shape partly_filled{
    .nodes = 3, .gpus_per_node = 4, .ranks = 6};  // node 1 has ranks 4 and 5, node 2 none

scenarios::Result<Numbers> chosen(ValueType type, std::string_view text, const Shape& shape = two_nodes,
                                  const std::vector<Targets>& earlier = {}, std::uint64_t seed = 1) {
    return scenarios::select(type, text, shape, earlier, Draw(seed, "test", "rank"));
}

Numbers ranks(std::string_view text, const Shape& shape = two_nodes,
              const std::vector<Targets>& earlier = {}) {
    const auto found = chosen(ValueType::ranks, text, shape, earlier);
    EXPECT_TRUE(found) << found.error().text();
    return found.value_or(Numbers{});
}

std::string refusal(std::string_view text, const Shape& shape = two_nodes,
                    const std::vector<Targets>& earlier = {}) {
    const auto found = chosen(ValueType::ranks, text, shape, earlier);
    return found ? "selects" : found.error().text();
}

// All that a selector yields over many seeds.
std::set<Numbers> reachable(std::string_view text, const Shape& shape = two_nodes) {
    std::set<Numbers> found;
    for (std::uint64_t seed = 0; seed < 300; ++seed)
        found.insert(*chosen(ValueType::ranks, text, shape, {}, seed));
    return found;
}

TEST(Selector, NamesRanksOutright) {
    EXPECT_EQ(ranks("3"), (Numbers{3}));
    EXPECT_EQ(ranks("5, 1"), (Numbers{1, 5}));
    EXPECT_EQ(ranks("all"), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(ranks("first"), (Numbers{0}));
    EXPECT_EQ(ranks("last"), (Numbers{7}));
    EXPECT_EQ(ranks("last", partly_filled), (Numbers{5}));
}

TEST(Selector, NamesTheRanksOfANode) {
    EXPECT_EQ(ranks("node 1"), (Numbers{4, 5, 6, 7}));
    EXPECT_EQ(ranks("node 1", partly_filled), (Numbers{4, 5}));
    EXPECT_EQ(ranks("last node", partly_filled), (Numbers{4, 5}));
    EXPECT_EQ(ranks("first node"), (Numbers{0, 1, 2, 3}));
    EXPECT_EQ(reachable("any node"), (std::set<Numbers>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
    EXPECT_EQ(reachable("any of node 1"), (std::set<Numbers>{{4}, {5}, {6}, {7}}));
}

TEST(Selector, LeavesOutWhatFollowsBut) {
    EXPECT_EQ(ranks("all but 0"), (Numbers{1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(ranks("all but first last"), (Numbers{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(ranks("node 0 but 1, 2"), (Numbers{0, 3}));
    EXPECT_EQ(reachable("any but 0").size(), 7u);
    EXPECT_EQ(reachable("any but 0").count({0}), 0u);
}

TEST(Selector, DrawsAsManyAsAskedEachOnceInOrder) {
    EXPECT_EQ(reachable("any").size(), 8u);
    EXPECT_EQ(reachable("any 2").size(), 28u);  // 8 over 2
    for (const Numbers& pair : reachable("any 2")) EXPECT_LT(pair[0], pair[1]);
    EXPECT_EQ(ranks("any 8"), ranks("all"));
}

TEST(Selector, RefersToEarlierFaults) {
    const std::vector<Targets> earlier = {{0, 1, 2}, {5}};
    EXPECT_EQ(ranks("same", two_nodes, earlier), (Numbers{5}));
    EXPECT_EQ(ranks("others", two_nodes, earlier), (Numbers{3, 4, 5, 6, 7}));
    EXPECT_EQ(ranks("any 5 other", two_nodes, earlier), (Numbers{3, 4, 5, 6, 7}));
    EXPECT_EQ(ranks("any of same", two_nodes, earlier), (Numbers{5}));
    EXPECT_EQ(chosen(ValueType::nodes, "same", two_nodes, earlier), (Numbers{1}));
    EXPECT_EQ(chosen(ValueType::nodes, "others", two_nodes, earlier), (Numbers{1}));
}

TEST(Selector, NamesNodes) {
    EXPECT_EQ(chosen(ValueType::nodes, "all"), (Numbers{0, 1}));
    EXPECT_EQ(chosen(ValueType::nodes, "last"), (Numbers{1}));
    EXPECT_EQ(chosen(ValueType::nodes, "any 2"), (Numbers{0, 1}));
    EXPECT_EQ(chosen(ValueType::nodes, "any but 0"), (Numbers{1}));
    EXPECT_EQ(chosen(ValueType::nodes, "node 1"), (Numbers{1}));
    EXPECT_EQ(chosen(ValueType::nodes, "last node", partly_filled), (Numbers{2}));  // it is there, if idle
    EXPECT_EQ(chosen(ValueType::nodes, "any node", {.nodes = 1, .gpus_per_node = 4, .ranks = 4}),
              (Numbers{0}));
    EXPECT_EQ(chosen(ValueType::nodes, "node 2").error().text(),
              "node 2 is outside the cluster — there are nodes 0 to 1");
}

TEST(Selector, JoinsSeveralWithAnd) {
    EXPECT_EQ(ranks("first and last"), (Numbers{0, 7}));
    EXPECT_EQ(ranks("node 0 and 5"), (Numbers{0, 1, 2, 3, 5}));
    EXPECT_EQ(ranks("node 1 but 4 and 0, 5"), (Numbers{0, 5, 6, 7})) << "each once, in order";
    EXPECT_EQ(ranks("node 1 and node 0", partly_filled), (Numbers{0, 1, 2, 3, 4, 5}));
    EXPECT_NE(refusal("node 1 and nobody").find("'nobody' does not say which ranks"), std::string::npos);
    EXPECT_NE(refusal("first and 9").find("rank 9 is outside the cluster"), std::string::npos);
}

TEST(Selector, RefusesWhatItDoesNotUnderstand) {
    for (const char* text : {"", "anyone", "any two", "any 0", "any -1", "all of them", "node", "node x",
                             "any but", "-3", "1-3", "but 1", "last 2", "any node 2 3", "node any"}) {
        const auto known = scenarios::check_selector(ValueType::ranks, text);
        ASSERT_FALSE(known) << text;
        EXPECT_EQ(known.error().what, "'" + std::string(text) + "' does not say which ranks");
    }
}

TEST(Selector, RefusesWhatTheClusterDoesNotHave) {
    EXPECT_EQ(refusal("8"), "rank 8 is outside the cluster — it has ranks 0 to 7");
    EXPECT_EQ(refusal("node 2", partly_filled), "node 2 has no ranks — there are nodes 0 to 1");
    EXPECT_EQ(refusal("any 9"),
              "\"any 9\" wants 9 ranks, and there are 8 — let the cluster be larger, or ask for fewer");
    EXPECT_EQ(refusal("first but 0"),
              "\"first but 0\" wants 1 rank, and there are 0 — let the cluster be larger, or ask for fewer");
    EXPECT_EQ(refusal("same"),
              "\"same\" has no earlier fault with ranks to refer to — name the ranks, or let an earlier "
              "[[fault]] have them");
    EXPECT_EQ(refusal("others", two_nodes, {ranks("all")}),
              "\"others\" wants 1 rank, and there are 0 — let the cluster be larger, or ask for fewer");
}

}  // namespace
}  // namespace deadrank::tests

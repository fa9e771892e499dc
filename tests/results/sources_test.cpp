// Goal: each kind of event says where it comes from on a real job, and detectors are asked about less by it.
#include "results/record/sources.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "tests/results/evidence_builder.h"

namespace deadrank::tests {
namespace {

using namespace results;

template <std::size_t... I>
std::set<std::string_view> all_kinds(std::index_sequence<I...>) {
    return {std::variant_alternative_t<I, Payload>::kind...};
}

TEST(Sources, KnowEveryKindOfEventOnce) {
    const auto kinds = all_kinds(std::make_index_sequence<std::variant_size_v<Payload>>());
    std::set<std::string_view> told;
    for (const KindSource& row : kind_sources()) {
        EXPECT_TRUE(told.insert(row.kind).second) << row.kind;
        EXPECT_FALSE(row.from.empty()) << row.kind;
    }
    EXPECT_EQ(told, kinds);
    EXPECT_TRUE(std::is_sorted(kind_sources().begin(), kind_sources().end(),
                               [](const KindSource& a, const KindSource& b) { return a.kind < b.kind; }));
}

TEST(Sources, CallAValueAssertedWhereADefinitionStandsBesideIt) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(source_of({{}, 0, ValueSample{0, TextId::none, 1, none}}), Source::plain);
    EXPECT_EQ(source_of({{}, 0, ValueSample{0, TextId::none, 1, 2}}), Source::asserted);
    EXPECT_EQ(source_of({{}, 0, DataBatch{}}), Source::observed);
}

TEST(Sources, LimitedEvidenceKeepsWhatTheSourceGivesAndItsTexts) {
    EvidenceBuilder job(2);
    job.start();
    job.add(0, ParametersDigest{0, 7, job.text("replica"), job.text("parameters")});
    job.add(0, ValueSample{0, job.text("reference.loss"), 1, 2});
    Evidence whole = job.watched();
    const Evidence plain = limited_to(whole, Source::plain);
    EXPECT_TRUE(plain.each<ParametersDigest>().empty());
    EXPECT_TRUE(plain.each<ValueSample>().empty());
    const Evidence observed = limited_to(whole, Source::observed);
    ASSERT_EQ(observed.each<ParametersDigest>().size(), 1u);
    const auto* digest = observed.each<ParametersDigest>()[0]->as<ParametersDigest>();
    EXPECT_EQ(observed.text(digest->group), "replica");
    EXPECT_TRUE(observed.each<ValueSample>().empty());
    EXPECT_EQ(limited_to(whole, Source::asserted).each<ValueSample>().size(), 1u);
}

}  // namespace
}  // namespace deadrank::tests

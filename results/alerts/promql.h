// results/alerts/promql.h — Names in a PromQL expression: which metrics and labels it mentions, over which
// ranges, and where its thresholds stand. Only Prometheus says what an expression is worth.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/enum_words.h"

namespace deadrank::results::alerts {

// How a matcher compares a label, and how a threshold compares a value.
enum class MatchOp { equal, unequal, matches, matches_not };
constexpr auto enum_words(MatchOp) { return std::to_array<std::string_view>({"=", "!=", "=~", "!~"}); }
enum class Comparison { equal, unequal, above, below, at_least, at_most };
constexpr auto enum_words(Comparison) {
    return std::to_array<std::string_view>({"==", "!=", ">", "<", ">=", "<="});
}
constexpr bool is_upward(Comparison op) { return op == Comparison::above || op == Comparison::at_least; }
constexpr bool is_downward(Comparison op) { return op == Comparison::below || op == Comparison::at_most; }

struct Matcher {
    std::string label;
    MatchOp op = MatchOp::equal;
    std::string value;
};

// `=` and `=~`, which name values, where the others exclude some.
constexpr bool asks_for_values(const Matcher& matcher) {
    return matcher.op == MatchOp::equal || matcher.op == MatchOp::matches;
}

struct Selector {
    std::string metric;  // empty for {…} without a name
    std::vector<Matcher> matchers;
    double range = 0;       // seconds
    double offset = 0;      // seconds back
    double outer = 0;       // ranges and offsets of the subqueries around it
    std::string function;   // the call whose argument it is, if any
    std::string op_before;  // the operator on its left: "/", ">", "or", …
    bool absent = false;    // inside absent() or absent_over_time()
    bool counted = false;   // inside a call whose value is how many series or samples there are
    bool stepped = false;   // its range is a subquery's, with a resolution of its own
    bool excluding = false;  // right of `unless`: without it the expression has more values, not fewer
    std::string text;        // as it is written, without range and offset
};

// What an expression cannot do without: one selector, all of its parts, or any of them. `(a or b) and c
// unless d` needs c, and a or b; it does not need d, nor what absent() is asked about.
struct Need {
    enum class Of { selector, all, any } of = Of::all;
    std::size_t selector = 0;  // its place in Reads::selectors
    std::vector<Need> parts = {};
};

struct Reads {
    std::vector<Selector> selectors;
    std::set<std::string>
        identifiers;  // every word outside strings, so that no metric that is read is missing
    std::vector<std::string> grouping;  // labels of by (…) and on (…)
    bool everything = false;            // a selector without a name, or by __name__
    bool subquery = false;              // evaluated on the clock's own grid
    Need need;
};

Reads scan(std::string_view expr);

struct Token {
    enum class Kind { word, number, text, sign } kind;
    std::string text;
    std::size_t at;
};
std::vector<Token> tokens_of(std::string_view expr);

// The text inside a quoted literal.
std::string unquoted(const std::string& text);

// The same expression with `bool` after each comparison: it has a value wherever its selectors and joins have
// one, whatever the thresholds. Empty where that does not hold: beside `unless` and absent(), fewer values on
// one side are more on the other.
std::string without_thresholds(std::string_view expr);

// One side of a threshold: `left op limit`, as it is written, at the top of the expression or of a part
// joined by and, or, unless.
struct Threshold {
    std::string left;
    Comparison op = Comparison::equal;
    std::string limit;
    bool number = false;   // the limit is arithmetic on numbers alone
    std::string matching;  // "on (instance) group_left", as it is written
    std::string text;      // all of it

    // Is it on one side of a number?
    bool is_bound() const { return number && (is_upward(op) || is_downward(op)); }
};
std::vector<Threshold> thresholds_of(std::string_view expr);

// Can the expression never have a value if none of these thresholds is ever passed? `a > 1 and b > 2` cannot
// if one of the two is not, `a > 1 or b > 2` only if both are not.
bool fails_without(std::string_view expr, const std::set<std::string>& thresholds);

// The expression with this part of it, as it is written, replaced by nothing.
std::string without_selector(const std::string& expr, const std::string& selector);

bool one_of(std::string_view word, std::initializer_list<std::string_view> list);

// Words of PromQL that are not metrics.
bool is_function(std::string_view word);

}  // namespace deadrank::results::alerts

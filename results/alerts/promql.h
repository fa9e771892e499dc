// results/alerts/promql.h — What a PromQL expression reads: metrics, label matchers, ranges, and the
// functions around them. Prometheus itself decides whether it is valid.
#pragma once

#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace deadrank::results::alerts {

struct Matcher {
    std::string label;
    std::string op;  // = != =~ !~
    std::string value;
};

struct Selector {
    std::string metric;  // empty for {…} without a name
    std::vector<Matcher> matchers;
    double range = 0;       // seconds
    double offset = 0;      // seconds back
    double outer = 0;       // ranges and offsets of the subqueries around it
    std::string function;   // the call whose argument it is, if any
    std::string op_before;  // the operator on its left: "/", ">", "or", …
    bool absent = false;    // inside absent() or absent_over_time()
    bool optional = false;  // right of `unless`, or in an inner `or`: the expression may fire without it
    int branch = 0;         // which part of a top-level `or`
    std::size_t at = 0;     // offset in the expression
};

struct Reads {
    std::vector<Selector> selectors;
    std::set<std::string>
        identifiers;  // every word outside strings, so that no metric that is read is missing
    std::vector<std::string> grouping;  // labels of by (…) and on (…)
    bool everything = false;            // a selector without a name, or by __name__
    bool subquery = false;              // evaluated on the clock's own grid
    int branches = 1;                   // of the top-level `or`
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

// An expression as a tree, for the questions that a flat list of selectors can't answer: can it have a value
// at all, do its joins meet, which way must a metric move for it to fire?
struct Expression {
    enum class Kind { number, text, selector, call, aggregate, binary, negative, subquery };
    Kind kind = Kind::number;
    std::string op;  // name of the function, the aggregation or the operator, in lower case
    double number = 0;
    Selector selector;
    std::vector<std::unique_ptr<Expression>> args;
    std::vector<std::string> labels;  // of by, without, on and ignoring
    bool without = false;             // of without and ignoring
    bool matched = false;             // on or ignoring was written
    bool boolean = false;
    std::string group;                 // group_left or group_right
    std::vector<std::string> carried;  // its labels
};

// nullptr for what this parser does not know; Prometheus decides whether an expression is valid.
std::unique_ptr<Expression> parse_expression(std::string_view expr);

bool one_of(std::string_view word, std::initializer_list<std::string_view> list);

// Words of PromQL that are not metrics.
bool is_function(std::string_view word);

}  // namespace deadrank::results::alerts

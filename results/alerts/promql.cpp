// results/alerts/promql.cpp — One pass over the tokens with a stack of open parentheses.
#include "results/alerts/promql.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "results/exporters/toml_file.h"
#include "results/record/words.h"

namespace deadrank::results::alerts {

namespace {

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; }
bool in_word(char c) { return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::size_t end_of_text(std::string_view expr, std::size_t at) {
    const char quote = expr[at];
    for (++at; at < expr.size() && expr[at] != quote; ++at) {
        if (expr[at] == '\\' && quote != '`') ++at;
    }
    return std::min(at + 1, expr.size());
}

}  // namespace

std::vector<Token> tokens_of(std::string_view expr) {
    std::vector<Token> tokens;
    for (std::size_t at = 0; at < expr.size();) {
        const char c = expr[at];
        std::size_t end = at + 1;
        if (std::isspace(static_cast<unsigned char>(c)) != 0) {
            at = end;
            continue;
        }
        if (c == '#') {
            at = std::min(expr.find('\n', at), expr.size());
            continue;
        }
        auto kind = Token::Kind::sign;
        if (c == '"' || c == '\'' || c == '`') {
            kind = Token::Kind::text;
            end = end_of_text(expr, at);
        } else if (begins_word(c)) {
            kind = Token::Kind::word;
            // Colons belong to names, so the ":5m" of [1h:5m] is read as one word.
            while (end < expr.size() && in_word(expr[end])) ++end;
        } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') {
            kind = Token::Kind::number;
            while (end < expr.size() &&
                   (std::isalnum(static_cast<unsigned char>(expr[end])) != 0 || expr[end] == '.' ||
                    ((expr[end] == '+' || expr[end] == '-') && std::tolower(expr[end - 1]) == 'e'))) {
                ++end;
            }
        } else if (end < expr.size() &&
                   (expr.substr(at, 2) == "=~" || expr.substr(at, 2) == "!~" || expr.substr(at, 2) == "!=" ||
                    expr.substr(at, 2) == "==" || expr.substr(at, 2) == ">=" || expr.substr(at, 2) == "<=")) {
            ++end;
        }
        tokens.push_back({kind, std::string(expr.substr(at, end - at)), at});
        at = end;
    }
    return tokens;
}

std::string unquoted(const std::string& text) {
    std::string value;
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        if (text[i] == '\\' && text[0] != '`' && i + 2 < text.size()) ++i;
        value += text[i];
    }
    return value;
}

namespace {

struct Frame {
    std::string function;
    bool unless = false;  // right of an `unless`
    std::size_t first_selector = 0;
    std::vector<Need> parts = {};     // since the last `or`
    std::vector<Need> branches = {};  // before it

    bool tests_absence() const { return one_of(function, {"absent", "absent_over_time"}); }

    void add(Need need) {
        if (!unless) parts.push_back(std::move(need));
    }
    void begin_branch() {
        branches.push_back({.parts = std::exchange(parts, {})});
        unless = false;
    }
    Need need() {
        if (branches.empty() && parts.size() == 1) return std::move(parts[0]);
        if (branches.empty()) return {.parts = std::move(parts)};
        begin_branch();
        return {.of = Need::Of::any, .parts = std::move(branches)};
    }
};

class Scanner {
public:
    explicit Scanner(std::string_view expr) : expr_(expr), tokens_(tokens_of(expr)) {}

    Reads read() {
        stack_.push_back({});
        for (at_ = 0; at_ < tokens_.size(); ++at_) token();
        while (stack_.size() > 1) close();
        reads_.need = stack_.back().need();
        return std::move(reads_);
    }

private:
    const std::string& peek(std::size_t ahead = 1) const {
        static const std::string nothing;
        return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead].text : nothing;
    }

    void token() {
        const Token& token = tokens_[at_];
        if (token.kind == Token::Kind::word) return word(token);
        if (token.kind != Token::Kind::sign) return;
        if (token.text == "(")
            return stack_.push_back({std::exchange(called_, {}), false, reads_.selectors.size()});
        if (token.text == ")" && stack_.size() > 1) return close();
        if (token.text == "{") return selector("", token.at);
        if (token.text == "[") return subquery();
        if (token.text != "," && token.text != "]") last_operator_ = token.text;
    }

    // [1h:5m] after a parenthesis: every selector inside reaches that much further back.
    void subquery() {
        ++at_;
        double reach = std::max(0.0, exporters::seconds_of(peek(0)));
        skip_to("]");
        if (peek() == "offset") reach += std::max(0.0, exporters::seconds_of(peek(2)));
        reads_.subquery = true;
        for (std::size_t i = closed_first_; i < reads_.selectors.size(); ++i)
            reads_.selectors[i].outer += reach;
    }

    void close() {
        Frame frame = std::move(stack_.back());
        stack_.pop_back();
        closed_first_ = frame.first_selector;
        if (!frame.tests_absence()) stack_.back().add(frame.need());
    }

    void word(const Token& token) {
        reads_.identifiers.insert(token.text);
        const std::string lower = lowered(token.text);
        if (one_of(lower, {"by", "without", "on", "ignoring", "group_left", "group_right"}))
            return labels(lower);
        if (lower == "offset") return;  // read with its selector; on a subquery it changes no name
        if (lower == "or") {
            last_operator_ = lower;
            return stack_.back().begin_branch();
        }
        if (one_of(lower, {"and", "unless", "atan2"})) {
            last_operator_ = lower;
            stack_.back().unless = lower == "unless";
            return;
        }
        if (one_of(lower, {"bool", "inf", "nan"})) return;
        if (peek() == "(" || (is_function(lower) && one_of(peek(), {"by", "without"}))) {
            called_ = lower;
            return;
        }
        selector(token.text, token.at);
    }

    void labels(const std::string& clause) {
        if (peek() != "(") return;
        for (at_ += 2; at_ < tokens_.size() && tokens_[at_].text != ")"; ++at_) {
            if (tokens_[at_].kind != Token::Kind::word) continue;
            reads_.identifiers.insert(tokens_[at_].text);
            if (clause == "by" || clause == "on") reads_.grouping.push_back(tokens_[at_].text);
        }
    }

    void selector(const std::string& name, std::size_t at) {
        Selector selector{.metric = name, .op_before = std::exchange(last_operator_, {})};
        if (name.empty() || peek() == "{") {
            if (!name.empty()) ++at_;
            matchers(selector);
        }
        const Token& last = tokens_[std::min(at_, tokens_.size() - 1)];
        selector.text = expr_.substr(at, last.at + last.text.size() - at);
        for (const Matcher& matcher : selector.matchers) {
            if (matcher.label != "__name__") continue;
            if (matcher.op == MatchOp::equal && selector.metric.empty())
                selector.metric = matcher.value;
            else
                reads_.everything = true;
        }
        if (selector.metric.empty())
            reads_.everything = true;
        else
            reads_.identifiers.insert(selector.metric);
        if (peek() == "[") {
            ++at_;
            selector.stepped = peek(2).starts_with(':');
            reads_.subquery = reads_.subquery || selector.stepped;
            selector.range = std::max(0.0, exporters::seconds_of(peek()));
            skip_to("]");
        }
        if (peek() == "offset") {
            const bool negative = peek(2) == "-";
            selector.offset = exporters::seconds_of(peek(negative ? 3 : 2)) * (negative ? -1 : 1);
            at_ += negative ? 3 : 2;
        }
        selector.function = stack_.back().function;
        for (const Frame& frame : stack_) {
            selector.absent = selector.absent || frame.tests_absence();
            selector.counted =
                selector.counted || one_of(frame.function, {"count", "count_values", "group",
                                                            "count_over_time", "present_over_time"});
            selector.excluding = selector.excluding || frame.unless;
        }
        stack_.back().add({.of = Need::Of::selector, .selector = reads_.selectors.size()});
        reads_.selectors.push_back(std::move(selector));
    }

    // From '{' to just past '}'.
    void matchers(Selector& selector) {
        for (++at_; at_ < tokens_.size() && tokens_[at_].text != "}"; ++at_) {
            if (tokens_[at_].kind != Token::Kind::word) continue;
            const auto op = scenarios::read_word<MatchOp>(peek());
            Matcher matcher{tokens_[at_].text, op.value_or(MatchOp::equal), {}};
            reads_.identifiers.insert(matcher.label);
            if (op && at_ + 2 < tokens_.size() && tokens_[at_ + 2].kind == Token::Kind::text) {
                matcher.value = unquoted(tokens_[at_ + 2].text);
                selector.matchers.push_back(std::move(matcher));
                at_ += 2;
            }
        }
    }

    void skip_to(std::string_view sign) {
        while (at_ < tokens_.size() && tokens_[at_].text != sign) ++at_;
    }

    std::string_view expr_;
    std::vector<Token> tokens_;
    std::vector<Frame> stack_;
    std::string called_, last_operator_;
    std::size_t at_ = 0, closed_first_ = 0;
    Reads reads_;
};

}  // namespace

bool is_function(std::string_view word) {
    static const std::set<std::string_view> words = {
        "sum",   "min",          "max",     "avg",  "group",    "stddev", "stdvar",
        "count", "count_values", "bottomk", "topk", "quantile", "limitk", "limit_ratio"};
    return words.contains(word);
}

Reads scan(std::string_view expr) { return Scanner(expr).read(); }

// ── Thresholds, by the comparison signs outside of braces and brackets.

namespace {

bool is_comparison(const Token& token) {
    return token.kind == Token::Kind::sign && scenarios::read_word<Comparison>(token.text);
}

// As it reads from the other side: 5 < x is x > 5.
Comparison mirrored(Comparison op) {
    switch (op) {
        case Comparison::above:
            return Comparison::below;
        case Comparison::below:
            return Comparison::above;
        case Comparison::at_least:
            return Comparison::at_most;
        case Comparison::at_most:
            return Comparison::at_least;
        default:
            return op;
    }
}

using Tokens = std::vector<Token>;

// The depth of open signs before each token.
std::vector<int> depths_of(const Tokens& tokens) {
    std::vector<int> depths;
    int depth = 0;
    for (const Token& token : tokens) {
        const bool sign = token.kind == Token::Kind::sign;
        if (sign && one_of(token.text, {")", "}", "]"})) --depth;
        depths.push_back(depth);
        if (sign && one_of(token.text, {"(", "{", "["})) ++depth;
    }
    return depths;
}

// The range of tokens without parentheses that enclose all of it.
std::pair<std::size_t, std::size_t> bare(const Tokens& tokens, std::size_t begin, std::size_t end) {
    while (end - begin > 2 && tokens[begin].text == "(" && tokens[end - 1].text == ")") {
        int depth = 0;
        std::size_t at = begin;
        for (; at < end; ++at) {
            if (tokens[at].kind != Token::Kind::sign) continue;
            depth += tokens[at].text == "(" ? 1 : tokens[at].text == ")" ? -1 : 0;
            if (depth == 0) break;
        }
        if (at + 1 < end) break;
        ++begin, --end;
    }
    return {begin, end};
}

class ThresholdSearch {
public:
    explicit ThresholdSearch(std::string_view expr)
        : expr_(expr), tokens_(tokens_of(expr)), depths_(depths_of(tokens_)) {}

    std::vector<Threshold> all() {
        part(0, tokens_.size());
        return std::move(found_);
    }

    bool fails_without(const std::set<std::string>& thresholds) {
        return fails(0, tokens_.size(), thresholds);
    }

private:
    // `and` and `unless` bind tighter than `or`.
    bool fails(std::size_t first, std::size_t last, const std::set<std::string>& thresholds) {
        const auto [begin, end] = bare(tokens_, first, last);
        if (begin >= end) return false;
        const int depth = depths_[begin];
        std::size_t from = begin;
        bool counts = true, any = false, failed = false;
        for (std::size_t i = begin; i <= end; ++i) {
            const std::string word =
                i < end && tokens_[i].kind == Token::Kind::word ? lowered(tokens_[i].text) : "";
            const bool joint = i < end && depths_[i] == depth && one_of(word, {"and", "or", "unless"});
            if (!joint && i < end) continue;
            if (i == end && !any) break;
            if (counts) failed = failed || fails(from, i, thresholds);
            if ((word == "or" || i == end) && !failed) return false;
            if (word == "or") failed = false;
            any = true;
            counts = word != "unless";
            if (i < end) from = after_modifiers(i + 1, end);
        }
        return any ? failed : thresholds.contains(text(begin, end));
    }

    std::string text(std::size_t begin, std::size_t end) const {
        if (begin >= end) return {};
        const Token& last = tokens_[end - 1];
        return std::string(expr_.substr(tokens_[begin].at, last.at + last.text.size() - tokens_[begin].at));
    }

    // Skips `on (…)` and the like after an operator.
    std::size_t after_modifiers(std::size_t at, std::size_t end) const {
        while (at < end &&
               (one_of(lowered(tokens_[at].text), {"on", "ignoring", "group_left", "group_right"}) ||
                (lowered(tokens_[at].text) == "bool"))) {
            const bool list =
                at + 1 < end && tokens_[at + 1].text == "(" && lowered(tokens_[at].text) != "bool";
            ++at;
            if (!list) continue;
            while (at < end && tokens_[at].text != ")") ++at;
            ++at;
        }
        return std::min(at, end);
    }

    void part(std::size_t first, std::size_t last) {
        const auto [begin, end] = bare(tokens_, first, last);
        if (begin >= end) return;
        const int depth = depths_[begin];
        std::size_t from = begin;
        bool counts = true, any = false;  // what is right of `unless` keeps the alert silent
        for (std::size_t i = begin; i < end; ++i) {
            const std::string word = tokens_[i].kind == Token::Kind::word ? lowered(tokens_[i].text) : "";
            if (depths_[i] != depth || !one_of(word, {"and", "or", "unless"})) continue;
            if (counts) part(from, i);
            any = true;
            counts = word != "unless";
            from = after_modifiers(i + 1, end);
        }
        if (any) {
            if (counts) part(from, end);
            return;
        }
        one(begin, end, depth);
    }

    void one(std::size_t begin, std::size_t end, int depth) {
        std::size_t at = end, signs = 0;
        for (std::size_t i = begin; i < end; ++i) {
            if (depths_[i] == depth && is_comparison(tokens_[i])) at = i, ++signs;
        }
        if (signs != 1 || at == begin || at + 1 >= end || lowered(tokens_[at + 1].text) == "bool") return;
        const std::size_t right = after_modifiers(at + 1, end);
        Threshold threshold{text(begin, at),     *scenarios::read_word<Comparison>(tokens_[at].text),
                            text(right, end),    numbers(right, end),
                            text(at + 1, right), text(begin, end)};
        if (numbers(begin, at)) {  // 5 < x
            std::swap(threshold.left, threshold.limit);
            threshold.op = mirrored(threshold.op);
            threshold.number = true;
        }
        found_.push_back(std::move(threshold));
    }

    bool numbers(std::size_t begin, std::size_t end) const {
        return begin < end &&
               std::none_of(tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
                            tokens_.begin() + static_cast<std::ptrdiff_t>(end), [](const Token& one) {
                                return one.kind == Token::Kind::word || one.kind == Token::Kind::text ||
                                       one.text == "{";
                            });
    }

    std::string_view expr_;
    Tokens tokens_;
    std::vector<int> depths_;
    std::vector<Threshold> found_;
};

}  // namespace

std::vector<Threshold> thresholds_of(std::string_view expr) { return ThresholdSearch(expr).all(); }

bool fails_without(std::string_view expr, const std::set<std::string>& thresholds) {
    return ThresholdSearch(expr).fails_without(thresholds);
}

std::string without_thresholds(std::string_view expr) {
    const auto tokens = tokens_of(expr);
    std::string text;
    std::size_t copied = 0;
    int braces = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const Token& token = tokens[i];
        if (token.kind == Token::Kind::word &&
            one_of(lowered(token.text), {"unless", "absent", "absent_over_time"}))
            return {};
        if (token.kind != Token::Kind::sign) continue;
        braces += token.text == "{" ? 1 : token.text == "}" ? -1 : 0;
        if (braces > 0 || !is_comparison(token)) continue;
        const std::size_t end = token.at + token.text.size();
        text += expr.substr(copied, end - copied);
        copied = end;
        if (i + 1 < tokens.size() && lowered(tokens[i + 1].text) != "bool") text += " bool ";
    }
    return text + std::string(expr.substr(copied));
}

std::string without_selector(const std::string& expr, const std::string& selector) {
    std::string text = expr;
    if (const std::size_t at = text.find(selector); at != std::string::npos) text.erase(at, selector.size());
    if (const std::size_t open = text.find('['); open != std::string::npos)
        text.erase(open, text.find(']', open) + 1 - open);
    return text;
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> list) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace deadrank::results::alerts

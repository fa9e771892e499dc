// results/alerts/promql.cpp — One pass over the tokens with a stack of open parentheses.
#include "results/alerts/promql.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "results/exporters/toml_tree.h"
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
    bool has_or = false;
    std::size_t first_selector = 0;
};

class Scanner {
public:
    explicit Scanner(std::string_view expr) : tokens_(tokens_of(expr)) {}

    Reads read() {
        stack_.push_back({});
        for (at_ = 0; at_ < tokens_.size(); ++at_) token();
        reads_.branches = branch_ + 1;
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
            return stack_.push_back({std::exchange(called_, {}), false, false, reads_.selectors.size()});
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
        const Frame frame = stack_.back();
        stack_.pop_back();
        closed_first_ = frame.first_selector;
        if (!frame.has_or) return;
        for (std::size_t i = frame.first_selector; i < reads_.selectors.size(); ++i)
            reads_.selectors[i].optional = true;
    }

    void word(const Token& token) {
        reads_.identifiers.insert(token.text);
        const std::string lower = lowered(token.text);
        if (one_of(lower, {"by", "without", "on", "ignoring", "group_left", "group_right"}))
            return labels(lower);
        if (lower == "offset") return;  // read with its selector; on a subquery it changes no name
        if (lower == "or") {
            last_operator_ = lower;
            stack_.back().unless = false;
            if (stack_.size() == 1)
                ++branch_;
            else
                stack_.back().has_or = true;
            return;
        }
        if (one_of(lower, {"and", "unless", "atan2"})) {
            last_operator_ = lower;
            stack_.back().unless = lower == "unless";
            return;
        }
        if (one_of(lower, {"bool", "inf", "nan"})) return;
        if (peek() == "(" || (is_function(lower) && one_of(peek(), {"by", "without"}))) {
            called_ = lower;
            if (one_of(lower, {"absent", "absent_over_time"})) return;
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
        Selector selector{
            .metric = name, .op_before = std::exchange(last_operator_, {}), .branch = branch_, .at = at};
        if (name.empty() || peek() == "{") {
            if (!name.empty()) ++at_;
            matchers(selector);
        }
        for (const Matcher& matcher : selector.matchers) {
            if (matcher.label != "__name__") continue;
            if (matcher.op == "=" && selector.metric.empty())
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
            reads_.subquery = reads_.subquery || peek(2).starts_with(':');
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
            selector.absent = selector.absent || one_of(frame.function, {"absent", "absent_over_time"});
            selector.optional = selector.optional || frame.unless;
        }
        reads_.selectors.push_back(std::move(selector));
    }

    // From '{' to just past '}'.
    void matchers(Selector& selector) {
        for (++at_; at_ < tokens_.size() && tokens_[at_].text != "}"; ++at_) {
            if (tokens_[at_].kind != Token::Kind::word) continue;
            Matcher matcher{tokens_[at_].text, peek(), {}};
            reads_.identifiers.insert(matcher.label);
            if (at_ + 2 < tokens_.size() && tokens_[at_ + 2].kind == Token::Kind::text) {
                matcher.value = unquoted(tokens_[at_ + 2].text);
                selector.matchers.push_back(std::move(matcher));
                at_ += 2;
            }
        }
    }

    void skip_to(std::string_view sign) {
        while (at_ < tokens_.size() && tokens_[at_].text != sign) ++at_;
    }

    std::vector<Token> tokens_;
    std::vector<Frame> stack_;
    std::string called_, last_operator_;
    std::size_t at_ = 0, closed_first_ = 0;
    int branch_ = 0;
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

bool one_of(std::string_view word, std::initializer_list<std::string_view> list) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace deadrank::results::alerts

// scenarios/program/method_binder.cpp — Arguments of what is called behind a dot. Which type the object has
// is not known yet: what no type takes is refused, and what only some do is left to the run to check.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/program/call_binder.h"
#include "scenarios/program/program_resolver.h"
#include "scenarios/program/program_words.h"

namespace deadrank::scenarios::program {

namespace {

std::size_t most_of(const MethodWord& word) {
    if (word.variadic()) return SIZE_MAX;
    const auto parameters = word.parameters();
    return static_cast<std::size_t>(std::count_if(parameters.begin(), parameters.end(),
                                                  [](const ParameterWord& one) { return !one.named; }));
}

bool takes_all(const MethodWord& word, const std::vector<std::string>& names) {
    const auto parameters = word.parameters();
    return std::all_of(names.begin(), names.end(), [&](const std::string& keyword) {
        return std::any_of(parameters.begin(), parameters.end(),
                           [&](const ParameterWord& one) { return one.name == keyword; });
    });
}

std::string remedy_for(const std::string& method, const std::string& keyword,
                       const std::vector<const MethodWord*>& words) {
    if (method == "wait")
        return "leave it out: how long a call may take is the `timeout` of new_group, or "
               "`collective_timeout` of [cluster]";
    std::vector<std::string> known;
    for (const MethodWord* word : words)
        for (const ParameterWord& one : word->parameters())
            if (place_in(known, one.name) < 0) known.push_back(one.name);
    if (known.empty()) return "leave it out: there are no arguments";
    return suggestion_for(keyword, known, fmt::format("leave it out; known are {}", fmt::join(known, ", ")));
}

// What torch has and cannot be had without gradients that it computes itself, or without other libraries.
std::string hint_for(std::string_view name) {
    if (name == "backward" || name == "requires_grad_" || name == "zero_grad")
        return "compute gradients in the program, and keep them as x.grad: nothing is differentiated here";
    if (name == "requires_grad") return "leave it out: the program itself computes gradients";
    if (name == "args" || name == "__traceback__") return "what was caught is its text";
    if (name == "numpy") return "write x.tolist(), or use the tensor itself";
    if (name == "format") return "write an f-string: f\"{loss:.3f}\"";
    return {};
}

std::string as_value_of(const Expr& attribute) {
    const Expr& object = attribute.parts[0];
    return fmt::format("write it with (); as a value: lambda x: {}.{}(x)",
                       object.kind == ExprKind::name ? object.text : "…", attribute.text);
}

}  // namespace

// Words of the table, and those that the program sets itself. Named arguments are put in order for the words
// of the table; a method of the program's own takes them as they are.
void CallBinder::check_method(Expr& expr) {
    const bool called = expr.kind == ExprKind::method;
    std::vector<std::string> known = program_.attributes;
    const bool own = place_in(known, expr.text) >= 0;
    std::vector<const MethodWord*> words;
    bool other = false;
    for (const MethodWord& word : method_words()) {
        const bool of_others = word.of == "stream" || word.of == "event" || word.of == "process";
        if (of_others && !program_.starts_others) continue;
        other |= word.name() == expr.text;
        if (word.called() != called) continue;
        known.push_back(word.name());
        if (word.name() == expr.text) words.push_back(&word);
    }
    const bool value = !called && other && expr.number == as_a_value;
    if (place_in(known, expr.text) < 0 && !value) {
        const std::string hint = hint_for(expr.text);
        return complain(
            expr.spot, fmt::format("there is no {} '{}'", called ? "method" : "attribute", expr.text),
            !hint.empty() ? hint
            : other       ? (called ? "write it without ()" : as_value_of(expr))
                    : suggestion_for(expr.text, known, "`deadrank explain program` lists what there is"));
    }
    if (!called) return;
    note_move(expr);
    const bool timed = expr.text == "wait" && !own && !program_.starts_others &&
                       expr.parts.size() > 1 + expr.keywords.size() &&
                       (expr.parts[1].kind == ExprKind::whole || expr.parts[1].kind == ExprKind::decimal);
    if (timed)
        return complain(expr.spot,
                        fmt::format("wait() takes 0 arguments but {} were given", expr.parts.size() - 1),
                        remedy_for(expr.text, {}, words));
    program_.has_streams |= place_in(expr.keywords, "non_blocking") >= 0 && !own;
    const bool bounded = expr.text == "wait" && !own && !program_.starts_others &&
                         expr.keywords.size() + 1 == expr.parts.size() && !expr.keywords.empty() &&
                         place_in(expr.keywords, "keys") < 0;
    if (bounded)
        return complain(expr.spot,
                        fmt::format("wait() got an unexpected keyword argument '{}'", expr.keywords.front()),
                        remedy_for(expr.text, {}, words));
    if (!words.empty()) check_count(expr, words, own);
    if (!expr.keywords.empty() && !own && !spreads(expr)) order_method(expr, words);
}

void CallBinder::check_count(Expr& expr, const std::vector<const MethodWord*>& words, bool own) {
    if (spreads(expr)) {
        expr.slot = how_many;
        if (!own && !expr.keywords.empty())
            complain(expr.spot, fmt::format("{}() has named arguments beside those of a list", expr.text),
                     "write all of them one by one");
        return;
    }
    const std::size_t plain = expr.parts.size() - 1 - expr.keywords.size();
    std::size_t most = 0, least = SIZE_MAX;
    for (const MethodWord* word : words) {
        most = std::max(most, most_of(*word));
        least = std::min(least, most_of(*word));
    }
    if (plain > least) expr.slot = how_many;
    if (own || plain <= most) return;
    const bool named = !words.front()->parameters().empty() && most == 0;
    complain(expr.spot, fmt::format("{}() takes {} arguments but {} were given", expr.text, most, plain),
             named                 ? fmt::format("name it: {} = …", words.front()->parameters()[0].name)
             : expr.text == "wait" ? remedy_for(expr.text, {}, words)
             : words.front()->parameters().size() > most
                 ? fmt::format("name the last one: {} = …", words.front()->parameters()[most].name)
                 : "leave the last ones out");
}

void CallBinder::order_method(Expr& expr, const std::vector<const MethodWord*>& words) {
    const auto fits = std::find_if(words.begin(), words.end(), [&](const MethodWord* word) {
        return !word->variadic() && takes_all(*word, expr.keywords);
    });
    if (fits == words.end()) {
        const std::string keyword = expr.keywords.front();
        return complain(expr.spot,
                        fmt::format("{}() got an unexpected keyword argument '{}'", expr.text, keyword),
                        remedy_for(expr.text, keyword, words));
    }
    Expr object = std::move(expr.parts.front());
    expr.parts.erase(expr.parts.begin());
    auto parameters = (*fits)->parameters();
    for (ParameterWord& one : parameters) one.required = false;
    order(expr, parameters);
    expr.parts.insert(expr.parts.begin(), std::move(object));
    expr.slot = static_cast<int>(*fits - method_words().data());
}

}  // namespace deadrank::scenarios::program

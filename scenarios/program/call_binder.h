// scenarios/program/call_binder.h — Which function a call means, and its arguments in the order in which that
// one takes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/program/program_lexer.h"
#include "scenarios/program/program_words.h"

namespace deadrank::scenarios::program {

// "did you mean 'x'?", or what helps otherwise.
std::string suggestion_for(std::string_view word, const std::vector<std::string>& known,
                           std::string otherwise);

bool is_for_faults(std::string_view name);  // seam, block, phase
bool spreads(const Expr& call);             // f(*values)
bool says_device(const Expr& value);        // "cuda", f"cuda:{i}", device("cuda")
bool says_host(const Expr& value);          // "cpu", device("cpu")

class CallBinder {
public:
    CallBinder(Program& program, std::vector<Mistake>& mistakes) : program_(program), mistakes_(mistakes) {}

    int function_named(std::string_view name) const;  // -1 = none
    int class_named(std::string_view name) const;
    bool knows(std::string_view name) const;  // a function, a class or a built-in

    void bind(Expr& call);
    void as_invocation(Expr& call, Expr callee);  // of a value, whose arguments are put in order when it runs
    bool as_value(Expr& name);                    // a function or a class that is named without a call
    void check_method(Expr& expr);
    void check_words(const Expr& call);  // once its arguments are resolved

private:
    void complain(const Spot& spot, std::string what, std::string remedy);
    void refuse(Expr& call, const Spot& spot, std::string what, std::string remedy);
    void check_count(Expr& expr, const std::vector<const MethodWord*>& words, bool own);
    void order_method(Expr& expr, const std::vector<const MethodWord*>& words);
    bool bind_spread(Expr& call, int slot);
    void order(Expr& call, const std::vector<ParameterWord>& parameters, std::size_t first = 0);
    void order_any(Expr& call, const BuiltinWord& word);
    void publish(const Expr& call);
    void note_device(const Expr& call, const BuiltinWord& word);
    void note_target(const Expr& call, const Expr& target);
    void note_move(const Expr& call);
    void check_move(const Expr& call);

    Program& program_;
    std::vector<Mistake>& mistakes_;
};

}  // namespace deadrank::scenarios::program

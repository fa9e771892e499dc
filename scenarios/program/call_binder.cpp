// scenarios/program/call_binder.cpp — Named arguments go where the function takes them, and what is left out
// is absent; what a fault may act on is noted on the way.
#include "scenarios/program/call_binder.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/model/vocabulary.h"
#include "scenarios/program/argument_words.h"
#include "scenarios/program/program_resolver.h"

namespace deadrank::scenarios::program {

std::string suggestion_for(std::string_view word, const std::vector<std::string>& known,
                           std::string otherwise) {
    const std::string near = nearest(word, known);
    return near.empty() ? std::move(otherwise) : fmt::format("did you mean '{}'?", near);
}

bool is_for_faults(std::string_view name) { return name == "seam" || name == "block" || name == "phase"; }

namespace {

// What torch takes when it makes the world, and is a setting here.
std::string remedy_for(std::string_view function, std::string_view keyword,
                       const std::vector<std::string>& known) {
    if (function == "barrier" && keyword == "device_ids")
        return "leave it out: it goes over the device that the group was made with";
    const bool makes_groups = function.starts_with("init_");
    if (makes_groups && keyword == "store") return "leave it out: init_method says where ranks meet";
    if (makes_groups && keyword == "timeout")
        return "leave it out: the bound is `collective_timeout` of [cluster], and new_group takes one of its "
               "own";
    if (makes_groups && keyword == "backend")
        return "leave it out: the library is `library` of [cluster], and new_group takes one of its own";
    if (keyword == "requires_grad")
        return "leave it out: gradients are computed by the program itself, and kept as x.grad";
    return suggestion_for(
        keyword, known,
        known.empty() ? "leave it out" : fmt::format("leave it out; known are {}", fmt::join(known, ", ")));
}

std::string hint_for(std::string_view function, const std::vector<std::string>& known) {
    static constexpr std::pair<std::string_view, const char*> hints[] = {
        {"type", "isinstance(x, int) says whether it is one"},
        {"next", "keep the place in a number, and write x[place]"},
        {"iter", "walk over the list itself"},
        {"super", "write Base.method(self)"},
        {"open", "write_text(path, text) and read_text(path) are files"},
        {"frozenset", "set(x) is a sorted list"}};
    for (const auto& [name, hint] : hints)
        if (name == function) return hint;
    return suggestion_for(function, known, "`deadrank explain program` lists what a rank may call");
}

}  // namespace

void CallBinder::complain(const Spot& spot, std::string what, std::string remedy) {
    mistakes_.push_back({spot, std::move(what), std::move(remedy)});
}

int CallBinder::function_named(std::string_view name) const {
    for (std::size_t i = 0; i < program_.functions.size(); ++i)
        if (program_.functions[i].named && program_.functions[i].name == name) return static_cast<int>(i);
    return -1;
}

int CallBinder::class_named(std::string_view name) const {
    for (std::size_t i = 0; i < program_.classes.size(); ++i)
        if (program_.classes[i].name == name) return static_cast<int>(i);
    return -1;
}

bool CallBinder::knows(std::string_view name) const {
    return function_named(name) >= 0 || class_named(name) >= 0 || builtin_place(name) >= 0;
}

void CallBinder::as_invocation(Expr& call, Expr callee) {
    call.kind = ExprKind::invoke;
    call.depth = std::max(call.depth, callee.depth + 1);
    call.parts.insert(call.parts.begin(), std::move(callee));
}

bool CallBinder::as_value(Expr& name) {
    name.slot = function_named(name.text);
    if (name.slot < 0 && class_named(name.text) >= 0) {
        name.kind = ExprKind::kind;
        name.slot = class_named(name.text);
        return true;
    }
    if (name.slot < 0) {
        const int builtin = builtin_place(name.text);
        if (builtin < 0) return false;
        name.slot = -1 - builtin;
    }
    name.kind = ExprKind::function;
    if (is_for_faults(name.text))
        complain(name.spot, fmt::format("'{}' is a function", name.text),
                 fmt::format("call it: {}(…)", name.text));
    return true;
}

bool spreads(const Expr& call) {
    return std::any_of(call.parts.begin(), call.parts.end(),
                       [](const Expr& part) { return part.kind == ExprKind::spread; });
}

// How many arguments there are is known when it runs.
bool CallBinder::bind_spread(Expr& call, int slot) {
    if (!spreads(call)) return false;
    if (is_for_faults(call.text))
        complain(call.spot, fmt::format("the arguments of {}() are spread out of a list", call.text),
                 "write them one by one, so that a fault can be held against them");
    as_invocation(call, {.kind = ExprKind::function, .spot = call.spot, .text = call.text, .slot = slot});
    return true;
}

void CallBinder::bind(Expr& call) {
    if (const int function = function_named(call.text); function >= 0) {
        if (bind_spread(call, function)) return;
        const Function& found = program_.functions[static_cast<std::size_t>(function)];
        std::vector<ParameterWord> parameters;
        for (std::size_t k = 0; k < found.defaults.size(); ++k)
            parameters.push_back({found.locals[k], found.defaults[k].kind == ExprKind::absent});
        call.slot = function;
        return order(call, parameters);
    }
    if (const int kind = class_named(call.text); kind >= 0)
        return as_invocation(call,
                             {.kind = ExprKind::kind, .spot = call.spot, .text = call.text, .slot = kind});
    const int builtin = builtin_place(call.text);
    if (builtin < 0) {
        std::vector<std::string> known;
        for (const Function& function : program_.functions)
            if (function.named) known.push_back(function.name);
        for (const BuiltinWord& word : builtin_words()) known.push_back(word.name());
        return complain(call.spot, fmt::format("there is no function '{}'", call.text),
                        hint_for(call.text, known));
    }
    call.slot = -1 - builtin;
    program_.makes_folders |= call.text == "makedirs";
    program_.chooses_device |= call.text == "set_device";
    program_.has_streams |= builtin_words()[static_cast<std::size_t>(builtin)].group == "Streams";
    const BuiltinWord& word = builtin_words()[static_cast<std::size_t>(builtin)];
    if (!word.variadic() && bind_spread(call, call.slot)) return;
    if (word.variadic() || word.keyworded())
        order_any(call, word);
    else
        order(call, word.parameters());
    note_device(call, word);
    publish(call);
}

// zeros(4, device=…), set_default_device(…), load(path, map_location=…)
void CallBinder::note_device(const Expr& call, const BuiltinWord& word) {
    if (word.group != "Tensors" && word.group != "Files") return;
    const auto parameters = word.parameters();
    for (std::size_t i = 0; i < parameters.size() && i < call.parts.size(); ++i)
        if (parameters[i].name == "device" || parameters[i].name == "map_location")
            note_target(call, call.parts[i]);
}

// What names the node's memory alone puts nothing on a device. A name may hold either.
void CallBinder::note_target(const Expr& call, const Expr& target) {
    if (target.kind == ExprKind::absent || target.kind == ExprKind::none) return;
    const bool either = target.kind == ExprKind::name || target.kind == ExprKind::attribute;
    program_.moves_tensors |= either;
    if (either || says_host(target)) return;
    if (!program_.places_tensors) program_.places_since = call.spot;
    program_.places_tensors = true;
}

bool says_host(const Expr& value) {
    if (value.kind == ExprKind::choice) return says_host(value.parts[0]) && says_host(value.parts[2]);
    const bool called = value.kind == ExprKind::call && value.text == "device" && !value.parts.empty();
    return called ? says_host(value.parts[0]) : value.kind == ExprKind::text && value.text == "cpu";
}

bool says_device(const Expr& value) {
    if (says_host(value)) return false;
    if (value.kind == ExprKind::choice) return says_device(value.parts[0]) || says_device(value.parts[2]);
    if (value.kind == ExprKind::joined) return !value.parts.empty() && value.parts[0].text == "cuda:";
    const bool called = value.kind == ExprKind::call && value.text == "device";
    return called || (value.kind == ExprKind::text && is_device_word(value.text));
}

// x.cuda(), x.to(…): what says a device, or a name that may hold one.
void CallBinder::note_move(const Expr& call) {
    const bool moves = call.text == "cuda" && place_in(program_.attributes, call.text) < 0;
    if (moves) note_target(call, call);
    if (call.text != "to" || call.parts.size() < 2) return;
    const bool named = place_in(call.keywords, "device") >= 0;
    const Expr& target = call.parts[1];
    if (named || says_device(target)) note_target(call, target);
    program_.moves_tensors |= target.kind != ExprKind::text;
}

void CallBinder::check_words(const Expr& call) {
    if (call.kind == ExprKind::method) return check_move(call);
    if (call.kind != ExprKind::call || call.slot >= 0) return;
    const int builtin = builtin_place(call.text);
    if (builtin < 0) return;
    const auto parameters = builtin_words()[static_cast<std::size_t>(builtin)].parameters();
    for (std::size_t i = 0; i < parameters.size() && i < call.parts.size(); ++i)
        check_closed_word(call.text, parameters[i].name, call.parts[i], mistakes_);
}

// x.to("float16"), x.to("cuda:1", "float16")
void CallBinder::check_move(const Expr& call) {
    if (place_in(program_.attributes, call.text) >= 0) return;
    const bool to = call.text == "to";
    for (std::size_t i = 1; i < call.parts.size() && (to || call.text == "cuda"); ++i) {
        const Expr& said = call.parts[i];
        const bool device = said.kind == ExprKind::text && is_device_word(said.text);
        if (i == 1 && to && device) continue;
        check_closed_word(call.text, to ? "dtype" : "device", said, mistakes_);
    }
}

// Of a function that takes any number of arguments, the first part is a list of those; of one that takes any
// names, the second is a dict of them.
void CallBinder::order_any(Expr& call, const BuiltinWord& word) {
    const std::size_t plain = call.parts.size() - call.keywords.size();
    Expr list{.kind = ExprKind::list, .spot = call.spot, .depth = call.depth};
    for (std::size_t i = 0; i < plain; ++i) list.parts.push_back(std::move(call.parts[i]));
    call.parts.erase(call.parts.begin(), call.parts.begin() + static_cast<std::ptrdiff_t>(plain));
    if (!word.keyworded()) {
        call.parts.insert(call.parts.begin(), Expr{});
        order(call, word.parameters(), 1);
        if (!call.parts.empty()) call.parts.front() = std::move(list);
        return;
    }
    Expr dict{.kind = ExprKind::dict, .spot = call.spot, .depth = call.depth};
    for (std::size_t i = 0; i < call.keywords.size(); ++i) {
        dict.parts.push_back({.kind = ExprKind::text, .spot = call.spot, .text = call.keywords[i]});
        dict.parts.push_back(std::move(call.parts[i]));
    }
    call.keywords.clear();
    call.parts.clear();
    call.parts.push_back(std::move(list));
    call.parts.push_back(std::move(dict));
}

// What cannot be put in order is left out of the tree, once it is told.
void CallBinder::refuse(Expr& call, const Spot& spot, std::string what, std::string remedy) {
    complain(spot, std::move(what), std::move(remedy));
    call.parts.clear();
    call.keywords.clear();
}

// `first`: parameters before it are not a call's to name.
void CallBinder::order(Expr& call, const std::vector<ParameterWord>& parameters, std::size_t first) {
    const std::size_t named = call.keywords.size();
    const std::size_t plain = call.parts.size() - named;
    std::vector<Expr> ordered(parameters.size());
    const auto most = static_cast<std::size_t>(std::count_if(
        parameters.begin(), parameters.end(), [](const ParameterWord& one) { return !one.named; }));
    if (plain > most)
        return refuse(call, call.spot,
                      fmt::format("{}() takes {} arguments but {} were given", call.text, most, plain),
                      most < parameters.size() ? fmt::format("name it: {} = …", parameters[most].name)
                                               : "leave the last ones out");
    for (std::size_t i = 0; i < plain; ++i) ordered[i] = std::move(call.parts[i]);
    std::vector<std::string> known;
    for (std::size_t i = first; i < parameters.size(); ++i) known.push_back(parameters[i].name);
    for (std::size_t i = 0; i < named; ++i) {
        const int place = place_in(known, call.keywords[i]);
        if (place < 0)
            return refuse(
                call, call.parts[plain + i].spot,
                fmt::format("{}() got an unexpected keyword argument '{}'", call.text, call.keywords[i]),
                remedy_for(call.text, call.keywords[i], known));
        Expr& taken = ordered[first + static_cast<std::size_t>(place)];
        if (taken.kind != ExprKind::absent)
            return refuse(
                call, call.spot,
                fmt::format("{}() got multiple values for argument '{}'", call.text, call.keywords[i]),
                "state it once");
        taken = std::move(call.parts[plain + i]);
    }
    call.keywords.clear();
    for (std::size_t i = first; i < parameters.size(); ++i) {
        if (!parameters[i].required || ordered[i].kind != ExprKind::absent) continue;
        complain(call.spot, fmt::format("{}() lacks the argument '{}'", call.text, parameters[i].name),
                 fmt::format("add {} = …", parameters[i].name));
    }
    call.parts = std::move(ordered);
}

void CallBinder::publish(const Expr& call) {
    const bool seam = call.text == "seam", block = call.text == "block", phase = call.text == "phase";
    if (!seam && !block && !phase) return;
    if (call.parts.empty()) return;  // complained about already
    const Expr& name = call.parts[0];
    if (name.kind != ExprKind::text)
        return complain(call.spot, fmt::format("the name of this {} is not a text", call.text),
                        "write it between quotes, so that a fault can be held against it");
    if (phase && place_in(phase_names(), name.text) < 0)
        return complain(name.spot, fmt::format("there is no phase '{}'", name.text),
                        suggestion_for(name.text, phase_names(),
                                       "known are data, forward, backward, reduce, optimizer, checkpoint "
                                       "and serve"));
    auto& published = seam ? program_.seams : block ? program_.blocks : program_.phases;
    const bool known = std::any_of(published.begin(), published.end(),
                                   [&](const Published& one) { return one.name == name.text; });
    if (!known) published.push_back({name.text, name.spot});
}

}  // namespace deadrank::scenarios::program

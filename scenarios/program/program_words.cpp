// scenarios/program/program_words.cpp — How a row of the tables is read, and what has a name without being a
// function.
#include "scenarios/program/program_words.h"

#include <algorithm>

#include "scenarios/model/text.h"

namespace deadrank::scenarios::program {

namespace {

std::string_view name_in(std::string_view signature) { return signature.substr(0, signature.find('(')); }

}  // namespace

std::string BuiltinWord::name() const { return std::string(name_in(signature)); }

namespace {

// (*names…), but not (*, key=None), behind which all are named.
bool takes_any_number(std::string_view signature) {
    return signature.find("(*") != std::string_view::npos && signature.find("(*,") == std::string_view::npos;
}

}  // namespace

bool BuiltinWord::variadic() const { return takes_any_number(signature); }
bool MethodWord::variadic() const { return takes_any_number(signature); }

bool BuiltinWord::keyworded() const { return signature.find("(**") != std::string_view::npos; }

namespace {

std::vector<ParameterWord> parameters_in(std::string_view signature) {
    std::vector<ParameterWord> found;
    const auto open = signature.find('(');
    if (open == std::string_view::npos) return found;
    const std::string_view inside = signature.substr(open + 1, signature.size() - open - 2);
    if (inside.empty()) return found;
    bool named = false;
    for (std::string_view part : parts_of(inside, ',')) {
        while (part.starts_with(' ') || part.starts_with('*')) part.remove_prefix(1);
        named |= part.empty();
        if (part.empty()) continue;
        const auto equals = part.find('=');
        found.push_back({std::string(part.substr(0, equals)), equals == std::string_view::npos, named});
    }
    return found;
}

}  // namespace

std::vector<ParameterWord> BuiltinWord::parameters() const { return parameters_in(signature); }
std::vector<ParameterWord> MethodWord::parameters() const { return parameters_in(signature); }

std::string MethodWord::name() const { return std::string(name_in(signature)); }
bool MethodWord::called() const { return signature.find('(') != std::string_view::npos; }

std::span<const BuiltinWord> builtin_words() {
    static const std::vector<BuiltinWord> words = [] {
        std::vector<BuiltinWord> all;
        for (const auto& part : {value_words(), group_words(), job_words()})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return words;
}

int builtin_place(std::string_view name) {
    const auto words = builtin_words();
    const auto found = std::find_if(words.begin(), words.end(),
                                    [&](const BuiltinWord& word) { return name_in(word.signature) == name; });
    return found == words.end() ? -1 : static_cast<int>(found - words.begin());
}

namespace {

constexpr ConstantWord constants[] = {
    {"rank", "as RANK says; with start = \"own\", before init_process_group, the place in the launch"},
    {"world_size", "as WORLD_SIZE says; likewise"},
    {"node", "the node that the process runs on"},
    {"local_rank", "the index of the device that is meant for it; set_device does not change it"},
    {"step", "the step under way, from 0"},
    {"steps", "how many there are, as the setting says"},
    {"attempt", "0 at first, one more after each restart of the job"},
    {"inf", "beyond all numbers"},
    {"nan", "no number: unlike all others, and itself"},
    {"os.environ",
     "`os.environ`: the process's variables. What is set here is its own until it ends, and goes before all "
     "that "
     "the launcher and [cluster] set: os.environ[\"MASTER_PORT\"] = \"29501\", `in`, `del`, get(), "
     "setdefault(), "
     "pop() and update() are known. What launchers set: see "
     "[environment variables](../environment.md#set-by-launchers)"},
};

}  // namespace

std::span<const ConstantWord> constant_words() { return constants; }

const std::vector<std::string>& phase_names() {
    static const std::vector<std::string> words = {"data",      "forward",    "backward", "reduce",
                                                   "optimizer", "checkpoint", "serve",    "evaluate"};
    return words;
}

const std::vector<std::string>& level_names() {
    static const std::vector<std::string> words = {"debug", "info", "warning", "error"};
    return words;
}

const std::vector<std::string>& type_names() {
    static const std::vector<std::string> words = {"float32",  "float64",       "float16",
                                                   "bfloat16", "float8_e4m3fn", "float8_e5m2",
                                                   "int64",    "int32",         "int8"};
    return words;
}

}  // namespace deadrank::scenarios::program

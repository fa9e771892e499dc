// scenarios/format/reader.h — Reads a table key by key and remembers which keys were asked for: all others
// are refused.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/document.h"
#include "scenarios/model/enum_words.h"

namespace deadrank::scenarios {

// All that is wrong with one file.
class Problems {
public:
    void add(const Place& place, std::string what, std::string remedy = {});
    void add(const Place& place, const Error& error) { add(place, error.what, error.remedy); }
    bool empty() const { return errors_.empty(); }
    std::vector<Error> sorted() const;  // by place

private:
    std::vector<Error> errors_;
};

// All of them as one error: the others follow the first one's remedy, one per line.
Error joined(const std::vector<Error>& errors);

// "did you mean 'step'?", or the list of what is known.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

// Where else this word is known, as a sentence: "'stage' is a setting of zero". Empty if nowhere.
using HintSource = std::function<std::string(std::string_view word)>;

class Reader {
public:
    // `name` is the table's name in messages: "[expect]".
    Reader(const Node& table, std::string name, Problems& problems)
        : table_(table), name_(std::move(name)), problems_(problems) {}

    const Node* find(std::string_view key);   // nullptr when absent; the key counts as asked for
    const Node* table(std::string_view key);  // of [key]
    std::vector<const Node*> tables(std::string_view key);  // of [[key]]
    std::string text(std::string_view key);
    std::string required_text(std::string_view key);
    std::string one_of(std::string_view key, const std::vector<std::string>& known, std::string otherwise);
    template <WordEnum Enum>
    Enum one_of(std::string_view key, Enum otherwise) {
        const std::string word = one_of(key, list_words<Enum>(), std::string(enum_name(otherwise)));
        return read_word<Enum>(word).value_or(otherwise);
    }
    std::vector<std::string> texts(std::string_view key);  // a list, or one text
    std::int64_t integer(std::string_view key, std::int64_t otherwise);
    bool flag(std::string_view key, bool otherwise);
    std::int64_t duration(std::string_view key, std::int64_t otherwise);

    void know(std::string_view key) { asked_.emplace(key); }
    void elsewhere(HintSource who) { elsewhere_ = std::move(who); }  // added where a key is refused
    void renamed(std::string name) { name_ = std::move(name); }     // once it is known what the table is
    void refuse_unknown_keys();                                     // call it last

    const Node& node() const { return table_; }
    const std::string& name() const { return name_; }
    Problems& problems() { return problems_; }

private:
    void complain(const Node& node, std::string_view key, std::string_view wanted, std::string remedy = {});

    const Node& table_;
    std::string name_;
    Problems& problems_;
    std::set<std::string, std::less<>> asked_;
    HintSource elsewhere_;
};

}  // namespace deadrank::scenarios

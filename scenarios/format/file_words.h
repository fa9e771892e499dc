// scenarios/format/file_words.h — The tables of a scenario file with their keys, and what each word of a
// closed list means. The editor's schema, the manual and `explain` are made from them. The keys of [cluster]
// and `when` are in scenarios/model/plan.h, those of workloads and faults in the vocabulary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

struct FileKey {
    enum class Form { text, texts, word, words, ranks, duration, integer };

    std::string name;
    Form form = Form::text;
    std::string what;
    std::vector<std::string> words = {};  // of Form::word and Form::words: what it may be
    bool required = false;
    std::string list =
        {};  // where `words` are listed: "symptoms of the taxonomy"; empty = all of them are named
};

struct FileTable {
    std::string name;  // as its header: "[expect]"; empty for the keys before the first header
    std::string what;
    std::vector<FileKey> keys;
};

// The keys before the first header, then [bug], [release], [expect], [heal], [teach], [parity], and after
// their table those that lie in it, such as [heal.expect].
std::vector<FileTable> file_tables(const Taxonomy& taxonomy);
std::string_view form_name(FileKey::Form form);  // "list of texts"

// One word of a closed list, and what it means.
struct ListedWord {
    std::string_view list, word, says;  // list: "launcher", "phase", "reaction", "call", …
};
const std::vector<ListedWord>& listed_words();

}  // namespace deadrank::scenarios

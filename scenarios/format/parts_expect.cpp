// scenarios/format/parts_expect.cpp — Reads [expect]: what must be noticed, about whom, how soon, and how the
// job must react.
#include <algorithm>
#include <fmt/format.h>

#include "scenarios/format/parts.h"
#include "scenarios/format/setting_reader.h"

namespace deadrank::scenarios {

namespace {

void check_each(Reader& reader, std::string_view key, const std::vector<std::string>& words,
                const std::vector<std::string>& known, std::string_view what) {
    for (const std::string& word : words) {
        if (std::find(known.begin(), known.end(), word) != known.end()) continue;
        reader.problems().add(reader.find(key)->place, fmt::format("there is no {} '{}'", what, word),
                              suggestion(word, known));
    }
}

void read_ranks(Reader& reader, Expectation& expect) {
    for (const std::string_view key : {"rank", "ranks"}) {
        const Node* node = reader.find(key);
        if (!node) continue;
        const Setting setting = read_setting(*node, {std::string(key), ValueType::ranks}, reader.problems());
        if (!expect.ranks.empty() || !setting.selector.empty()) {
            reader.problems().add(node->place,
                                  fmt::format("'{}' in [expect] must be a number or a list", key),
                                  "leave it out where the fault's own ranks are meant");
        } else if (!setting.options.empty()) {
            expect.ranks = setting.options.front().list;
        }
    }
}

// `also`, or a list, names what else is right to report; "none" stresses that all the rest is a false alarm.
void read_others(Reader& reader, Expectation& expect, const std::vector<std::string>& symptoms) {
    expect.also = reader.texts("also");
    check_each(reader, "also", expect.also, symptoms, "symptom");
    std::vector<std::string> others = reader.texts("others");
    const Node* node = reader.find("others");
    if (!node || others == std::vector<std::string>{"none"}) return;
    check_each(reader, "others", others, symptoms, "symptom");
    expect.also.insert(expect.also.end(), others.begin(), others.end());
}

}  // namespace

Expectation read_expectation(Reader& top, const Bug& bug, const Taxonomy& taxonomy) {
    Expectation expect{.symptom = bug.symptom};
    if (!top.find("expect")) {
        top.problems().add(top.node().place, "there is no [expect]", "say what must be noticed");
        return expect;
    }
    const Node* table = top.table("expect");
    if (!table) return expect;
    Reader reader(*table, "[expect]", top.problems());
    const std::vector<std::string> symptoms = ids(taxonomy.symptoms);
    if (reader.find("symptom")) {
        expect.symptom = reader.text("symptom");
        check_each(reader, "symptom", {expect.symptom}, symptoms, "symptom");
    }
    expect.blames = reader.texts("blames");
    check_each(reader, "blames", expect.blames, blame_words(), "field of a blame");
    read_ranks(reader, expect);
    if (reader.find("step")) expect.step = reader.integer("step", 0);
    expect.within = reader.duration("within", expect.within);
    read_others(reader, expect, symptoms);
    expect.reaction = reader.one_of("reaction", reaction_words(), expect.reaction);
    expect.recovers_within = reader.duration("recovers_within", expect.recovers_within);
    expect.unseen = reader.text("unseen");
    reader.refuse_the_rest();
    return expect;
}

}  // namespace deadrank::scenarios

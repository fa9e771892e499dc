// scenarios/format/fault_expression.cpp — The words of the line become the keys of a [[fault]] table, which
// the reader of scenario files then checks.
#include "scenarios/format/fault_expression.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <optional>

#include "scenarios/format/scenario_tables.h"
#include "scenarios/model/kind_ids.h"
#include "scenarios/model/plan.h"
#include "scenarios/model/text.h"

namespace deadrank::scenarios {

namespace {

struct Word {
    std::string text;
    int column = 1;
    bool quoted = false;
};

std::vector<Word> words_of(std::string_view line) {
    std::vector<Word> words;
    std::size_t i = 0;
    while (i < line.size()) {
        if (std::isspace(static_cast<unsigned char>(line[i]))) {
            ++i;
            continue;
        }
        Word word{.text = {}, .column = static_cast<int>(i) + 1};
        while (i < line.size() && !std::isspace(static_cast<unsigned char>(line[i]))) {
            const char quote = line[i];
            if (quote != '"' && quote != '\'') {
                word.text += line[i++];
                continue;
            }
            word.quoted = true;
            for (++i; i < line.size() && line[i] != quote; ++i) word.text += line[i];
            if (i < line.size()) ++i;
        }
        words.push_back(std::move(word));
    }
    return words;
}

bool is_whole(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_duration(std::string_view text) {
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) && !is_whole(text) &&
           parse_value(ValueType::duration, text).has_value();
}

bool is_one_of(std::string_view word, const std::vector<std::string>& known) {
    return std::find(known.begin(), known.end(), word) != known.end();
}

const Parameter* parameter_named(const std::vector<Parameter>& parameters, std::string_view name) {
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const Parameter& one) { return one.name == name; });
    return found == parameters.end() ? nullptr : &*found;
}

// "node1" and "1" alike.
std::string number_of_node(std::string_view word) {
    if (word.starts_with("node")) word.remove_prefix(4);
    return std::string(word);
}

bool is_node_name(std::string_view word) {
    return word.starts_with("node") && word.size() > 4 && std::isdigit(static_cast<unsigned char>(word[4]));
}

class ExpressionReader {
public:
    ExpressionReader(std::string_view line, const Vocabulary& vocabulary)
        : vocabulary_(vocabulary), words_(words_of(line)) {}

    Result<FaultSettings> read() {
        if (words_.empty())
            return refuse(ErrorCode::usage, "the fault is empty", "such as 'kill rank 1 before all_reduce 7'");
        if (!read_verb()) return tl::unexpected(*error_);
        while (next_ < words_.size() && !error_) read_clause();
        if (error_) return tl::unexpected(*error_);
        return checked();
    }

private:
    // ── Words

    const Word* peek() const { return next_ < words_.size() ? &words_[next_] : nullptr; }
    bool next_is(std::string_view text) const { return peek() && peek()->text == text; }

    bool accept(std::string_view text) {
        if (!next_is(text)) return false;
        ++next_;
        return true;
    }

    // The word behind one that asks for it.
    const Word* expect_word(const Word& before, std::string_view what) {
        if (const Word* word = peek()) {
            ++next_;
            return word;
        }
        complain(before, fmt::format("'{}' ends the line", before.text), fmt::format("write {}", what));
        return nullptr;
    }

    void complain(const Word& word, std::string what, std::string remedy) {
        if (!error_) error_ = Error{ErrorCode::usage, std::move(what), std::move(remedy), {"", 1, word.column}};
    }

    // ── The table

    Node node_of(const Word& word, const Parameter& parameter) const {
        Node node;
        node.kind = Node::Kind::text;
        node.text = word.text;
        node.place = {"", 1, word.column};
        if (word.quoted || parameter.type == ValueType::text) return node;
        if (parameter.type == ValueType::boolean && (word.text == "true" || word.text == "false")) {
            node.kind = Node::Kind::boolean;
            node.integer = word.text == "true";
        } else if (counts_members(parameter.type) && word.text.find(',') != std::string::npos) {
            node.kind = Node::Kind::list;
            for (const std::string_view part : parts_of(word.text, ','))
                node.items.push_back(node_of({std::string(part), word.column}, parameter));
        } else if (std::int64_t number = 0; read_number(word.text, number)) {
            node.kind = Node::Kind::integer;
            node.integer = number;
        }
        return node;
    }

    static bool read_number(std::string_view text, std::int64_t& number) {
        const auto parsed = parse_value(ValueType::integer, text);
        if (!parsed || text.find("..") != std::string_view::npos) return false;
        number = parsed->number;
        return true;
    }

    void put(std::vector<Member>& table, const std::string& key, Node value, const Word& word) {
        const Place place{"", 1, word.column};
        for (const Member& member : table) {
            if (member.key != key) continue;
            return complain(word, fmt::format("'{}' is said twice", key), "keep one of them");
        }
        value.place = place;
        table.push_back({key, place, std::move(value)});
    }

    void put_parameter(const std::string& name, const Word& value) {
        const Parameter* parameter = parameter_named(kind_->parameters, name);
        if (!parameter) {
            std::vector<std::string> known;
            for (const Parameter& one : kind_->parameters) known.push_back(one.name);
            return complain(value, fmt::format("{} has no '{}'", kind_->name, name), suggestion(name, known));
        }
        put(parameters_, name, node_of(value, *parameter), value);
    }

    void put_when(const std::string& name, const Word& value) {
        put(when_, name, node_of(value, *parameter_named(trigger_parameters(), name)), value);
    }

    // ── Grammar

    bool read_verb() {
        const FaultVerb* longest = nullptr;
        std::size_t length = 0;
        for (const FaultVerb& verb : fault_verbs()) {
            const auto parts = parts_of(verb.words, ' ');
            if (parts.size() > words_.size() || parts.size() <= length) continue;
            const bool same = std::equal(parts.begin(), parts.end(), words_.begin(),
                                         [](std::string_view part, const Word& word) { return part == word.text; });
            if (same) longest = &verb, length = parts.size();
        }
        const std::string name = longest ? id_of(longest->kind) : words_.front().text;
        kind_ = vocabulary_.fault(name);
        verb_ = words_.front();
        if (!kind_) {
            std::vector<std::string> known = names_of(vocabulary_.faults);
            for (const FaultVerb& verb : fault_verbs()) known.emplace_back(verb.words);
            const std::string near = nearest(name, known);
            complain(words_.front(), fmt::format("there is no fault '{}'", name),
                     near.empty() ? "kill, skip, delay, flip, slow, …: deadrank explain faults lists all"
                                  : fmt::format("did you mean '{}'?", near));
            return false;
        }
        next_ = std::max<std::size_t>(length, 1);
        if (longest && longest->words == "crash") put_parameter("signal", {"11", verb_.column});
        return true;
    }

    bool is_call_word(const Word& word) const { return is_one_of(word.text, call_words()); }

    bool is_phase(const Word& word) const {
        return is_one_of(word.text, parameter_named(trigger_parameters(), "phase")->choices);
    }

    // "all_reduce 7": the seventh.
    void read_call(const Word& call) {
        put_when("before", call);
        if (peek() && is_whole(peek()->text)) put_when("nth", words_[next_++]);
    }

    // "backward 3": the third.
    void read_phase(const Word& phase) {
        put_when("phase", phase);
        if (peek() && is_whole(peek()->text)) put_when("nth", words_[next_++]);
    }

    void read_members(const Word& word, const char* parameter) {
        const Word* first = expect_word(word, "a number, a list such as 1,3, or any");
        if (!first) return;
        Word members = *first;
        if (parameter == std::string_view("node")) {
            std::string numbers;
            for (const std::string_view part : parts_of(first->text, ','))
                numbers += (numbers.empty() ? "" : ",") + number_of_node(part);
            members.text = numbers;
        }
        if (members.text == "any" && peek() && is_whole(peek()->text)) members.text += " " + words_[next_++].text;
        put_parameter(parameter, members);
    }

    // "node0-node1": the links between the two; "node0": all of its links.
    void put_nodes(const Word& names) {
        Word list{"", names.column};
        for (const std::string_view part : parts_of(names.text, '-'))
            list.text += (list.text.empty() ? "" : ",") + number_of_node(part);
        put_parameter("node", list);
    }

    void read_link(const Word& word) {
        if (const Word* nodes = expect_word(word, "two nodes, as in node0-node1")) put_nodes(*nodes);
    }

    // Behind "at", "in", "from", "during": a step, a phase, a call, a time, or the start.
    void read_moment(const Word& preposition) {
        const Word* word = expect_word(preposition, "step N, a phase, a call or a time");
        if (!word) return;
        if (word->text == "step") {
            if (const Word* step = expect_word(*word, "the step's number, counted from 0")) put_when("step", *step);
        } else if (word->text == "start") {
            put_when("start", {"true", word->column});
        } else if (is_phase(*word)) {
            read_phase(*word);
        } else if (is_call_word(*word)) {
            read_call(*word);
        } else if (is_duration(word->text)) {
            put_when("at", *word);
        } else {
            std::vector<std::string> known = parameter_named(trigger_parameters(), "phase")->choices;
            known.insert(known.end(), {"step", "start"});
            known.insert(known.end(), call_words().begin(), call_words().end());
            complain(*word, fmt::format("'{}' is no moment", word->text), suggestion(word->text, known));
        }
    }

    void read_duration(const Word& word) {
        for (const Parameter& parameter : kind_->parameters) {
            if (parameter.type == ValueType::duration) return put_parameter(parameter.name, word);
        }
        complain(word, fmt::format("{} takes no duration", kind_->name), "for 20s says when it ends");
    }

    void read_for(const Word& word) {
        const Word* time = expect_word(word, "a duration, such as 20s");
        if (!time) return;
        if (parameter_named(kind_->parameters, "for"))
            put_parameter("for", *time);
        else
            put_when("lasts", *time);
    }

    void read_key_value(const Word& word) {
        const auto equals = word.text.find('=');
        const std::string key = word.text.substr(0, equals);
        const Word value{word.text.substr(equals + 1), word.column, word.quoted};
        if (kind_->name == FaultId::set_env && !parameter_named(kind_->parameters, key)) {
            put_parameter("name", {key, word.column, true});
            put_parameter("value", {value.text, word.column, true});
        } else if (parameter_named(trigger_parameters(), key) && !parameter_named(kind_->parameters, key)) {
            put_when(key, value);
        } else {
            put_parameter(key, value);
        }
    }

    // A word that is no keyword: its form says what it is.
    void read_value(const Word& word) {
        const bool factor = word.text.starts_with('x') && word.text.size() > 1;
        if (is_call_word(word)) return read_call(word);
        if (is_phase(word)) return read_phase(word);
        if (is_node_name(word.text) && parameter_named(kind_->parameters, "node")) return put_nodes(word);
        if (factor && std::isdigit(static_cast<unsigned char>(word.text[1])))
            return put_parameter("factor", {word.text.substr(1) + "x", word.column});
        if (word.text.find('=') != std::string::npos) return read_key_value(word);
        if (is_duration(word.text)) return read_duration(word);
        if (parameter_named(kind_->parameters, word.text)) {
            if (const Word* value = expect_word(word, "its value")) put_parameter(word.text, *value);
            return;
        }
        if (parameter_named(kind_->parameters, "name") && !is_whole(word.text))
            return put_parameter("name", {word.text, word.column, true});
        std::vector<std::string> known = {"rank", "node", "before", "of",    "at",     "in",   "from",
                                          "until", "for",  "on",     "link", "always", "step", "after"};
        for (const Parameter& parameter : kind_->parameters) known.push_back(parameter.name);
        known.insert(known.end(), call_words().begin(), call_words().end());
        complain(word, fmt::format("'{}' means nothing here", word.text), suggestion(word.text, known));
    }

    void read_clause() {
        const Word word = words_[next_++];
        if (word.text == "rank" || word.text == "ranks") return read_members(word, "rank");
        if (word.text == "node" || word.text == "nodes") return read_members(word, "node");
        if (word.text == "link" || word.text == "links") return read_link(word);
        if (word.text == "before" || word.text == "of") {
            if (peek() && (peek()->text.starts_with("rank") || peek()->text.starts_with("node"))) return;
            const Word* call = expect_word(word, "a call, such as all_reduce");
            if (!call) return;
            // Behind "before" a seam or a block of the program may stand.
            if (!is_call_word(*call) && (word.text == "of" || !nearest(call->text, call_words()).empty()))
                return complain(*call, fmt::format("there is no call '{}'", call->text),
                                suggestion(call->text, call_words()));
            return read_call(*call);
        }
        if (word.text == "at" || word.text == "in" || word.text == "during" || word.text == "from")
            return read_moment(word);
        if (word.text == "step") {
            if (const Word* step = expect_word(word, "the step's number, counted from 0"))
                put_when("step", *step);
            return;
        }
        if (word.text == "until") {
            accept("step");
            if (const Word* step = expect_word(word, "step N")) put_when("until_step", *step);
            return;
        }
        if (word.text == "for") return read_for(word);
        if (word.text == "on") {
            if (const Word* name = expect_word(word, "a communicator, such as tp")) put_when("comm", *name);
            return;
        }
        if (word.text == "always" || word.text == "every") return put_when("always", {"true", word.column});
        read_value(word);
    }

    // ── What the reader of files says of it

    Result<FaultSettings> checked() {
        const Place place{"", 1, verb_.column};
        if (parameter_named(kind_->parameters, "rank") && !has("rank"))
            put_parameter("rank", {"any", verb_.column});
        Node table{.kind = Node::Kind::table, .place = place};
        Node kind{.kind = Node::Kind::text, .place = place, .text = kind_->name};
        table.members.push_back({"kind", place, std::move(kind)});
        for (Member& member : parameters_) table.members.push_back(std::move(member));
        if (!when_.empty()) {
            Node when{.kind = Node::Kind::table, .place = place};
            when.members = std::move(when_);
            table.members.push_back({"when", place, std::move(when)});
        }
        Node list{.kind = Node::Kind::list, .place = place};
        list.items.push_back(std::move(table));
        Node top{.kind = Node::Kind::table, .place = place};
        top.members.push_back({"fault", place, std::move(list)});
        Problems problems;
        Reader reader(top, "the fault", problems);
        auto faults = read_faults(reader, vocabulary_, nullptr);
        if (!problems.empty()) {
            Error first = problems.sorted().front();
            first.code = ErrorCode::usage;
            return tl::unexpected(std::move(first));
        }
        return std::move(faults.front());
    }

    bool has(std::string_view key) const {
        return std::any_of(parameters_.begin(), parameters_.end(),
                           [&](const Member& member) { return member.key == key; });
    }

    const Vocabulary& vocabulary_;
    std::vector<Word> words_;
    std::size_t next_ = 0;
    const Kind* kind_ = nullptr;
    Word verb_;
    std::vector<Member> parameters_, when_;
    std::optional<Error> error_;
};

}  // namespace

const std::vector<FaultVerb>& fault_verbs() {
    static const std::vector<FaultVerb> verbs = {
        {"kill", FaultId::kill_rank, "kill rank 1 before all_reduce 7"},
        {"crash", FaultId::kill_rank, "crash rank 1 in backward"},
        {"exit", FaultId::exit_rank, "exit rank 2 at step 3"},
        {"stop", FaultId::stop_rank, "stop rank 0 before barrier"},
        {"pause", FaultId::pause_rank, "pause rank 1 for 90s at step 4"},
        {"slow", FaultId::slow_rank, "slow rank 3 x4 from step 5"},
        {"preempt", FaultId::preempt_job, "preempt at step 5"},
        {"lose", FaultId::lose_node, "lose node 1 at step 5"},
        {"set", FaultId::set_env, "set NCCL_ALGO=Ring rank 0"},
        {"unset", FaultId::unset_env, "unset MASTER_PORT rank 1"},
        {"swap", FaultId::swap_ranks, "swap ranks 1,2"},
        {"skip", FaultId::skip_collective, "skip all_reduce 7 rank 1"},
        {"swap call", FaultId::reorder_collective, "swap call all_reduce 3 rank 1"},
        {"resize", FaultId::resize_collective, "resize all_reduce 7 by -1 rank 1"},
        {"retype", FaultId::retype_collective, "retype all_reduce 7 to f16 rank 1"},
        {"delay", FaultId::delay_collective, "delay all_reduce 7 30s rank 1"},
        {"fail", FaultId::fail_call, "fail all_reduce 7 rank 1"},
        {"hang", FaultId::hang_kernel, "hang all_reduce 7 rank 1"},
        {"flip", FaultId::flip_bits, "flip bit 30 of all_gather 3 rank 0"},
        {"disk full", FaultId::fill_storage, "disk full at checkpoint"},
        {"slow disk", FaultId::slow_storage, "slow disk x100 at checkpoint"},
        {"tear write", FaultId::tear_write, "tear write at checkpoint"},
        {"lose write", FaultId::lose_write, "lose write at checkpoint"},
        {"corrupt checkpoint", FaultId::corrupt_checkpoint, "corrupt checkpoint at step 3"},
        {"cut", FaultId::drop_link, "cut link node0-node1 for 20s at step 2"},
        {"slow link", FaultId::slow_link, "slow link node0-node1 x10 from step 2"},
        {"partition", FaultId::partition, "partition node 1 at step 2"},
        {"limit memory", FaultId::limit_memory, "limit memory bytes=1GiB rank 0"},
        {"throttle", FaultId::throttle_device, "throttle rank 0 x3 from step 2"},
        {"xid", FaultId::device_fault, "xid xid=79 rank 0 at step 2"},
    };
    return verbs;
}

Result<FaultSettings> read_fault_expression(std::string_view line, const Vocabulary& vocabulary) {
    return ExpressionReader(line, vocabulary).read();
}

}  // namespace deadrank::scenarios

// runners/promises/promise_file.cpp — Reads tables key by key; unknown keys are refused with their place.
#include "runners/promises/promise_file.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "runners/backends/process/scratch.h"
#include "scenarios/format/reader.h"

namespace deadrank::runners::promises {

namespace fs = std::filesystem;
using scenarios::Node;
using scenarios::Problems;
using scenarios::Reader;
using scenarios::Result;

namespace {

const std::vector<ActionKind> worker_actions = {
    ActionKind::kill, ActionKind::kill_after, ActionKind::raise,      ActionKind::stop,     ActionKind::wait,
    ActionKind::slow, ActionKind::corrupt,    ActionKind::jump_clock, ActionKind::fill_disk};
const std::vector<ActionKind> other_actions = {ActionKind::kill, ActionKind::cut, ActionKind::tear};

double number_of(Reader& reader, std::string_view key, double otherwise) {
    const Node* node = reader.find(key);
    if (!node) return otherwise;
    double value = 0;
    const char* end = node->text.data() + node->text.size();
    const bool whole = node->is(Node::Kind::integer), broken = node->is(Node::Kind::fraction);
    if ((whole || broken) && std::from_chars(node->text.data(), end, value).ec == std::errc() && value >= 0)
        return value;
    reader.problems().add(node->place, fmt::format("'{}' of {} is no number of seconds", key, reader.name()),
                          "a number from 0 on");
    return otherwise;
}

std::map<std::string, std::string> words_of(Reader& reader, std::string_view key) {
    std::map<std::string, std::string> words;
    const Node* node = reader.table(key);
    if (!node) return words;
    for (const auto& member : node->members) {
        if (member.value.is(Node::Kind::text)) {
            words[member.key] = member.value.text;
        } else {
            reader.problems().add(member.value.place, fmt::format("'{}' is not a text", member.key),
                                  "put it in quotes");
        }
    }
    return words;
}

void check_words(const Reader& reader, std::string_view key, const std::vector<std::string>& words,
                 const std::vector<std::string>& known, Problems& problems) {
    for (const std::string& word : words) {
        if (std::find(known.begin(), known.end(), word) != known.end()) continue;
        const Node* node = nullptr;
        for (const auto& member : reader.node().members) {
            if (member.key == key) node = &member.value;
        }
        problems.add(node ? node->place : reader.node().place, fmt::format("there is no '{}'", word),
                     scenarios::suggestion(word, known));
    }
}

// Refused if it is none of these words.
template <scenarios::WordEnum Enum>
Enum known_word(const Reader& reader, std::string_view key, const std::string& word,
                const std::vector<std::string>& known, Problems& problems) {
    check_words(reader, key, {word}, known, problems);
    return scenarios::read_word<Enum>(word).value_or(Enum{});
}

FaultAction action_of(const Node& node, Problems& problems) {
    Reader reader(node, "[[fault.action]]", problems);
    FaultAction action;
    const std::string on = reader.required_text("on");
    const std::size_t blank = on.find(' ');
    action.on =
        known_word<Target>(reader, "on", on.substr(0, blank), scenarios::list_words<Target>(), problems);
    if (blank != std::string::npos) action.number = std::atoi(on.c_str() + blank + 1);
    const auto& deeds = action.on == Target::worker ? worker_actions : other_actions;
    action.does = known_word<ActionKind>(reader, "does", reader.required_text("does"),
                                         scenarios::words_of(deeds), problems);
    action.phase =
        reader.one_of("phase", {"restore", "forward", "collective", "optimizer", "save"}, "forward");
    action.step = static_cast<int>(reader.integer("step", action.step));
    action.life = static_cast<int>(reader.integer("life", action.life));
    action.seconds = number_of(reader, "seconds", 0);
    action.back = number_of(reader, "back", action.back);
    reader.refuse_unknown_keys();
    return action;
}

SubjectProcess process_of(const Node& node, Problems& problems) {
    Reader reader(node, "[[process]]", problems);
    SubjectProcess process;
    process.name = reader.required_text("name");
    process.role = reader.one_of("role", Role::worker);
    process.command = reader.texts("command");
    if (process.command.empty())
        problems.add(node.place, "[[process]] lacks a command", "add command = [\"{python}\", \"…\"]");
    process.environment = words_of(reader, "environment");
    process.node = static_cast<int>(reader.integer("node", 0));
    process.service = reader.flag("service", false);
    process.again = reader.one_of("again", StartAgain::never);
    reader.refuse_unknown_keys();
    return process;
}

Promise promise_of(const Node& node, const std::vector<std::string>& faults, Problems& problems) {
    Reader reader(node, "[[promise]]", problems);
    Promise promise;
    promise.faults = reader.texts("faults");
    check_words(reader, "faults", promise.faults, faults, problems);
    promise.text = reader.required_text("text");
    promise.source = reader.required_text("source");
    const std::vector<std::string> asks = reader.texts("asks");
    for (const std::string& ask : asks)
        promise.asks.push_back(known_word<Ask>(reader, "asks", ask, scenarios::list_words<Ask>(), problems));
    if (asks.empty()) problems.add(node.place, "[[promise]] asks for nothing", "add asks = [\"finishes\"]");
    promise.within = number_of(reader, "within", 0);
    promise.redone = static_cast<int>(reader.integer("redone", 0));
    reader.refuse_unknown_keys();
    return promise;
}

void read_subject(Reader& top, const std::vector<std::string>& faults, PromiseSubject& subject) {
    Problems& problems = top.problems();
    subject.framework = top.required_text("framework");
    subject.says = top.required_text("says");
    subject.package = top.text("package");
    subject.packages = top.texts("packages");
    subject.programs = top.texts("programs");
    subject.unplayed = top.text("unplayed");
    subject.workers = static_cast<int>(top.integer("workers", subject.workers));
    subject.steps = static_cast<int>(top.integer("steps", subject.steps));
    subject.timeout = number_of(top, "timeout", subject.timeout);
    subject.quiet = number_of(top, "quiet", subject.quiet);
    subject.limit = number_of(top, "limit", subject.limit);
    for (const Node* node : top.tables("process")) subject.processes.push_back(process_of(*node, problems));
    for (const Node* node : top.tables("promise"))
        subject.promises.push_back(promise_of(*node, faults, problems));
    subject.unpromised = words_of(top, "unpromised");
    for (const auto& [fault, why] : subject.unpromised) {
        if (std::find(faults.begin(), faults.end(), fault) == faults.end())
            problems.add(top.node().place, fmt::format("[unpromised] names no fault: '{}'", fault),
                         scenarios::suggestion(fault, faults));
    }
    if (subject.processes.empty() && subject.unplayed.empty())
        problems.add(top.node().place, "the subject starts nothing",
                     "add a [[process]], or say why: unplayed");
}

Result<std::vector<PromiseSubject>> subjects_below(const fs::path& home,
                                                   const std::vector<std::string>& faults) {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(home / "subjects", ignored)) {
        if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<PromiseSubject> subjects;
    for (const fs::path& file : files) {
        const auto text = scenarios::read_text(file);
        if (!text) return tl::unexpected(text.error());
        auto subject = parse_subject(*text, file.string(), faults);
        if (!subject) return tl::unexpected(subject.error());
        subjects.push_back(std::move(*subject));
    }
    return subjects;
}

}  // namespace

bool PromisedFault::needs_network() const {
    return std::any_of(actions.begin(), actions.end(),
                       [](const FaultAction& action) { return action.on == Target::link; });
}

Result<std::vector<PromisedFault>> parse_faults(std::string_view toml, const std::string& file) {
    const auto document = scenarios::parse_document(toml, file);
    if (!document) return tl::unexpected(document.error());
    Problems problems;
    Reader top(*document, "the file", problems);
    std::vector<PromisedFault> faults;
    for (const Node* node : top.tables("fault")) {
        Reader reader(*node, "[[fault]]", problems);
        PromisedFault fault{reader.required_text("name"), reader.required_text("says"), {}};
        for (const Node* action : reader.tables("action"))
            fault.actions.push_back(action_of(*action, problems));
        reader.refuse_unknown_keys();
        faults.push_back(std::move(fault));
    }
    top.refuse_unknown_keys();
    if (!problems.empty()) return tl::unexpected(scenarios::joined(problems.sorted()));
    return faults;
}

Result<PromiseSubject> parse_subject(std::string_view toml, const std::string& file,
                                     const std::vector<std::string>& faults) {
    const auto document = scenarios::parse_document(toml, file);
    if (!document) return tl::unexpected(document.error());
    Problems problems;
    Reader top(*document, "the subject", problems);
    PromiseSubject subject;
    subject.name = fs::path(file).stem().string();
    read_subject(top, faults, subject);
    top.refuse_unknown_keys();
    if (!problems.empty()) return tl::unexpected(scenarios::joined(problems.sorted()));
    return subject;
}

Result<PromiseBook> load_promises() {
    const auto local = local_home();
    if (!local) return tl::unexpected(local.error());
    PromiseBook book;
    book.home = local->parent_path().parent_path() / "promises";
    const fs::path file = book.home / "faults.toml";
    const auto text = scenarios::read_text(file);
    if (!text) return tl::unexpected(text.error());
    auto faults = parse_faults(*text, file.string());
    if (!faults) return tl::unexpected(faults.error());
    book.faults = std::move(*faults);
    std::vector<std::string> names;
    for (const PromisedFault& fault : book.faults) names.push_back(fault.name);
    auto subjects = subjects_below(book.home, names);
    if (!subjects) return tl::unexpected(subjects.error());
    book.subjects = std::move(*subjects);
    return book;
}

}  // namespace deadrank::runners::promises

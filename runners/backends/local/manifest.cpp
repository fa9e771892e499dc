// runners/backends/local/manifest.cpp — Reads the tables key by key; unknown keys are refused with their
// place.
#include "runners/backends/local/manifest.h"

#include <algorithm>
#include <fmt/format.h>
#include <regex>

#include "runners/backends/process/scratch.h"
#include "scenarios/format/reader.h"
#include "scenarios/model/value.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using scenarios::Node;
using scenarios::Problems;
using scenarios::Reader;

namespace {

const std::vector<std::string> known_fields = {"rank", "step", "loss", "digest"};

std::map<std::string, std::string> texts_of(Reader& reader, std::string_view key) {
    std::map<std::string, std::string> texts;
    const Node* node = reader.table(key);
    if (!node) return texts;
    for (const auto& member : node->members) {
        if (member.value.is(Node::Kind::text)) {
            texts[member.key] = member.value.text;
        } else {
            reader.problems().add(member.value.place, fmt::format("'{}' in [{}] is no text", member.key, key),
                                  "put it in quotes");
        }
    }
    return texts;
}

void read_arguments(Reader& reader, Manifest& manifest) {
    const Node* node = reader.table("arguments");
    if (!node) return;
    for (const auto& member : node->members) {
        Argument& argument = manifest.arguments[member.key];
        argument = {};
        if (member.value.is(Node::Kind::text)) {
            argument.words = member.value.text;
        } else if (member.value.is(Node::Kind::table)) {
            for (const auto& by : member.value.members) argument.by_value[by.key] = by.value.text;
        } else {
            reader.problems().add(member.value.place,
                                  fmt::format("'{}' in [arguments] says nothing", member.key),
                                  "write \"--option {}\", or { value = \"--option\" }");
        }
    }
}

void read_start(Reader& top, Manifest& manifest) {
    const Node* node = top.table("start");
    if (!node) {
        if (manifest.command.empty())
            top.problems().add(top.node().place, "there is no [start]", "state command = [\"train.py\"]");
        return;
    }
    Reader start(*node, "[start]", top.problems());
    start.know("command");
    if (start.node().find("command")) manifest.command = start.texts("command");
    if (manifest.command.empty())
        start.problems().add(node->place, "[start] lacks a command", "add command = [\"train.py\"]");
    const std::string usual = manifest.starts == Starts::itself ? "itself" : "ranks";
    manifest.starts =
        start.one_of("starts", {"ranks", "itself"}, usual) == "itself" ? Starts::itself : Starts::ranks;
    for (auto& [name, value] : texts_of(start, "environment")) manifest.environment[name] = value;
    start.refuse_unknown_keys();
}

void read_needs(Reader& top, Manifest& manifest) {
    const Node* node = top.table("needs");
    if (!node) return;
    for (auto& [module, version] : texts_of(top, "needs")) {
        auto& needs = manifest.needs;
        std::erase_if(needs, [&, name = module](const Needed& one) { return one.module == name; });
        needs.push_back({module, version == "*" ? "" : version});
    }
}

// A promise without its source is a claim of ours.
void read_promises(Reader& top, Manifest& manifest) {
    const Node* node = top.table("compares");
    if (!node) return;
    for (auto& [setting, source] : texts_of(top, "compares")) {
        if (source.empty())
            top.problems().add(node->place, fmt::format("'{}' in [compares] has no source", setting),
                               "say where the framework's documentation promises it");
        manifest.compares[setting] = source;
    }
}

void check_pattern(const Reader& read, const Manifest& manifest, Problems& problems) {
    if (manifest.step.empty()) return;
    const scenarios::Place place = read.node().place;
    try {
        const std::regex pattern(manifest.step);
        if (pattern.mark_count() != manifest.fields.size()) {
            problems.add(place,
                         fmt::format("the pattern of steps has {} groups, and fields name {}",
                                     pattern.mark_count(), manifest.fields.size()),
                         "one pair of brackets for each field, in their order");
        }
    } catch (const std::regex_error& wrong) {
        problems.add(place, fmt::format("'{}' is not a pattern: {}", manifest.step, wrong.what()),
                     "an ECMAScript regular expression, in single quotes");
    }
    for (const std::string& field : manifest.fields) {
        if (std::count(known_fields.begin(), known_fields.end(), field) > 0) continue;
        problems.add(place, fmt::format("there is no field '{}'", field),
                     scenarios::suggestion(field, known_fields));
    }
}

void read_reading(Reader& top, Manifest& manifest) {
    const Node* node = top.table("read");
    if (!node) return;
    Reader read(*node, "[read]", top.problems());
    manifest.hook = read.flag("hook", manifest.hook);
    if (read.node().find("step")) manifest.step = read.text("step");
    if (read.node().find("fields")) manifest.fields = read.texts("fields");
    if (read.node().find("groups")) manifest.groups = read.text("groups");
    if (read.node().find("samples")) manifest.samples = read.text("samples");
    if (!manifest.samples.empty() && manifest.samples != "shared")
        top.problems().add(
            read.node().find("samples")->place,
            fmt::format("samples = \"{}\" says nothing", manifest.samples),
            "write \"shared\" where the loaders share the samples among the ranks, or nothing");
    for (auto& [name, target] : texts_of(read, "seams")) manifest.seams[name] = target;
    read.know("step"), read.know("fields"), read.know("groups"), read.know("samples");
    check_pattern(read, manifest, top.problems());
    read.refuse_unknown_keys();
}

void read_limits(Reader& top, Manifest& manifest) {
    const Node* node = top.table("limits");
    if (!node) return;
    Reader limits(*node, "[limits]", top.problems());
    const auto time = [&](std::string_view key, results::Time& value) {
        value = results::Time(limits.duration(key, value.count()));
    };
    time("timeout", manifest.timeout);
    time("start", manifest.start);
    time("quiet", manifest.quiet);
    time("run", manifest.limit);
    if (const std::string disk = limits.text("disk"); !disk.empty()) {
        const auto bytes = scenarios::parse_value(scenarios::ValueType::bytes, disk);
        if (bytes) manifest.disk = manifest.largest_file = bytes->number;
        if (!bytes) top.problems().add(limits.node().place, bytes.error());
    }
    limits.refuse_unknown_keys();
}

scenarios::Result<Manifest> parse(std::string_view toml, const fs::path& file, bool may_be_like_another);

scenarios::Result<Manifest> load(const fs::path& file, bool may_be_like_another) {
    const auto text = scenarios::read_text(file);
    if (!text) return tl::unexpected(text.error());
    return parse(*text, file, may_be_like_another);
}

// `like` names a manifest of the same directory that has no `like` itself: its values are the defaults of
// this one.
Manifest begun(Reader& top, const fs::path& file, bool may_be_like_another) {
    if (!may_be_like_another) return {};
    const std::string other = top.text("like");
    if (other.empty()) return {};
    auto base = load(file.parent_path() / (other + ".toml"), false);
    if (base) {
        base->usual.clear();
        base->compares.clear();  // another framework's promises
        return std::move(*base);
    }
    top.problems().add(top.node().find("like")->place,
                       fmt::format("there is no manifest '{}' to be like: {}", other, base.error().text()),
                       "name one of the same directory, without .toml");
    return {};
}

void read_top(Reader& top, Manifest& manifest) {
    const Node* format = top.find("format");
    if (!format || format->integer != 1)
        top.problems().add(top.node().place, "this is no manifest of format 1", "begin with format = 1");
    const auto text = [&](const char* key, std::string& value) {
        if (top.node().find(key)) value = top.text(key);
        top.know(key);
    };
    text("framework", manifest.framework);
    text("version_of", manifest.version_of);
    text("says", manifest.says);
    if (manifest.framework.empty()) manifest.framework = manifest.name;
    if (top.node().find("plays")) manifest.plays = top.texts("plays");
    manifest.usual = top.texts("usual");
    top.know("plays");
    read_start(top, manifest);
    read_needs(top, manifest);
    read_promises(top, manifest);
    read_arguments(top, manifest);
    if (const Node* most = top.table("at_most")) {
        for (const auto& member : most->members) manifest.at_most[member.key] = member.value.integer;
    }
    read_reading(top, manifest);
    read_limits(top, manifest);
    top.refuse_unknown_keys();
}

scenarios::Result<Manifest> parse(std::string_view toml, const fs::path& file, bool may_be_like_another) {
    const auto document = scenarios::parse_document(toml, file.string());
    if (!document) return tl::unexpected(document.error());
    Problems problems;
    Reader top(*document, "the manifest", problems);
    Manifest manifest = begun(top, file, may_be_like_another);
    manifest.name = file.stem().string();
    manifest.directory = fs::absolute(file).parent_path();
    read_top(top, manifest);
    if (!problems.empty()) return tl::unexpected(scenarios::joined(problems.sorted()));
    return manifest;
}

}  // namespace

scenarios::Result<Manifest> parse_manifest(std::string_view toml, const fs::path& file) {
    return parse(toml, file, true);
}

scenarios::Result<Manifest> load_manifest(const fs::path& file) { return load(file, true); }

scenarios::Result<std::vector<Manifest>> shipped_subjects() {
    const auto home = local_home();
    if (!home) return tl::unexpected(home.error());
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(*home / "subjects", ignored)) {
        if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<Manifest> subjects;
    for (const fs::path& file : files) {
        auto one = load_manifest(file);
        if (!one) return tl::unexpected(one.error());
        subjects.push_back(std::move(*one));
    }
    return subjects;
}

scenarios::Result<Manifest> subject_named(const std::string& text) {
    if (text.ends_with(".toml")) return load_manifest(text);
    auto shipped = shipped_subjects();
    if (!shipped) return tl::unexpected(shipped.error());
    std::vector<std::string> names;
    for (Manifest& one : *shipped) {
        if (one.name == text) return std::move(one);
        names.push_back(one.name);
    }
    return scenarios::refuse(scenarios::ErrorCode::usage, fmt::format("there is no subject '{}'", text),
                             scenarios::suggestion(text, names) + "; or name a manifest of yours, FILE.toml");
}

Manifest typed_subject(const std::vector<std::string>& command) {
    Manifest manifest;
    manifest.name = fs::path(command.front()).filename().string();
    manifest.framework = manifest.name;
    manifest.says = "as it was typed";
    manifest.directory = fs::current_path();
    manifest.starts = Starts::itself;
    manifest.command = command;
    manifest.timeout = results::Time(0);
    manifest.largest_file = 0;  // somebody's own: Ray's shared memory, or a checkpoint of any size
    return manifest;
}

}  // namespace deadrank::runners

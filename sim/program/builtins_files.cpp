// sim/program/builtins_files.cpp — What a program saves, its other files, and folders. Texts: Python 3 and
// torch 2.11.
#include <algorithm>
#include <fmt/format.h>

#include "sim/program/builtins.h"
#include "sim/program/program_tensor.h"

namespace deadrank::sim::program {

namespace {

// As Python and torch say what the disk answered.
void check_disk(Code answer, const std::string& path) {
    switch (answer) {
        case Code::ok:
            return;
        case Code::not_found:
            raise("FileNotFoundError", fmt::format("[Errno 2] No such file or directory: '{}'", path));
        case Code::no_space:
            raise("OSError", fmt::format("[Errno 28] No space left on device: '{}'", path));
        case Code::corrupt:
            raise("RuntimeError",
                  "PytorchStreamReader failed reading zip archive: failed finding central directory");
        default:
            raise("OSError", fmt::format("[Errno 5] Input/output error: '{}'", path));
    }
}

// ── Folders. A program that makes none finds each of its folders there.

bool is_there(Interpreter& rank, const std::string& path) {
    const auto found = rank.world().storage().list(path);
    return !found.empty() && found.front() == path;
}

// The folder in which a path is; empty where it is always there: "shared", "node0", the root.
std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos || slash == 0) return "";
    const std::string folder = path.substr(0, slash);
    const bool own_disk = folder.starts_with("node") && folder.size() > 4 &&
                          folder.find_first_not_of("0123456789", 4) == std::string::npos;
    return folder == "shared" || own_disk ? "" : folder;
}

// One that was made, or in which something lies.
bool is_folder(Interpreter& rank, const std::string& path) {
    return folder_of(path + "/").empty() || !rank.world().storage().list(path + "/").empty();
}

bool lacks_its_folder(Interpreter& rank, const std::string& path) {
    const std::string folder = folder_of(path);
    return rank.program().makes_folders && !folder.empty() && !is_folder(rank, folder);
}

[[noreturn]] void refuse_existing(const std::string& path) {
    raise("FileExistsError", fmt::format("[Errno 17] File exists: '{}'", path));
}

void refuse_folder(Interpreter& rank, const std::string& path) {
    if (is_folder(rank, path) && !is_there(rank, path))
        raise("IsADirectoryError", fmt::format("[Errno 21] Is a directory: '{}'", path));
}

std::string path_in(const Value& value) {
    std::string path = text_in(value, "a path");
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
}

// The last one is made only where it is not there at that moment, as mkdir does; those above, as needed.
Value makedirs(Interpreter& rank, Arguments& given) {
    const std::string path = path_in(given[0]);
    const bool may_exist = stated(given[1]) && truth(given[1]);
    std::vector<std::string> above;
    for (std::string folder = folder_of(path); !folder.empty(); folder = folder_of(folder))
        above.push_back(folder);
    for (auto folder = above.rbegin(); folder != above.rend(); ++folder) {
        if (is_folder(rank, *folder)) continue;
        const Code answer = rank.world().storage().write(*folder + "/", {}, WriteMode::create);
        if (answer != Code::invalid_usage) check_disk(answer, *folder);
    }
    if (is_there(rank, path)) refuse_existing(path);
    const bool always = is_folder(rank, path);
    const Code answer =
        always ? Code::invalid_usage : rank.world().storage().write(path + "/", {}, WriteMode::create);
    if (answer != Code::invalid_usage)
        check_disk(answer, path);
    else if (!may_exist)
        refuse_existing(path);
    return Value::none();
}

Value isdir(Interpreter& rank, Arguments& given) {
    return Value::boolean(is_folder(rank, path_in(given[0])));
}

// ── Texts. A letter is a number behind a mark, which no file of `save` begins with: that one begins with a
// step.

constexpr Number text_mark = -2;

Value write_text(Interpreter& rank, Arguments& given) {
    const std::string path = path_in(given[0]);
    const std::string mode = stated(given[2]) ? text_in(given[2], "a mode") : "w";
    if (mode != "w" && mode != "a" && mode != "x")
        raise("ValueError", fmt::format("invalid mode: '{}'", mode));
    refuse_folder(rank, path);
    if (lacks_its_folder(rank, path)) check_disk(Code::not_found, path);
    std::vector<Number> content = {text_mark};
    for (const char letter : text_in(given[1], "a text"))
        content.push_back(static_cast<unsigned char>(letter));
    rank.spend(std::ssize(content));
    const Code answer = rank.world().storage().write(path, content,
                                                     mode == "w"   ? WriteMode::replace
                                                     : mode == "x" ? WriteMode::create
                                                                   : WriteMode::append);
    if (mode == "x" && answer == Code::invalid_usage) refuse_existing(path);
    check_disk(answer, path);
    return Value::none();
}

Value read_text(Interpreter& rank, Arguments& given) {
    const std::string path = path_in(given[0]);
    refuse_folder(rank, path);
    std::vector<Number> content;
    check_disk(rank.world().storage().read(path, content), path);
    rank.spend(std::ssize(content));
    std::string text;
    for (const Number letter : content) {
        const bool mark = letter == text_mark;
        if (letter > 255 || (letter < 0 && !mark) || content.front() != text_mark)
            raise("UnicodeDecodeError",
                  "'utf-8' codec can't decode byte 0x80 in position 64: invalid start byte");
        if (!mark) text += static_cast<char>(letter);
    }
    return Value::new_text(std::move(text));
}

// ── A file of `save` begins with the step whose state it is; the value follows.

template <class Payload>
void tell(Interpreter& rank, std::int64_t step, const std::vector<Number>& content, const std::string& path,
          Code answer) {
    if (rank.host().over()) return;
    rank.world().record(Payload{step, static_cast<std::int64_t>(content.size() * sizeof(Number)),
                                digest_of(content), 0, 1, rank.world().text(path), answer});
}

Value save(Interpreter& rank, Arguments& given) {
    const std::string path = text_in(given[1], "a path");
    const std::int64_t step = stated(given[2]) ? as_whole(given[2], "a step") : rank.step();
    if (step < 0) raise("ValueError", fmt::format("there is no step {}", step));
    std::vector<Number> content = {step};
    encode_value(given[0], content);
    rank.spend(std::ssize(content));
    if (lacks_its_folder(rank, path)) {
        tell<results::CheckpointSave>(rank, step, content, path, Code::not_found);
        raise("RuntimeError", fmt::format("Parent directory {} does not exist.", folder_of(path)));
    }
    Code answer = rank.world().storage().write(path, content);
    if (answer == Code::ok) answer = rank.world().storage().sync(path);
    tell<results::CheckpointSave>(rank, step, content, path, answer);
    check_disk(answer, path);
    return Value::none();
}

Value load(Interpreter& rank, Arguments& given) {
    const std::string path = text_in(given[0], "a path");
    std::vector<Number> content;
    const Code answer = rank.world().storage().read(path, content);
    rank.spend(std::ssize(content));
    Value value = Value::none();
    std::string broken;
    if (answer == Code::ok && !content.empty() && content.front() == text_mark) {
        broken =
            "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central "
            "directory";
    } else if (answer == Code::ok) {
        try {
            value = decode_value(std::span(content).subspan(std::min<std::size_t>(content.size(), 1)));
        } catch (const RankFailure& failure) {
            broken = failure.what();
        }
    }
    tell<results::CheckpointLoad>(rank, content.empty() ? -1 : content.front(), content, path,
                                  broken.empty() ? answer : Code::corrupt);
    check_disk(answer, path);
    if (!broken.empty()) throw RankFailure(broken);
    settle_places(rank, value, given[1]);
    return value;
}

Value resume_at(Interpreter& rank, Arguments& given) {
    const std::int64_t step = as_whole(given[0], "a step");
    if (step < 0) raise("ValueError", fmt::format("there is no step {}", step));
    rank.host().begin_at(step);
    return Value::none();
}

Value exists(Interpreter& rank, Arguments& given) {
    const std::string path = path_in(given[0]);
    return Value::boolean(is_there(rank, path) || is_folder(rank, path));
}

Value listdir(Interpreter& rank, Arguments& given) {
    std::vector<Value> paths;
    for (const std::string& path : rank.world().storage().list(text_in(given[0], "a path")))
        paths.push_back(Value::new_text(path));
    return Value::new_list(std::move(paths));
}

Value rename(Interpreter& rank, Arguments& given) {
    const std::string& from = text_in(given[0], "a path");
    const std::string& to = text_in(given[1], "a path");
    if (lacks_its_folder(rank, to))
        raise("FileNotFoundError",
              fmt::format("[Errno 2] No such file or directory: '{}' -> '{}'", from, to));
    check_disk(rank.world().storage().rename(from, to), from);
    return Value::none();
}

Value remove(Interpreter& rank, Arguments& given) {
    const std::string& path = text_in(given[0], "a path");
    refuse_folder(rank, path);
    check_disk(rank.world().storage().remove(path), path);
    return Value::none();
}

// The folder itself, which need not have been made.
void remove_folder(Interpreter& rank, const std::string& path) {
    if (is_there(rank, path + "/")) check_disk(rank.world().storage().remove(path + "/"), path);
}

std::vector<std::string> inside(Interpreter& rank, const std::string& path) {
    if (is_there(rank, path))
        raise("NotADirectoryError", fmt::format("[Errno 20] Not a directory: '{}'", path));
    if (!is_folder(rank, path)) check_disk(Code::not_found, path);
    auto found = rank.world().storage().list(path + "/");
    std::erase(found, path + "/");
    return found;
}

Value rmdir(Interpreter& rank, Arguments& given) {
    const std::string path = path_in(given[0]);
    if (!inside(rank, path).empty())
        raise("OSError", fmt::format("[Errno 39] Directory not empty: '{}'", path));
    remove_folder(rank, path);
    return Value::none();
}

// One after the other, as they were found: what another rank has removed meanwhile is missed.
Value rmtree(Interpreter& rank, Arguments& given) {
    const std::string path = path_in(given[0]);
    const bool ignores = stated(given[1]) && truth(given[1]);
    if (ignores && (is_there(rank, path) || !is_folder(rank, path))) return Value::none();
    auto found = inside(rank, path);
    std::reverse(found.begin(), found.end());  // what lies in a folder goes before it
    for (const std::string& one : found) {
        const Code answer = rank.world().storage().remove(one);
        if (!ignores) check_disk(answer, one);
    }
    remove_folder(rank, path);
    return Value::none();
}

}  // namespace

std::vector<BuiltinRow> file_builtins() {
    return {{"save", save},           {"load", load},
            {"resume_at", resume_at}, {"exists", exists},
            {"listdir", listdir},     {"rename", rename},
            {"remove", remove},       {"makedirs", makedirs},
            {"isdir", isdir},         {"write_text", write_text},
            {"read_text", read_text}, {"rmdir", rmdir},
            {"rmtree", rmtree}};
}

}  // namespace deadrank::sim::program

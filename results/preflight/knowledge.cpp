// results/preflight/knowledge.cpp — Reads the two tables; every row must say where it comes from.
#include "results/preflight/knowledge.h"

#include <algorithm>
#include <charconv>

#include "results/exporters/toml_tree.h"
#include "scenarios/model/text.h"

namespace deadrank::results::preflight {

using exporters::TomlNode;
using scenarios::Result;

namespace {

Result<void> demand(const TomlNode& row, const std::vector<std::string>& keys, const std::string& file) {
    if (auto known = exporters::check_members(row, keys, file); !known) return known;
    for (const std::string& key : keys) {
        if (!row[key].text_or().empty()) continue;
        return scenarios::refuse(scenarios::ErrorCode::bad_input, "'" + key + "' is missing or empty",
                                 "each row names its versions and their source", {file, row.line, 0});
    }
    return {};
}

// The leading number of a part, "6" of "6rc1"; 0 where there is none.
long number_of(std::string_view part) {
    long number = 0;
    std::from_chars(part.data(), part.data() + part.size(), number);
    return number;
}

std::string_view next_part(std::string_view& rest) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    return part;
}

Result<void> read_compatibility(const std::filesystem::path& path, Knowledge& all) {
    auto tree = exporters::read_toml(path);
    if (!tree) return tl::unexpected(tree.error());
    const std::string file = path.string();
    if (auto known = exporters::check_members(*tree, {"need", "border"}, file); !known) return known;
    for (const TomlNode& row : (*tree)["need"].items) {
        if (auto good = demand(row, {"package", "from", "needs", "least", "source"}, file); !good)
            return good;
        all.needs.push_back({row["package"].text, row["from"].text, row["needs"].text, row["least"].text,
                             row["source"].text});
    }
    for (const TomlNode& row : (*tree)["border"].items) {
        if (auto good = demand(row, {"package", "at", "shows", "source"}, file); !good) return good;
        all.borders.push_back({row["package"].text, row["at"].text, row["shows"].text, row["source"].text});
    }
    return {};
}

Result<void> read_variables(const std::filesystem::path& path, Knowledge& all) {
    auto tree = exporters::read_toml(path);
    if (!tree) return tl::unexpected(tree.error());
    const std::vector<std::string> lists = {"launch",         "nccl_integers", "nccl_texts",
                                            "torch_integers", "torch_texts",   "words"};
    if (auto known = exporters::check_members(*tree, lists, path.string()); !known) return known;
    for (const std::string& list : lists) {
        for (const std::string& name : (*tree)[list].texts()) {
            all.names.insert(name);
            if (list.ends_with("integers")) all.integers.insert(name);
        }
    }
    for (const auto& [name, words] : (*tree)["words"].members) all.words[name] = words.texts();
    return {};
}

}  // namespace

std::string Knowledge::classify_complaint(std::string_view name) const {
    if (names.contains(name) || name.size() < 8) return {};
    std::string nearest;
    std::size_t least = 3;
    for (const std::string& known : names) {
        const std::size_t wrong = scenarios::edit_distance(name, known);
        if (wrong < least) nearest = known;
        least = std::min(least, wrong);
    }
    return nearest;
}

Result<Knowledge> load_knowledge(const std::filesystem::path& directory) {
    Knowledge all;
    if (auto read = read_compatibility(directory / "compatibility.toml", all); !read)
        return tl::unexpected(read.error());
    if (auto read = read_variables(directory / "variables.toml", all); !read)
        return tl::unexpected(read.error());
    return all;
}

int compare_versions(std::string_view a, std::string_view b) {
    a = a.substr(0, a.find('+'));
    b = b.substr(0, b.find('+'));
    while (!a.empty() && !b.empty()) {
        const long left = number_of(next_part(a)), right = number_of(next_part(b));
        if (left != right) return left < right ? -1 : 1;
    }
    return 0;
}

}  // namespace deadrank::results::preflight

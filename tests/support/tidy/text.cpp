// tests/support/tidy/text.cpp — Reading the tree, and looking at C++ without its comments and literals.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "tests/support/tidy/tidy.h"

namespace deadrank::tests {

namespace {

namespace fs = std::filesystem;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Builds, runs and hidden directories are nobody's writing; .ci is the exception.
bool is_skipped(const fs::path& directory) {
    const std::string name = directory.filename().string();
    if (name == ".ci") return false;
    return name.starts_with('.') || name == "build" || name == "out" || name == "__pycache__" ||
           name.starts_with("deadrank-runs") || fs::exists(directory / "CMakeCache.txt");
}

// Copies a literal's quotes and blanks what is between them. Returns the index behind the closing quote.
std::size_t blank_literal(std::string_view text, std::size_t at, std::string& out) {
    const char quote = text[at];
    out += quote;
    for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at) {
        out += ' ';
        if (text[at] == '\\' && at + 1 < text.size()) {
            out += text[++at] == '\n' ? '\n' : ' ';
        }
    }
    if (at < text.size()) out += text[at++];
    return at;
}

std::size_t blank_until(std::string_view text, std::size_t at, std::size_t end, std::string& out) {
    for (; at < std::min(end, text.size()); ++at) out += text[at] == '\n' ? '\n' : ' ';
    return at;
}

// R"tag( … )tag", from its opening quote on.
std::size_t blank_raw_literal(std::string_view text, std::size_t at, std::string& out) {
    const std::size_t open = text.find('(', at);
    if (open == std::string_view::npos) return blank_until(text, at, text.size(), out);
    const std::string closing = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
    const std::size_t end = text.find(closing, open);
    return blank_until(text, at, end == std::string_view::npos ? text.size() : end + closing.size(), out);
}

}  // namespace

Tree read_tree(const fs::path& root) {
    Tree tree;
    for (fs::recursive_directory_iterator walk(root), end; walk != end; ++walk) {
        if (walk->is_directory()) {
            if (is_skipped(walk->path())) walk.disable_recursion_pending();
            continue;
        }
        if (!walk->is_regular_file() || walk->is_symlink()) continue;
        if (walk->path().filename() == ".git") continue;  // the file of a git worktree, which names its checkout
        std::ifstream in(walk->path(), std::ios::binary);
        std::ostringstream text;
        text << in.rdbuf();
        tree.push_back({fs::relative(walk->path(), root).generic_string(), text.str()});
    }
    std::sort(tree.begin(), tree.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return tree;
}

bool is_cpp(std::string_view path) {
    return path.ends_with(".h") || path.ends_with(".cpp") || path.ends_with(".cu") || path.ends_with(".c");
}

bool is_code(std::string_view path) {
    return is_cpp(path) || path.ends_with(".py") || path.ends_with(".sh") || path.ends_with(".cmake") ||
           path.ends_with("CMakeLists.txt") || path == "dev" || path == ".ci/run";
}

std::string without_comments_and_literals(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at);
        if (rest.starts_with("//")) {
            at = blank_until(text, at, text.find('\n', at), out);
        } else if (rest.starts_with("/*")) {
            const std::size_t end = text.find("*/", at + 2);
            at = blank_until(text, at, end == std::string_view::npos ? text.size() : end + 2, out);
        } else if (text[at] == '"' && at > 0 && text[at - 1] == 'R' && (at < 2 || !is_word(text[at - 2]))) {
            at = blank_raw_literal(text, at, out);
        } else if (text[at] == '"' || (text[at] == '\'' && (at == 0 || !is_word(text[at - 1])))) {
            at = blank_literal(text, at, out);  // an apostrophe inside a number separates its digits
        } else {
            out += text[at++];
        }
    }
    return out;
}

std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
    for (std::size_t at = text.find(word, from); at != std::string_view::npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        const bool starts = at == 0 || !is_word(word.front()) || !is_word(text[at - 1]);
        const bool ends = end >= text.size() || !is_word(word.back()) || !is_word(text[end]);
        if (starts && ends) return at;
    }
    return std::string_view::npos;
}

}  // namespace deadrank::tests

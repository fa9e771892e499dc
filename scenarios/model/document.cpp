// scenarios/model/document.cpp — The only file that uses toml++.
#include "scenarios/model/document.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <toml++/toml.h>
#include <unistd.h>

namespace deadrank::scenarios {

namespace {

Place region_place(const toml::source_region& region, const std::string& file) {
    return {file, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

Node convert(const toml::node& from, const std::string& file);

Node convert_table(const toml::table& from, const std::string& file) {
    Node node{.kind = Node::Kind::table};
    for (const auto& [key, value] : from) {
        node.members.push_back(
            {std::string(key.str()), region_place(key.source(), file), convert(value, file)});
    }
    // toml++ sorts by name; this restores the order of the file.
    std::stable_sort(node.members.begin(), node.members.end(), [](const Member& a, const Member& b) {
        return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
    });
    return node;
}

Node convert_scalar(const toml::node& from) {
    if (const auto* text = from.as_string()) return {.kind = Node::Kind::text, .text = text->get()};
    if (const auto* number = from.as_integer()) {
        return {.kind = Node::Kind::integer, .text = std::to_string(number->get()), .integer = number->get()};
    }
    if (const auto* flag = from.as_boolean()) {
        return {.kind = Node::Kind::boolean, .text = flag->get() ? "true" : "false", .integer = flag->get()};
    }
    // The shortest text that reads back is what the author wrote, for every number of up to 15 digits.
    if (const auto* number = from.as_floating_point()) {
        return {.kind = Node::Kind::fraction, .text = fmt::format("{}", number->get())};
    }
    return {.kind = Node::Kind::date};
}

Node convert(const toml::node& from, const std::string& file) {
    Node node;
    if (const auto* table = from.as_table()) {
        node = convert_table(*table, file);
    } else if (const auto* list = from.as_array()) {
        node.kind = Node::Kind::list;
        for (const toml::node& item : *list) node.items.push_back(convert(item, file));
    } else {
        node = convert_scalar(from);
    }
    node.place = region_place(from.source(), file);
    return node;
}

// Where each line of the file begins.
std::vector<std::size_t> lines_of(std::string_view text) {
    std::vector<std::size_t> begins = {0};
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n') begins.push_back(i + 1);
    return begins;
}

// Behind three quotes a first line break does not count. Of a text in one line the place is its quote's.
void find_first_letters(Node& node, std::string_view text, const std::vector<std::size_t>& lines) {
    for (Node& item : node.items) find_first_letters(item, text, lines);
    for (Member& member : node.members) find_first_letters(member.value, text, lines);
    const auto line = static_cast<std::size_t>(node.place.line);
    if (!node.is(Node::Kind::text) || line < 1 || line > lines.size() || node.place.column < 1) return;
    const std::size_t at = lines[line - 1] + static_cast<std::size_t>(node.place.column) - 1;
    if (at >= text.size()) return;
    const std::string_view rest = text.substr(at);
    node.first_letter = node.place;
    ++node.first_letter.column;
    node.several_lines = rest.starts_with("'''") || rest.starts_with("\"\"\"");
    if (!node.several_lines) return;
    node.first_letter.column += 2;
    const std::string_view behind = rest.substr(3);
    if (behind.starts_with('\n') || behind.starts_with("\r\n"))
        node.first_letter = {node.place.file, node.place.line + 1, 1};
}

}  // namespace

const Member* Node::find(std::string_view key) const {
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const Member& member) { return member.key == key; });
    return found == members.end() ? nullptr : &*found;
}

const Node& Node::operator[](std::string_view key) const {
    static const Node nothing{.kind = Kind::none};
    const Member* member = find(key);
    return member ? member->value : nothing;
}

double Node::number_or(double otherwise) const {
    if (kind == Kind::integer || kind == Kind::boolean) return static_cast<double>(integer);
    return kind == Kind::fraction ? std::strtod(text.c_str(), nullptr) : otherwise;
}

std::vector<std::string> Node::texts() const {
    if (kind == Kind::text) return {text};
    std::vector<std::string> all;
    for (const Node& item : items) {
        if (item.is(Kind::text)) all.push_back(item.text);
    }
    return all;
}

namespace {

// The parser recurses for each part of a dotted key. The place of the first key of more than 100 parts.
std::optional<Place> find_deep_key(std::string_view text, const std::string& file) {
    constexpr int parts_most = 100;
    Place at{file, 1, 1};
    int parts = 1, begun = 1;
    char before = '\n';
    const auto is_key = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '"' ||
               c == '\'';
    };
    for (const char letter : text) {
        if (letter == '.' && before != '.') {  // "..." is a pause in a text
            if (++parts > parts_most) return Place{file, at.line, begun};
        } else if (!is_key(letter) && letter != ' ' && letter != '\t') {
            parts = 1;
            begun = at.column + 1;
        }
        before = letter;
        ++at.column;
        if (letter == '\n') ++at.line, at.column = 1, begun = 1;
    }
    return std::nullopt;
}

}  // namespace

Result<Node> parse_document(std::string_view text, const std::string& file) {
    if (const auto deep = find_deep_key(text, file))
        return refuse(ErrorCode::bad_input, "a key has more than 100 parts", "shorten it", *deep);
    try {
        Node document = convert(toml::parse(text, file), file);
        find_first_letters(document, text, lines_of(text));
        return document;
    } catch (const toml::parse_error& error) {
        return refuse(ErrorCode::bad_input, fmt::format("this is not TOML: {}", error.description()), {},
                      region_place(error.source(), file));
    }
}

std::string parser_version() {
    return fmt::format("{}.{}.{}", TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH);
}

namespace {

tl::unexpected<Error> cannot_read(const std::filesystem::path& file, std::string_view why) {
    return refuse(ErrorCode::io, fmt::format("cannot be read: {}", why),
                  "name a file that exists and that you may read", {file.string()});
}

// Opening a named pipe waits for its writer, for ever where there is none. Open for both as long as the
// reader opens it, so that the writer never is without a reader, nor the reader without a writer if that one
// is done already.
class PipeProbe {
public:
    explicit PipeProbe(const std::filesystem::path& file) {
        std::error_code ignored;
        if (std::filesystem::is_fifo(file, ignored))
            descriptor_ = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    }
    PipeProbe(const PipeProbe&) = delete;
    PipeProbe& operator=(const PipeProbe&) = delete;
    ~PipeProbe() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    bool may_be_read() const {
        constexpr int patience = 3'000;  // milliseconds
        pollfd asked{descriptor_, POLLIN, 0};
        return descriptor_ < 0 || (::poll(&asked, 1, patience) > 0 && (asked.revents & POLLIN) != 0);
    }

private:
    int descriptor_ = -1;
};

}  // namespace

Result<std::ifstream> open_input(const std::filesystem::path& file) {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) return cannot_read(file, "it is a directory");
    const PipeProbe pipe(file);
    if (!pipe.may_be_read()) return cannot_read(file, "nobody writes into this pipe");
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    if (!in) return cannot_read(file, std::strerror(errno));
    return in;
}

Result<std::string> read_text(const std::filesystem::path& file) {
    constexpr std::size_t most_bytes = 256 << 20;
    auto opened = open_input(file);
    if (!opened) return tl::unexpected(opened.error());
    std::ifstream& in = *opened;
    // read() keeps an error of the system to itself; an iterator over the same buffer would throw it.
    std::string text;
    std::array<char, 65'536> part;
    while (in.read(part.data(), part.size()), in.gcount() > 0) {
        text.append(part.data(), static_cast<std::size_t>(in.gcount()));
        if (text.size() > most_bytes) return cannot_read(file, "it is larger than 256 MiB");
    }
    if (in.bad()) return cannot_read(file, std::strerror(errno));
    return text;
}

std::string_view kind_name(const Node& node) {
    switch (node.kind) {
        case Node::Kind::none:
            return "nothing";
        case Node::Kind::table:
            return "a table";
        case Node::Kind::list:
            return "a list";
        case Node::Kind::text:
            return "a text";
        case Node::Kind::integer:
            return "an integer";
        case Node::Kind::fraction:
            return "a number with a fraction";
        case Node::Kind::boolean:
            return "true or false";
        case Node::Kind::date:
            return "a date";
    }
    return "";
}

}  // namespace deadrank::scenarios

// tests/support/tidy/unused.cpp — Functions that a header declares and that nothing in the product calls. By
// their names alone: a name that is declared once, defined once and mentioned nowhere else.
#include <cctype>
#include <map>
#include <set>

#include "tests/support/tidy/tidy.h"

namespace deadrank::tests {

namespace {

bool is_of_a_name(char one) { return std::isalnum(static_cast<unsigned char>(one)) != 0 || one == '_'; }

// Called from outside of the product: by programs of others, by tests that stand for them, by Boost, by
// torch.
const std::set<std::string_view>& doors() {
    static const std::set<std::string_view> names = {
        "register_scenarios",
        "deadrank_mpi_bridge_table",
        "all_clues",
        "mpi_is_there",
        "parse_manifest",
        "proxy_port_of",
        "handle_command",
        "snapshots_of",
        "between_table_marks",
        "symptom_of_lint_rule",
        "on_wheel",
        "quantile",
        "read_c10_stamp",
        "read_kernel_stamp",
        "awakened",
        "pick_next",
        "has_ready_fibers",
        "suspend_until",
        "notify",
        "copy_data",
        "deadrank_graph_add_call",
        "deadrank_host_now",
        "deadrank_keep_memory",
        "deadrank_stream_time",
        "deadrank_stream_wait_until",
        "deadrank_use_virtual_time",
    };
    return names;
}

// Names that stand at namespace or class level before a parenthesis, after a type; and whether the body
// follows.
std::map<std::string, bool> declared_in(const std::string& text) {
    std::map<std::string, bool> names;
    for (std::size_t at = text.find('('); at != std::string::npos; at = text.find('(', at + 1)) {
        std::size_t begin = at;
        while (begin > 0 && is_of_a_name(text[begin - 1])) --begin;
        if (begin == at || begin == 0 || std::islower(static_cast<unsigned char>(text[begin])) == 0) continue;
        // A declaration: a type, a space (or & and *) before the name, on a line that ends no statement
        // there.
        const char before = text[begin - 1];
        if (before != ' ' && before != '*' && before != '&') continue;
        const std::size_t line = text.rfind('\n', begin) + 1;
        const std::string head = text.substr(line, begin - line);
        if (head.find_first_of("=(){}?;,") != std::string::npos) continue;
        const std::size_t first = head.find_first_not_of(' ');
        if (first == std::string::npos || first > 4 || head.compare(first, 6, "return") == 0) continue;
        std::size_t end = at, depth = 0;
        do {
            if (text[end] == '(') ++depth;
            if (text[end] == ')') --depth;
        } while (depth > 0 && ++end < text.size());
        const std::size_t body = text.find_first_of("{;", end);
        const bool defined =
            (body != std::string::npos && text[body] == '{') || head.find("virtual") != std::string::npos;
        names[text.substr(begin, at - begin)] |= defined;
    }
    return names;
}

}  // namespace

Complaints check_unused(const Tree& tree) {
    std::map<std::string, std::size_t> mentions;
    struct Declared {
        std::string header;
        std::size_t times = 0;
        std::size_t own_mentions = 2;  // the declaration and the definition
    };
    std::map<std::string, Declared> declared;
    for (const SourceFile& file : tree) {
        if (!is_cpp(file.path) || file.path.starts_with("tests/") || file.path.find('/') == std::string::npos)
            continue;
        const std::string text = without_comments_and_literals(file.text);
        for (std::size_t at = 0; at < text.size();) {
            if (!is_of_a_name(text[at])) {
                ++at;
                continue;
            }
            std::size_t end = at;
            while (end < text.size() && is_of_a_name(text[end])) ++end;
            ++mentions[text.substr(at, end - at)];
            at = end;
        }
        if (!file.path.ends_with(".h")) continue;
        for (const auto& [name, defined] : declared_in(text)) {
            Declared& one = declared[name];
            one.header = file.path;
            ++one.times;
            if (defined) one.own_mentions = 1;
        }
    }
    Complaints complaints;
    for (const auto& [name, where] : declared) {
        if (where.times > 1 || mentions[name] > where.own_mentions || doors().count(name) > 0) continue;
        complaints.push_back({where.header, "declares " + name + ", which nothing else in the product uses"});
    }
    return complaints;
}

}  // namespace deadrank::tests

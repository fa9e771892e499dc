// tests/support/tidy/tidy.h — The rules of style and structure as functions from source text to complaints:
// testable themselves. Each complaint says where, what, and what to write instead.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deadrank::tests {

struct SourceFile {
    std::string path;  // from the repository's root
    std::string text;
};
using Tree = std::vector<SourceFile>;

struct Complaint {
    std::string where;  // "sim/clock.h:12"
    std::string what;
};
using Complaints = std::vector<Complaint>;

// All files that a person wrote: neither builds nor runs, nor what is hidden. Sorted by path.
Tree read_tree(const std::filesystem::path& root);

bool is_cpp(std::string_view path);
bool is_code(std::string_view path);  // C++, CUDA, Python, shell, CMake

// The text with comments and the insides of literals blanked out; lines stay where they are.
std::string without_comments_and_literals(std::string_view cpp);

// True where `word` stands alone: no letter, digit or underscore touches either end.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0);

// Which folder may include which: folder -> the folders that its row uses.
using ModuleRows = std::map<std::string, std::set<std::string>>;
ModuleRows module_rows(const Tree& tree);
Complaints check_module_arrows(const Tree& tree);
Complaints check_module_circles(const Tree& tree);
// A row uses only folders that one of its folder's files includes.
Complaints check_unused_rows(const Tree& tree);
// docs/structure.md.
std::string structure_page(const ModuleRows& rows);
// Code lies in the namespace of its folder, or of a folder above: sim/engine in deadrank::sim::engine or
// deadrank::sim.
Complaints check_namespaces(const SourceFile& file);
// Headers named behind HEADERS in a row are installed: each exists, opens with what it is, and includes no
// header of ours that is not installed.
Complaints check_public_door(const Tree& tree);
// No two files of the product share a name, but for a header and its own source.
Complaints check_basenames(const Tree& tree);
// A function that a header declares is called somewhere else in the product.
Complaints check_unused(const Tree& tree);

// A source that defines members of a class includes its header, itself or through another: in a batch of
// sources a neighbour's include stands in for it, and the build of single files fails.
Complaints check_definitions_see_their_class(const Tree& tree);

// What a file must not see although its library may link it, and where each foreign header stays.
Complaints check_blindness(const SourceFile& file);
Complaints check_third_party(const SourceFile& file);

// "#include \"…\"", with the line of each.
std::vector<std::pair<std::size_t, std::string>> own_includes(const SourceFile& file);

// Clocks, chance and hash order where one seed must be one run.
Complaints check_determinism(const SourceFile& file);

// Leftovers, exit(), what a header must not do; the line that says what the file is.
Complaints check_habits(const SourceFile& file);

// Writes to standard streams beside the one way; readers that take this machine's failures for the file's.
Complaints check_output(const SourceFile& file);
Complaints check_host_failures(const SourceFile& file);
Complaints check_opening(const SourceFile& file);

// Files, folders, scenarios and links that a Markdown page or llms.txt names exist.
Complaints check_names_in_pages(const Tree& tree);
// In a C++ or diff block of a page, the code behind a line such as "// sim/clock.h" is in that file. An
// ellipsis stands for what is left out, and white space does not count.
Complaints check_quoted_code(const Tree& tree);

// A comment before an empty line describes nothing. The heading of a section begins with "// ── ".
Complaints check_torn_comments(const SourceFile& file);

// Nothing of the machine it was written on: `paths` are looked for as they stand.
Complaints check_machine_paths(const SourceFile& file, const std::vector<std::string>& paths);

// Every kind in inject/faults is used by a scenario, but for those that wait for their first one; every
// scenario has its event log in tests/golden.
Complaints check_faults_have_scenarios(const Tree& tree, const std::vector<std::string_view>& waiting = {});
Complaints check_scenarios_have_goldens(const Tree& tree);

}  // namespace deadrank::tests

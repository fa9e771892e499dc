// results/reports/output.h — The one way to standard output and standard error: nothing that a log, a name or
// an alert holds can steer the terminal, and output that is lost is noticed.
#pragma once

#include <cstdio>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

namespace deadrank::results::reports {

// The text with each control character but newline and tab as "\u001b", each character that turns the
// direction of writing as "\u202e", and bytes that are no UTF-8 as U+FFFD. JSON stays the same JSON.
std::string visible(std::string_view text);

// The same on one line: newlines and tabs become spaces. For cells of tables, attributes and headings.
std::string visible_line(std::string_view text);

// A cell of a CSV file with text: quoted, and never a formula for a spreadsheet.
std::string csv_cell(std::string_view text);

// The text of an element or of a quoted attribute.
std::string html_text(std::string_view text);

// Writes visible text; the colours of Style pass. A line of it never begins with a command for a CI service
// ("::error::", "##[…]"). Never throws; see lost_output().
void write_visible(std::FILE* stream, std::string_view text);

// What a program under test prints itself, unchanged.
void write_unchanged(std::FILE* stream, std::string_view text);

template <class... Arguments>
void print_out(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    write_visible(stdout, fmt::format(format, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
void print_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    write_visible(stderr, fmt::format(format, std::forward<Arguments>(arguments)...));
}

// std::fflush(stdout) of which a failure is remembered.
void flush_out();

// Flushes standard output. The errno with which some of it could not be written, now or before.
std::optional<int> lost_output();

}  // namespace deadrank::results::reports

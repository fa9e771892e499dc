// results/reports/style.h — How a text report may look: colour only on a terminal, never wider than it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace deadrank::results::reports {

enum class Ink { plain, bold, dim, green, red, yellow, cyan };

struct Style {
    bool color = false;
    std::size_t width = 0;  // columns; 0 = as wide as it takes (a file, a pipe)

    // Its colours pass write_visible() alone, as sequences of a terminal.
    std::string paint(Ink ink, std::string_view text) const;
    // The text cut to `columns` with "…"; uncut if `columns` is 0.
    std::string cut(std::string_view text, std::size_t columns) const;
};

// Begins each control sequence of paint(): a parameter that terminals ignore, drawn once a process, so that
// no text of a stranger can have the colours of this program.
const std::string& colour_mark();

// Columns of a UTF-8 text without control sequences: code points, since we print no wide ones.
std::size_t columns_of(std::string_view text);
std::string pad_right(std::string_view text, std::size_t columns);
std::string pad_left(std::string_view text, std::size_t columns);

// Breaks at spaces; a word longer than a line gets its own. `columns` 0 = one line.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

// One line: newlines and tabs become spaces.
std::string one_line(std::string_view text);

}  // namespace deadrank::results::reports

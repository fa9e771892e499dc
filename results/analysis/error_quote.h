// results/analysis/error_quote.h — What to quote of an error's text: of a traceback the exception, of a
// library's own report the line that it calls the last error; cut between words and never within one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace deadrank::results::analysis {

// The line that matters: the last one of a traceback, else the first.
std::string_view find_key_line(std::string_view text);

// At most so many bytes. What is left out is shown by "…", which follows a whole word.
std::string shorten_text(std::string_view text, std::size_t most);

// The line that matters as findings quote it. NCCL writes what happened under "Last error:", two lines after
// the exception's own: that line follows.
std::string quoted(std::string_view text);

}  // namespace deadrank::results::analysis

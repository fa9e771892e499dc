// results/analysis/program_lines.h — Where in the user's own program a rank waited or failed: of a Python
// stack or traceback in its log the innermost frame that belongs neither to Python's library nor to an
// installed package.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::analysis {

struct ProgramLine {
    Time at{0};
    bool waits = false;  // of a stack; false: of a traceback
    std::string file;    // as the stack names it
    int number = 0;
    std::string source;  // empty if the stack does not show it

    std::string text() const;  // "train.py:88 loss.backward()"
};

// Visits the lines of each rank's log, from the record on that has the words, in order of time.
using LogVisitor = std::function<void(Rank rank, Time at, std::string_view line)>;
void visit_log_lines(const Evidence& evidence, std::string_view words, const LogVisitor& visit);

class ProgramLines {
public:
    explicit ProgramLines(const Evidence& evidence);

    // Of a rank's lines the last one up to `at`, else the first one after it.
    const ProgramLine* find(Rank rank, Time at) const;
    const std::map<Rank, std::vector<ProgramLine>>& all() const { return lines_; }

private:
    std::map<Rank, std::vector<ProgramLine>> lines_;  // of each rank, in order of time
};

// Whether a file of a stack may be the user's own: neither Python's library, nor an installed package, nor the
// tree of a framework.
bool is_program_file(std::string_view file);

// `File "train.py", line 88, in main`, without the space before it.
struct StackFrame {
    std::string_view file;
    int number = 0;
};
std::optional<StackFrame> read_frame(std::string_view line);

// "rank 3 raised at train.py:41 check(x); ranks 0-2 waited at train.py:88 loss.backward()", the named ranks
// first. Empty if no log shows a line of the program.
std::string describe_lines(const ProgramLines& lines, const std::vector<Rank>& blamed, Time at);

}  // namespace deadrank::results::analysis

// results/analysis/signatures.cpp — Lines of logs: their phrase, their exception, and how much was
// understood.
#include "results/analysis/signatures.h"

#include <cstdlib>
#include <fmt/format.h>
#include <string>

namespace deadrank::results::analysis {

namespace {

bool in_exception_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

}  // namespace

const Phrase* signature_in(std::string_view text) {
    // NCCL tells much at this level that only sounds like trouble: a plugin that is not there, a peer that
    // has left at the end.
    if (text.find(" NCCL INFO ") != text.npos) return nullptr;
    return match_phrases(text).finding;
}

bool begins_with_exception(std::string_view line) {
    std::size_t end = 0;
    while (end < line.size() && end < 120 && in_exception_name(line[end])) ++end;
    const std::string_view name = line.substr(0, end);
    // Programs print a bare "Error: …" themselves; it is no exception.
    if (name.size() < 6 || (end < line.size() && line[end] != ':' && line[end] != '(')) return false;
    const std::string_view last = name.substr(name.rfind('.') == name.npos ? 0 : name.rfind('.') + 1);
    for (const std::string_view kind : {"Error", "Exception", "Interrupt", "Exit", "Timeout"}) {
        if (last.ends_with(kind) && last[0] >= 'A' && last[0] <= 'Z') return true;
    }
    return name.starts_with("nccl") && last.ends_with("Error");
}

std::string LogRead::line() const {
    return fmt::format(
        "import: {} lines read, {} not understood, {} left out, {} files, {} tracebacks without a rank, {} "
        "ranks told, {} stamps",
        lines, not_understood, omitted, files, orphans, ranks_stated, stamps);
}

std::optional<LogRead> LogRead::of_line(std::string_view line) {
    if (!line.starts_with("import: ")) return std::nullopt;
    LogRead read;
    std::int64_t* const fields[] = {&read.lines,   &read.not_understood, &read.omitted, &read.files,
                                    &read.orphans, &read.ranks_stated,   &read.stamps};
    std::size_t at = 0;
    for (std::int64_t* field : fields) {
        if (field == &read.stamps && line.find(" stamps") == line.npos) {
            read.stamps = 1;  // written by a version that did not count them
            break;
        }
        at = line.find_first_of("0123456789", at);
        if (at == line.npos) return std::nullopt;
        *field = std::strtoll(std::string(line.substr(at, 20)).c_str(), nullptr, 10);
        at = line.find_first_not_of("0123456789", at);
    }
    return read;
}

}  // namespace deadrank::results::analysis

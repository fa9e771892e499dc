// runners/promises/promise_table.cpp — A matrix with a row per fault; below it each promise with its source,
// the measurements, and the command.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/reports/output.h"
#include "results/reports/resilience_table.h"
#include "runners/promises/promise_suite.h"
#include "scenarios/model/document.h"

namespace deadrank::runners::promises {

namespace {

using results::reports::html_text;
using results::reports::plain_cell;

const PromiseCell* cell_of(const PromiseTable& table, const std::string& subject, const std::string& fault) {
    for (const PromiseCell& cell : table.cells) {
        if (cell.subject == subject && cell.fault == fault) return &cell;
    }
    return nullptr;
}

std::string release_of(const PromiseSubject& subject) {
    return subject.package.empty() ? "in torch itself" : subject.package;
}

std::string why_not(const PromiseSubject& subject, const std::string& fault) {
    const auto found = subject.unpromised.find(fault);
    return found == subject.unpromised.end() ? "its documentation says nothing of it" : found->second;
}

std::string counts_of(const PromiseTable& table) {
    std::string text;
    for (const Kept kept : {Kept::kept, Kept::late, Kept::broken, Kept::unknown, Kept::not_promised}) {
        const auto n = std::count_if(table.cells.begin(), table.cells.end(),
                                     [&](const PromiseCell& cell) { return cell.worst().kept == kept; });
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, text_of(kept));
    }
    return text;
}

std::string matrix(const PromiseTable& table) {
    std::string text = "| fault |";
    std::string rule = "|---|";
    for (const PromiseSubject* subject : table.subjects) {
        text += fmt::format(" {} |", subject->framework);
        rule += "---|";
    }
    text += "\n" + rule + "\n";
    for (const PromisedFault& fault : table.book->faults) {
        std::string row = fmt::format("| `{}` |", fault.name);
        bool any = false;
        for (const PromiseSubject* subject : table.subjects) {
            const PromiseCell* cell = cell_of(table, subject->name, fault.name);
            any = any || cell;
            const bool bad = cell && cell->worst().kept == Kept::broken;
            row += fmt::format(" {0}{1}{0} |", bad ? "**" : "", cell ? cell->text() : "–");
        }
        if (any) text += row + "\n";
    }
    return text;
}

std::string details_of(const PromiseTable& table, const PromiseSubject& subject) {
    std::string text =
        fmt::format("\n## {}\n\n{} `{}`.\n\n", subject.framework, subject.says, release_of(subject));
    text += "| fault | promised | cell | measured | command |\n|---|---|---|---|---|\n";
    for (const PromiseCell& cell : table.cells) {
        if (cell.subject != subject.name || !cell.promise) continue;
        const PromiseVerdict worst = cell.worst();
        text += fmt::format("| `{}` | {} ([source]({})) | {} | {} | `{}` |\n", cell.fault,
                            plain_cell(cell.promise->text), cell.promise->source, cell.text(),
                            plain_cell(worst.why.empty() ? worst.told : worst.why + " — " + worst.told),
                            cell.again);
    }
    std::string rest;
    for (const PromiseCell& cell : table.cells) {
        if (cell.subject == subject.name && !cell.promise)
            rest += fmt::format("- `{}`: {}\n", cell.fault, why_not(subject, cell.fault));
    }
    return rest.empty() ? text : text + "\nNot promised:\n\n" + rest;
}

// Empty: no such line.
std::optional<PromiseCell> cell_of_line(const PromiseBook& book, const std::string& text) {
    const auto line = nlohmann::json::parse(text, nullptr, false);
    const auto word = [](const nlohmann::json& from, const char* key) {
        return from.is_object() ? from.value(key, nlohmann::json()) : nlohmann::json();
    };
    const auto named = [](const auto& rows, const nlohmann::json& name) {
        return std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return name == row.name; });
    };
    const auto subject = named(book.subjects, word(line, "subject"));
    const auto fault = named(book.faults, word(line, "fault"));
    const auto runs = word(line, "runs"), again = word(line, "again");
    if (subject == book.subjects.end() || fault == book.faults.end() || !runs.is_array() || runs.empty() ||
        !again.is_string())
        return std::nullopt;
    PromiseCell cell{subject->name, fault->name, promise_under(*subject, fault->name), {}, again};
    for (const nlohmann::json& run : runs) {
        const auto id = word(run, "cell"), why = word(run, "why"), told = word(run, "measured");
        const auto kept = id.is_string() ? kept_of(id.get<std::string>()) : std::nullopt;
        if (!kept || !why.is_string() || !told.is_string()) return std::nullopt;
        cell.runs.push_back({*kept, why, told});
    }
    return cell;
}

// Cells in the book's order, and a note for each subject that cannot be played.
void arrange(PromiseTable& table) {
    std::vector<PromiseCell> cells;
    for (const PromiseSubject& subject : table.book->subjects) {
        const std::size_t before = cells.size();
        for (const PromisedFault& fault : table.book->faults) {
            if (const PromiseCell* cell = cell_of(table, subject.name, fault.name)) cells.push_back(*cell);
        }
        if (cells.size() > before) table.subjects.push_back(&subject);
        if (!subject.unplayed.empty()) table.notes.push_back(subject.framework + ": " + subject.unplayed);
    }
    table.cells = std::move(cells);
}

}  // namespace

scenarios::Result<PromiseTable> table_of_lines(const PromiseBook& book,
                                               const std::vector<std::filesystem::path>& files) {
    PromiseTable table;
    table.book = &book;
    for (const std::filesystem::path& file : files) {
        auto in = scenarios::open_input(file);
        if (!in)
            return scenarios::refuse(scenarios::ErrorCode::io,
                                     fmt::format("'{}' cannot be read", file.string()),
                                     "name a file that `deadrank report promises --json` wrote");
        std::string text;
        for (int number = 1; std::getline(*in, text); ++number) {
            auto cell = cell_of_line(book, text);
            if (!cell)
                return scenarios::refuse(
                    scenarios::ErrorCode::bad_input,
                    fmt::format("{}:{} is no cell of a subject and a fault that are known", file.string(),
                                number),
                    "name a file that `deadrank report promises --json` wrote");
            std::erase_if(table.cells, [&](const PromiseCell& old) {
                return old.subject == cell->subject && old.fault == cell->fault;
            });
            table.cells.push_back(std::move(*cell));
        }
    }
    arrange(table);
    return table;
}

std::string promise_markdown(const PromiseTable& table) {
    std::string text =
        "# Promises kept\n\nWhat frameworks that say they survive do under faults, beside a "
        "healthy run of the same program. The words of a promise are ours, the source is behind "
        "it. A cell that is not kept at first is played three times, and the worst counts.\n\n";
    if (!table.about.empty()) text += table.about + "\n\n";
    text += counts_of(table) + ".\n\n" + matrix(table) + "\n";
    text += "The faults:\n\n";
    for (const PromisedFault& fault : table.book->faults)
        text += fmt::format("- `{}`: {}\n", fault.name, fault.says);
    for (const PromiseSubject* subject : table.subjects) text += details_of(table, *subject);
    if (!table.notes.empty()) text += "\n## Not played\n\n";
    for (const std::string& note : table.notes) text += "- " + note + "\n";
    return text;
}

std::string promise_page(const PromiseTable& table) {
    std::string text =
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Promises kept</title><style>"
        "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem}"
        "table{border-collapse:collapse}td,th{border:1px solid #8884;padding:.3rem .5rem;text-align:left;"
        "vertical-align:top}.kept{background:#2a82}.kept_late{background:#ca03}.broken{background:#d225}"
        ".unknown{background:#8882}details summary{cursor:pointer}code{font-size:.9em}</style>"
        "<h1>Promises kept</h1><p>" +
        html_text(table.about) + " " + html_text(counts_of(table)) + ".</p><table><tr><th>fault</th>";
    for (const PromiseSubject* subject : table.subjects)
        text += fmt::format("<th title=\"{}\">{}</th>", html_text(release_of(*subject)),
                            html_text(subject->framework));
    text += "</tr>";
    for (const PromisedFault& fault : table.book->faults) {
        text += fmt::format("<tr><th title=\"{}\"><code>{}</code></th>", html_text(fault.says), fault.name);
        for (const PromiseSubject* subject : table.subjects) {
            const PromiseCell* cell = cell_of(table, subject->name, fault.name);
            if (!cell) {
                text += "<td>–</td>";
                continue;
            }
            const PromiseVerdict worst = cell->worst();
            const std::string promised =
                cell->promise ? fmt::format("{} <a href=\"{}\">source</a>", html_text(cell->promise->text),
                                            cell->promise->source)
                              : html_text(why_not(*subject, fault.name));
            text += fmt::format(
                "<td class=\"{}\"><details><summary>{}</summary><p>{}</p><p>{} {}</p><p><code>{}</code></p>"
                "</details></td>",
                id_of(worst.kept), html_text(cell->text()), promised, html_text(worst.why), html_text(worst.told),
                html_text(cell->again));
        }
        text += "</tr>";
    }
    text += "</table>";
    for (const std::string& note : table.notes) text += "<p>" + html_text(note) + "</p>";
    return text + "</html>\n";
}

std::string promise_line(const PromiseCell& cell) {
    const PromiseVerdict worst = cell.worst();
    nlohmann::ordered_json line = {{"subject", cell.subject},   {"fault", cell.fault},
                                   {"cell", id_of(worst.kept)}, {"why", worst.why},
                                   {"measured", worst.told},    {"again", cell.again}};
    line["runs"] = nlohmann::ordered_json::array();
    for (const PromiseVerdict& run : cell.runs)
        line["runs"].push_back({{"cell", id_of(run.kept)}, {"why", run.why}, {"measured", run.told}});
    if (cell.promise) {
        line["promise"] = cell.promise->text;
        line["source"] = cell.promise->source;
    }
    return line.dump() + "\n";
}

}  // namespace deadrank::runners::promises

// results/reports/terminal.cpp — What a run prints on a terminal: a line per scenario, a block per failure, a
// table at the end.
#include "results/reports/terminal.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/judging/alarm.h"
#include "results/record/words.h"

namespace deadrank::results::reports {

// ── The token repeats the run bit for bit; the seed repeats the draws, whatever the build.

std::string shell_quoted(const std::string& word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%=";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
    std::string safe = "'";
    for (const char c : word) safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return safe + "'";
}

std::vector<std::string> list_repeat_commands(const Case& one) {
    if (!one.commands.empty()) return one.commands;
    if (one.runner == from_files) return {"deadrank judge " + shell_quoted(one.directory.string())};
    std::vector<std::string> commands;
    if (!one.token.empty()) {
        const std::string where = one.file.empty() ? "" : " --scenario " + shell_quoted(one.file.string());
        commands.push_back("deadrank replay " + one.token + where);
    }
    const std::string runner = one.runner == scenarios::BackendId::sim ? "" : " --runner " + one.runner;
    const std::string which = one.file.empty() ? one.scenario : shell_quoted(one.file.string());
    commands.push_back(fmt::format("deadrank run {} --seed {}{}", which, one.seed, runner));
    return commands;
}

// ── First how to reproduce it, then who was blamed and who it was, then the evidence.

namespace {

constexpr std::size_t label_columns = 14;

class Block {
public:
    explicit Block(const Style& style) : style_(style) {}

    // `text` after its label; further lines are aligned with the first.
    void row(std::string_view label, std::string_view text, Ink ink = Ink::plain) {
        const std::size_t room = style_.width > label_columns + 24 ? style_.width - label_columns - 4 : 0;
        bool first = true;
        for (const std::string& line : wrap(text, room)) {
            text_ += "    " + style_.paint(Ink::dim, pad_right(first ? label : "", label_columns)) +
                     style_.paint(ink, line) + "\n";
            first = false;
        }
    }
    // Not wrapped, and cut unless `whole`: a command or a line of evidence.
    void line(std::string_view label, std::string_view text, Ink ink, bool whole) {
        const std::size_t room =
            !whole && style_.width > label_columns + 24 ? style_.width - label_columns - 4 : 0;
        text_ += "    " + style_.paint(Ink::dim, pad_right(label, label_columns)) +
                 style_.paint(ink, style_.cut(text, room)) + "\n";
    }
    void title(std::string text) { text_ += std::move(text) + "\n"; }
    std::string take() { return std::move(text_); }

private:
    const Style& style_;
    std::string text_;
};

std::string due(const Case& one) {
    std::string text = one.expect.symptom_text();
    if (!one.expect.unseen.empty()) return "silence, since " + one.expect.unseen;
    if (!one.expect.blames.empty() && one.fault && one.fault->verdict != Verdict::unknown) {
        text += " about " + blame_text(one.fault->culprit, one.expect.blames);
    }
    return text + ", within " + duration_text(Time{one.expect.within});
}

std::string said(const Finding& finding, Time fault_at) {
    std::string when = " at " + duration_text(finding.at);
    if (fault_at != never && finding.at >= fault_at) {
        when = ", " + after_text(finding.at - fault_at, "the fault");
    }
    return fmt::format("{} about {}{} ({}): {}", finding.symptom, blame_text(finding.blame), when,
                       finding.detector, one_line(finding.says));
}

void findings(Block& block, std::string_view label, const Judgement& judgement) {
    constexpr std::size_t shown = 6;
    for (std::size_t i = 0; i < std::min(shown, judgement.findings.size()); ++i) {
        block.row(i == 0 ? label : "", said(judgement.findings[i], judgement.fault_at));
    }
    if (judgement.findings.size() > shown) {
        block.row("", fmt::format("… and {} more", judgement.findings.size() - shown), Ink::dim);
    }
    if (judgement.findings.empty()) block.row(label, "nothing");
}

}  // namespace

std::string failure_block(const Case& one, const Style& style) {
    Block block(style);
    const Ink ink = one.verdict == Verdict::pass   ? Ink::green
                    : one.verdict == Verdict::fail ? Ink::red
                                                   : Ink::yellow;
    block.title(fmt::format(
        "{} {}", verdict_mark(one.verdict, style),
        style.paint(Ink::bold, fmt::format("{} · seed {} · {}", one.scenario, one.seed, one.runner))));
    std::string_view label = "see it again";
    for (const std::string& command : list_repeat_commands(one)) {
        block.line(label, command, Ink::cyan, true);
        label = "";
    }
    block.row("because", one.reason, ink);
    if (one.fault) {
        if (!one.expect.symptom.empty()) block.row("was due", due(one));
        findings(block, "was said", *one.fault);
        block.row("the job", reaction_text(one.fault->job.reaction));
    }
    if (one.control)
        block.row("control", one.control->reason, one.control->verdict == Verdict::pass ? Ink::dim : ink);
    if (one.healed)
        block.row("healed", one.healed->reason, one.healed->verdict == Verdict::pass ? Ink::dim : ink);
    for (const std::string& note : one.notes) block.row("note", note, Ink::dim);
    label = "evidence";
    for (const std::string& line : one.excerpt) {
        block.line(label, one_line(line), Ink::dim, false);
        label = "";
    }
    if (!one.directory.empty()) block.line("kept in", one.directory.string(), Ink::plain, true);
    return block.take();
}

// ── With several seeds the worst case is shown, after the share of seeds that passed.

namespace {

Ink verdict_ink(Verdict verdict) {
    if (verdict == Verdict::pass) return Ink::green;
    return verdict == Verdict::fail ? Ink::red : Ink::yellow;
}

const Case& worst_of(const std::vector<Case>& seeds) {
    return *std::max_element(seeds.begin(), seeds.end(),
                             [](const Case& a, const Case& b) { return a.verdict < b.verdict; });
}

// The finding's sentence, after its symptom if there is room: what was noticed, and about whom.
std::string noticed(const Case& one, std::size_t columns) {
    if (one.differs_as_documented()) return one_line(one.documented);
    if (!one.skipped.empty()) return "skipped";
    if (one.verdict != Verdict::pass || !one.fault) return one_line(one.reason);
    if (const Finding* answer = one.fault->answering()) {
        const std::string sentence = one_line(answer->says);
        const std::string both = fmt::format("{} · {}", answer->symptom, sentence);
        return columns == 0 || columns_of(both) <= columns ? both : sentence;
    }
    return one_line(one.fault->reason);
}

std::string format_delay(const Case& one) {
    if (!one.fault || one.fault->noticed_at == never || one.fault->fault_at == never) return "";
    if (one.fault->noticed_at < one.fault->fault_at) return "";
    const Time delay = one.fault->noticed_at - one.fault->fault_at;
    return delay == Time{0} ? "at once" : duration_text(delay);
}

// What went wrong, by the outcome's name; empty if only the control or the healed run failed, since the
// reason says so itself.
std::string label_of(const Case& one) {
    if (one.verdict == Verdict::pass) return "";
    if (one.differs_as_documented()) return "differs as documented: ";
    if (!one.skipped.empty() || (one.fault && one.fault->verdict == Verdict::pass)) return "";
    std::string label(one.fault ? name_of(one.fault->outcome) : name_of(one.verdict));
    if (one.fault && one.fault->outcome == Outcome::caught) label = "reaction";
    std::replace(label.begin(), label.end(), '_', ' ');
    return label + ": ";
}

std::string share_of(const std::vector<Case>& seeds) {
    if (seeds.size() < 2) return {};
    const auto passed = std::count_if(seeds.begin(), seeds.end(),
                                      [](const Case& seed) { return seed.verdict == Verdict::pass; });
    return fmt::format("{:>7}  ", fmt::format("{}/{}", passed, seeds.size()));
}

}  // namespace

std::string verdict_mark(Verdict verdict, const Style& style) {
    const std::string_view mark = verdict == Verdict::pass ? "✔" : verdict == Verdict::fail ? "✘" : "?";
    return style.paint(verdict_ink(verdict), mark);
}

std::string scenario_line(const std::vector<Case>& seeds, std::size_t name_columns, const Style& style) {
    if (seeds.empty()) return {};
    constexpr std::size_t soon_columns = 11;
    const Case& one = worst_of(seeds);
    const std::string name = one.scenario.substr(one.scenario.find('/') + 1);
    const std::string share = share_of(seeds), label = label_of(one);
    const std::size_t used = 4 + name_columns + share.size() + soon_columns + 2 + columns_of(label);
    const std::size_t room = style.width == 0 ? 0 : std::max<std::size_t>(style.width, used + 20) - used;
    const std::string words = style.cut(noticed(one, room), room);
    const bool documented = one.differs_as_documented();
    const std::string mark = documented            ? style.paint(Ink::yellow, "≠")
                             : one.skipped.empty() ? verdict_mark(one.verdict, style)
                                                   : style.paint(Ink::yellow, "–");
    return fmt::format("  {} {}{}{}  {}{}\n", mark, pad_right(style.cut(name, name_columns), name_columns),
                       style.paint(Ink::dim, share),
                       style.paint(Ink::cyan, pad_left(format_delay(one), soon_columns)),
                       style.paint(documented ? Ink::yellow : verdict_ink(one.verdict), label),
                       one.verdict == Verdict::pass ? style.paint(Ink::dim, words) : words);
}

// ── A table of what became of the alarms; a column that would be all zeros is not printed.

namespace {

struct Column {
    std::string head;
    std::vector<std::string> cells;  // one for each row, the total last
    Ink ink = Ink::plain;
};

std::vector<const ScoreRow*> all_rows(const Scorecard& card) {
    std::vector<const ScoreRow*> rows;
    for (const ScoreRow& row : card.rows) rows.push_back(&row);
    rows.push_back(&card.total);
    return rows;
}

template <class Text>
Column column(const Scorecard& card, std::string head, Text text, Ink ink = Ink::plain) {
    Column result{std::move(head), {}, ink};
    for (const ScoreRow* row : all_rows(card)) result.cells.push_back(text(*row));
    return result;
}

Ink outcome_ink(Outcome outcome) {
    if (outcome == Outcome::caught || outcome == Outcome::as_unseen) return Ink::green;
    return outcome == Outcome::not_applied || outcome == Outcome::crashed ? Ink::yellow : Ink::red;
}

std::vector<Column> columns_for(const Scorecard& card) {
    std::vector<Column> columns;
    columns.push_back(column(card, "cases", [](const ScoreRow& row) { return std::to_string(row.cases); }));
    for (const auto& [outcome, count] : card.total.outcomes) {
        std::string head(name_of(outcome));
        std::replace(head.begin(), head.end(), '_', ' ');
        columns.push_back(column(
            card, head,
            [outcome = outcome](const ScoreRow& row) {
                const auto found = row.outcomes.find(outcome);
                return found == row.outcomes.end() ? std::string("·") : std::to_string(found->second);
            },
            outcome_ink(outcome)));
    }
    columns.push_back(
        column(card, "precision", [](const ScoreRow& row) { return share_text(row.precision()); }));
    columns.push_back(column(card, "recall", [](const ScoreRow& row) { return share_text(row.recall()); }));
    columns.push_back(
        column(card, "named", [](const ScoreRow& row) { return share_text(row.localisation()); }));
    columns.push_back(column(card, "median", [](const ScoreRow& row) {
        return row.delays.empty() ? std::string("—") : duration_text(row.median_delay());
    }));
    columns.push_back(column(card, "longest", [](const ScoreRow& row) {
        return row.delays.empty() ? std::string("—") : duration_text(row.longest_delay());
    }));
    return columns;
}

std::size_t widest(const Column& column) {
    std::size_t width = columns_of(column.head);
    for (const std::string& cell : column.cells) width = std::max(width, columns_of(cell));
    return width;
}

}  // namespace

std::string scorecard_table(const Scorecard& card, const std::string& title, const Style& style) {
    const std::vector<Column> columns = columns_for(card);
    const std::vector<const ScoreRow*> rows = all_rows(card);
    std::size_t names = columns_of(title);
    for (const ScoreRow* row : rows) names = std::max(names, columns_of(row->name));

    std::string head = "  " + pad_right(title, names), line = "  " + std::string(names, ' ');
    for (const Column& one : columns) head += "  " + pad_left(one.head, widest(one));
    std::string text = style.paint(Ink::dim, head) + "\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool last = i + 1 == rows.size();
        line = "  " + style.paint(last ? Ink::bold : Ink::plain, pad_right(rows[i]->name, names));
        for (const Column& one : columns) {
            const bool empty = one.cells[i] == "·" || one.cells[i] == "—";
            line += "  " + style.paint(empty ? Ink::dim : one.ink, pad_left(one.cells[i], widest(one)));
        }
        text += line + "\n";
    }
    return text;
}

std::string last_line(const Scorecard& card, double seconds, const Style& style) {
    const auto of = [&](Verdict verdict) {
        const auto found = card.total.verdicts.find(verdict);
        return found == card.total.verdicts.end() ? std::size_t{0} : found->second;
    };
    const auto part = [&](Verdict verdict, Ink ink) {
        const std::size_t count = of(verdict);
        return style.paint(count > 0 ? ink : Ink::dim, fmt::format("{} {}", count, name_of(verdict)));
    };
    std::string text = fmt::format("  {} · {} · {}", part(Verdict::pass, Ink::green),
                                   part(Verdict::fail, Ink::red), part(Verdict::unknown, Ink::yellow));
    if (card.total.quiet_due > 0) {
        text += fmt::format(" · control and healed runs quiet {}/{}", card.total.quiet, card.total.quiet_due);
        if (card.total.as_control > 0)
            text += fmt::format(" ({} healed runs equal their control)", card.total.as_control);
    }
    return text + style.paint(Ink::dim, fmt::format(" · {:.1f} s", seconds)) + "\n";
}

}  // namespace deadrank::results::reports

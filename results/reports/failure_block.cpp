// results/reports/failure_block.cpp — First how to see it again, then who was blamed and who it was, then the
// evidence.
#include <algorithm>
#include <fmt/format.h>

#include "results/judging/alarm.h"
#include "results/reports/again.h"
#include "results/reports/terminal.h"
#include "results/text/words.h"

namespace deadrank::results::reports {

namespace {

constexpr std::size_t label_columns = 14;

class Block {
public:
    explicit Block(const Style& style) : style_(style) {}

    // `text` after its label; further lines stand under the first.
    void row(std::string_view label, std::string_view text, Ink ink = Ink::plain) {
        const std::size_t room = style_.width > label_columns + 24 ? style_.width - label_columns - 4 : 0;
        bool first = true;
        for (const std::string& line : wrap(text, room)) {
            text_ += "    " + style_.paint(Ink::dim, pad_right(first ? label : "", label_columns)) +
                     style_.paint(ink, line) + "\n";
            first = false;
        }
    }
    // As it is, cut and not wrapped: a command or a line of evidence.
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
    std::string text = one.expect.symptom;
    if (!one.expect.unseen.empty()) return "silence, since " + one.expect.unseen;
    if (!one.expect.blames.empty() && one.fault) {
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
    for (const std::string& command : commands_to_see_again(one)) {
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

}  // namespace deadrank::results::reports

// runners/learn/render.cpp — Prose is wrapped at 96 columns or the terminal; clues are cut, never wrapped.
#include "runners/learn/render.h"

#include <algorithm>
#include <fmt/format.h>

namespace deadrank::runners::learn {

namespace {

using results::reports::Clue;
using results::reports::Ink;
using results::reports::pad_right;

std::size_t width_of(const Style& style) {
    return style.width == 0 ? 96 : std::min<std::size_t>(style.width, 96);
}

std::string heading(std::string_view text, const Style& style) {
    return "\n" + style.paint(Ink::bold, text) + "\n";
}

std::string block(const Clue& clue, const Style& style) {
    std::string text = "  " + style.paint(Ink::cyan, clue.title) + "\n";
    const std::size_t room = style.width > 8 ? style.width - 4 : 0;
    for (const std::string& line : clue.lines) text += "    " + style.cut(line, room) + "\n";
    return text;
}

std::string sides_text(const Lesson& lesson, const Style& style) {
    std::size_t wide = 12;
    for (const Side& side : lesson.sides) wide = std::max(wide, results::reports::columns_of(side.with_bug));
    std::string text =
        "  " + style.paint(Ink::dim, pad_right("", 20) + pad_right("with the bug", wide + 2) + "healed") +
        "\n";
    for (const Side& side : lesson.sides)
        text += "  " + style.paint(Ink::dim, pad_right(side.label, 20)) + pad_right(side.with_bug, wide + 2) +
                side.healed + "\n";
    return text;
}

}  // namespace

std::string paragraph(std::string_view text, const Style& style, std::size_t indent) {
    std::string out;
    for (const std::string& line : results::reports::wrap(text, width_of(style) - indent))
        out += std::string(indent, ' ') + line + "\n";
    return out;
}

std::string opening_text(const Lesson& lesson, const Style& style) {
    std::string text =
        style.paint(Ink::bold, lesson.title) + "\n" +
        style.paint(Ink::dim, fmt::format("{} · seed {} · {}", lesson.stage, lesson.seed, lesson.job)) +
        "\n\n" + paragraph(lesson.sees, style);
    for (const Clue& clue : lesson.clues) text += "\n" + block(clue, style);
    return text + heading("The question", style) + paragraph(lesson.question, style);
}

std::string challenge_text(const Challenge& challenge, const Style& style) {
    std::string text = "\n" + paragraph(style.paint(Ink::bold, challenge.asks), style);
    char letter = 'a';
    for (const std::string& choice : challenge.choices) {
        const auto lines = results::reports::wrap(choice, width_of(style) - 8);
        for (std::size_t i = 0; i < lines.size(); ++i)
            text += (i == 0 ? fmt::format("    {}  ", letter) : std::string(7, ' ')) + lines[i] + "\n";
        ++letter;
    }
    return text;
}

std::string answer_text(const Lesson& lesson, const Style& style) {
    std::string text = heading("What it was", style) + paragraph(lesson.answer, style);
    if (lesson.culprit != "nobody") text += paragraph("Really at fault: " + lesson.culprit + ".", style);
    if (!lesson.noticed.empty()) text += paragraph(lesson.noticed, style);
    text += paragraph("Symptom, " + lesson.symptom, style) + paragraph("Cause, " + lesson.cause, style);
    text += heading("The fix", style) + paragraph(lesson.why, style) + paragraph(lesson.fix, style);
    if (!lesson.sides.empty()) {
        text +=
            heading("The same job, with the bug and healed", style) + sides_text(lesson, style) + "\n" +
            block({"with the bug: " + lesson.picture_with_bug.title, lesson.picture_with_bug.lines}, style) +
            block({"healed: " + lesson.picture_healed.title, lesson.picture_healed.lines}, style);
    }
    text += "\n" +
            style.paint(Ink::dim, fmt::format("  See it drawn: deadrank run {} --seed {} --html report.html",
                                              lesson.scenario, lesson.seed)) +
            "\n";
    std::string reports;
    for (const std::string& one : lesson.reports) reports += (reports.empty() ? "" : ", ") + one;
    if (!reports.empty()) text += style.paint(Ink::dim, "  Reported in public as " + reports) + "\n";
    return text;
}

std::string primer_text(const Style& style) {
    std::string text = style.paint(Ink::bold, "Before the first lesson") + "\n\n";
    for (const std::string& one : primer()) text += paragraph(one, style) + "\n";
    return text;
}

}  // namespace deadrank::runners::learn

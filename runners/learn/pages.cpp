// runners/learn/pages.cpp — Lessons as text and as pages.
#include "runners/learn/pages.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/reports/output.h"
#include "results/reports/page.h"
#include "results/reports/style.h"

namespace deadrank::runners::learn {

// ── Prose is wrapped at 96 columns or the terminal; clues are cut, never wrapped.

namespace {

using results::reports::Clue;
using results::reports::html_text;
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

// ── Plain HTML without scripts: a hint is a <details>.

namespace {

using results::reports::Clue;

std::string around(std::string_view tag, std::string_view text) {
    return text.empty() ? "" : fmt::format("<{}>{}</{}>\n", tag, text, tag.substr(0, tag.find(' ')));
}
std::string page_paragraph(std::string_view text) { return around("p", html_text(text)); }

std::string clue_html(const Clue& clue, std::size_t lines_most = 100, std::size_t letters = 0) {
    std::string lines;
    std::size_t told = 0;
    for (const std::string& line : clue.lines) {
        if (told++ == lines_most) break;
        lines += results::reports::Style{}.cut(line, letters) + "\n";
    }
    return fmt::format("<figure><figcaption>{}</figcaption><pre>{}</pre></figure>\n", html_text(clue.title),
                       html_text(lines));
}

std::string choices_html(const Challenge& challenge) {
    std::string list;
    for (const std::string& choice : challenge.choices) list += around("li", html_text(choice));
    return page_paragraph(challenge.asks) + around("ol type=\"a\"", list);
}

std::string sides_html(const Lesson& lesson) {
    if (lesson.sides.empty()) return {};
    std::string rows = "<tr><th></th><th>with the bug</th><th>healed</th></tr>\n";
    for (const Side& side : lesson.sides) {
        rows += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td></tr>\n", html_text(side.label),
                            html_text(side.with_bug), html_text(side.healed));
    }
    return around("table", rows);
}

std::string frame(std::string_view title, std::string_view body, std::string_view kind) {
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\" class=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
        kind, html_text(title), results::reports::asset("lesson.css"), body);
}

std::string head(const Lesson& lesson) {
    return fmt::format("<h1>{}</h1>\n<p class=\"where\">{} · {} · seed {} · {}</p>\n", html_text(lesson.title),
                       html_text(lesson.stage), html_text(lesson.scenario), lesson.seed, html_text(lesson.job));
}

std::string told_answer(const Lesson& lesson) {
    std::string text = page_paragraph(lesson.answer);
    if (lesson.culprit != "nobody") text += page_paragraph("Really at fault: " + lesson.culprit + ".");
    return text + page_paragraph(lesson.noticed) + page_paragraph("Symptom, " + lesson.symptom) +
           page_paragraph("Cause, " + lesson.cause);
}

std::string solutions(const Lesson& lesson) {
    std::string list;
    for (const Challenge& challenge : lesson.challenges)
        list += around("li", html_text(challenge.asks + " " + challenge.solution()));
    return around("ul", list);
}

}  // namespace

std::string page_name(const Lesson& lesson) {
    std::string name = lesson.scenario;
    std::replace(name.begin(), name.end(), '/', '-');
    return name;
}

std::string lesson_page(const Lesson& lesson) {
    std::string body = "<p class=\"where\"><a href=\"index.html\">All lessons</a> · <a href=\"" +
                       html_text(page_name(lesson)) + ".handout.html\">Handout to print</a></p>\n" + head(lesson) +
                       page_paragraph(lesson.sees);
    for (const Clue& clue : lesson.clues) body += clue_html(clue);
    body += "<h2>The question</h2>\n" + page_paragraph(lesson.question);
    for (const Challenge& challenge : lesson.challenges) body += choices_html(challenge);
    int number = 0;
    for (const std::string& hint : lesson.hints)
        body +=
            fmt::format("<details><summary>Hint {}</summary>{}</details>\n", ++number, page_paragraph(hint));
    body += "<details><summary>What it was, and the fix</summary>\n" + solutions(lesson) +
            told_answer(lesson) + "<h2>The fix</h2>\n" + page_paragraph(lesson.why) +
            page_paragraph(lesson.fix) + sides_html(lesson);
    if (!lesson.sides.empty()) {
        body += clue_html({"with the bug: " + lesson.picture_with_bug.title, lesson.picture_with_bug.lines});
        body += clue_html({"healed: " + lesson.picture_healed.title, lesson.picture_healed.lines});
    }
    body += page_paragraph("See it drawn: deadrank run " + lesson.scenario +
                           fmt::format(" --seed {}", lesson.seed) + " --html report.html") +
            "</details>\n";
    return frame(lesson.title, body, "lesson");
}

std::string handout_page(const Lesson& lesson) {
    constexpr std::size_t lines = 8, letters = 118;
    std::string body = head(lesson) + page_paragraph(lesson.sees);
    std::size_t shown = 0;
    for (const Clue& clue : lesson.clues) {
        if (shown++ < 4) body += clue_html(clue, lines, letters);
    }
    body += "<section class=\"two\"><div><h2>The question</h2>\n" + page_paragraph(lesson.question) +
            "<h2>Hints</h2>\n";
    std::string hints;
    for (const std::string& hint : lesson.hints) hints += around("li", html_text(hint));
    body += around("ol", hints) + "<h2>What it was</h2>\n" + page_paragraph(lesson.answer) +
            page_paragraph("Cause, " + lesson.cause) + "</div>\n<div><h2>The fix</h2>\n" +
            page_paragraph(lesson.why) + page_paragraph(lesson.fix) + sides_html(lesson) +
            "</div></section>\n";
    std::string reports;
    for (const std::string& one : lesson.reports) reports += (reports.empty() ? "" : ", ") + one;
    body += fmt::format("<footer>Reported in public as {} · deadrank learn {} --seed {}</footer>\n",
                        html_text(reports), html_text(lesson.scenario), lesson.seed);
    return frame(lesson.title + " (handout)", body, "handout");
}

std::string index_page(const std::vector<Lesson>& lessons) {
    std::string body = "<h1>Bugs of distributed training, to be diagnosed</h1>\n";
    for (const std::string& words : primer()) body += page_paragraph(words);
    std::string stage, list;
    for (const Lesson& lesson : lessons) {
        if (lesson.stage != stage) {
            body += around("ol", list) + "<h2>" + html_text(lesson.stage) + "</h2>\n";
            stage = lesson.stage;
            list.clear();
        }
        list += fmt::format(
            "<li><a href=\"{0}.html\">{1}</a> <span class=\"where\">{2} · <a "
            "href=\"{0}.handout.html\">handout</a></span></li>\n",
            html_text(page_name(lesson)), html_text(lesson.title), html_text(lesson.sees));
    }
    return frame("deadrank learn", body + around("ol", list), "lesson");
}

}  // namespace deadrank::runners::learn

// runners/learn/pages.cpp — Lessons as text and as pages.
#include "runners/learn/pages.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/record/words.h"
#include "results/reports/output.h"
#include "results/reports/page.h"
#include "results/reports/style.h"

namespace deadrank::runners::learn {

// ── Prose is wrapped at 96 columns or the terminal; clues are cut to a terminal's width, never wrapped.

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

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
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

std::string worth_text(const Lesson& lesson) {
    return fmt::format("{} · {} minutes · {}", difficulty_name(lesson.skill->difficulty), lesson.minutes,
                       lesson.skill->name);
}

std::vector<std::string> story_of(const Lesson& lesson) {
    std::vector<std::string> story;
    if (!lesson.sees.empty()) story.push_back(lesson.sees);
    if (!lesson.reported.empty()) story.push_back("The report says: " + lesson.reported);
    std::string seen = "The run shows:";
    for (const std::string& one : lesson.seen) seen += " " + one;
    story.push_back(std::move(seen));
    return story;
}

std::string opening_text(const Lesson& lesson, const Style& style) {
    std::string text =
        style.paint(Ink::bold, lesson.number) + "\n" +
        style.paint(Ink::dim, fmt::format("{} · seed {}", worth_text(lesson), lesson.seed)) + "\n" +
        style.paint(Ink::dim, lesson.job + "; " + lesson.watched) + "\n";
    for (const std::string& one : story_of(lesson)) text += "\n" + paragraph(one, style);
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
    std::string text = heading("What it was: " + lesson.title, style) + paragraph(lesson.answer, style);
    if (lesson.culprit != "nobody") text += paragraph("Really at fault: " + lesson.culprit + ".", style);
    if (!lesson.noticed.empty()) text += paragraph(lesson.noticed, style);
    text += paragraph("Symptom, " + lesson.symptom, style) + paragraph("Cause, " + lesson.cause, style);
    text += heading("The fix", style) + paragraph(lesson.why, style) + paragraph(lesson.fix, style);
    if (!lesson.patch.empty()) text += "\n" + block({"the program's fix", lines_of(lesson.patch)}, style);
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
    if (!lesson.token.empty())
        text += style.paint(Ink::dim, "  Play it again: deadrank replay " + lesson.token) + "\n";
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

// ── Plain HTML: a hint is a <details>; the only scripts are those of the timeline and of the index's search.

namespace {

using results::reports::Clue;

std::string around(std::string_view tag, std::string_view text) {
    return text.empty() ? "" : fmt::format("<{}>{}</{}>\n", tag, text, tag.substr(0, tag.find(' ')));
}
std::string page_paragraph(std::string_view text) { return around("p", html_text(text)); }

std::string clue_html(const Clue& clue) {
    std::string lines;
    for (const std::string& line : clue.lines) lines += line + "\n";
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

std::string head(const Lesson& lesson, std::string_view tag = "h1") {
    return fmt::format("<{0}>{1}</{0}>\n<p class=\"where\">{2} · seed {3}<br>{4}; {5}</p>\n", tag,
                       html_text(lesson.number), html_text(worth_text(lesson)), lesson.seed,
                       html_text(lesson.job), html_text(lesson.watched));
}

std::string story_html(const Lesson& lesson) {
    std::string text;
    for (const std::string& one : story_of(lesson)) text += page_paragraph(one);
    return text;
}

std::string evidence_html(const Lesson& lesson) {
    std::string text;
    for (const Clue& clue : lesson.clues) text += clue_html(clue);
    return text;
}

// A line to write on, and what fits there.
std::string questions_html(const Lesson& lesson) {
    std::string body = page_paragraph(lesson.question);
    for (const Challenge& challenge : lesson.challenges)
        body += "<div class=\"ask\">" + choices_html(challenge) + "<p class=\"blank\">Answer:</p></div>\n";
    return body + "<p class=\"blank\">How do you know?</p>\n<p class=\"blank\">&nbsp;</p>\n";
}

std::string answer_paragraphs(const Lesson& lesson) {
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

std::string fix_html(const Lesson& lesson) {
    std::string text = page_paragraph(lesson.why) + page_paragraph(lesson.fix);
    if (!lesson.patch.empty()) text += clue_html({"the program's fix", lines_of(lesson.patch)});
    return text + sides_html(lesson);
}

std::string source_html(const Lesson& lesson) {
    std::string reports;
    for (const std::string& one : lesson.reports) reports += (reports.empty() ? "" : ", ") + one;
    return fmt::format("<footer>{}deadrank learn {} --seed {}{}</footer>\n",
                       reports.empty() ? "" : "Reported in public as " + html_text(reports) + " · ",
                       html_text(lesson.scenario), lesson.seed,
                       lesson.token.empty() ? "" : "<br>deadrank replay " + html_text(lesson.token));
}

std::string answers_html(const Lesson& lesson, std::string_view tag) {
    std::string hints;
    for (const std::string& hint : lesson.hints) hints += around("li", html_text(hint));
    return fmt::format("<{0}>{1}: {2}</{0}>\n", tag, html_text(lesson.number), html_text(lesson.title)) +
           solutions(lesson) + answer_paragraphs(lesson) + "<h3>Hints that were offered</h3>\n" +
           around("ol", hints) + "<h3>The fix</h3>\n" + fix_html(lesson) + source_html(lesson);
}

}  // namespace

std::string lesson_page(const Lesson& lesson) {
    const std::string name = html_text(lesson.number);
    std::string body = fmt::format(
        "<p class=\"where\"><a href=\"index.html\">All lessons</a> · <a href=\"{0}.sheet.html\">Sheet to "
        "print</a> · <a href=\"{0}.run.html\">The run's timeline on a page of its own</a></p>\n",
        name);
    body += head(lesson) + story_html(lesson) +
            fmt::format("<iframe src=\"{0}.run.html\" title=\"Timeline of the run of {0}\"></iframe>\n", name) +
            evidence_html(lesson) + "<h2>The question</h2>\n" + page_paragraph(lesson.question);
    for (const Challenge& challenge : lesson.challenges) body += choices_html(challenge);
    int number = 0;
    for (const std::string& hint : lesson.hints)
        body +=
            fmt::format("<details><summary>Hint {}</summary>{}</details>\n", ++number, page_paragraph(hint));
    return frame(lesson.number, body, "lesson");
}

std::string question_sheet(const Lesson& lesson) {
    return frame(lesson.number + ", questions",
                 head(lesson) + "<p class=\"blank\">Name:</p>\n" + story_html(lesson) + evidence_html(lesson) +
                     "<h2>The question</h2>\n" + questions_html(lesson),
                 "sheet");
}

std::string answer_sheet(const Lesson& lesson) {
    std::string body = answers_html(lesson, "h1");
    if (!lesson.sides.empty()) {
        body += clue_html({"with the bug: " + lesson.picture_with_bug.title, lesson.picture_with_bug.lines});
        body += clue_html({"healed: " + lesson.picture_healed.title, lesson.picture_healed.lines});
    }
    body += fmt::format(
        "<p class=\"screen\"><a href=\"{0}.replay.html\">The whole report of this run</a>: with the bug, "
        "without it and healed. <a href=\"../{1}/{0}.html\">The lesson</a> · <a href=\"index.html\">All "
        "lessons</a></p>\n",
        html_text(lesson.number), students_folder);
    return frame(lesson.number + ", answers", body, "sheet");
}

std::string quiz_page(const std::vector<Lesson>& lessons, std::uint64_t seed) {
    std::string body = fmt::format("<h1>Quiz {}</h1>\n<p class=\"where\">{} questions, {} minutes</p>\n"
                                   "<p class=\"blank\">Name:</p>\n",
                                   seed, lessons.size(), minutes_of(lessons));
    for (std::size_t i = 0; i < lessons.size(); ++i)
        body += fmt::format("<section class=\"sheet-of-quiz\">\n<p class=\"where\">{} of {}</p>\n", i + 1,
                            lessons.size()) +
                head(lessons[i], "h2") + story_html(lessons[i]) + evidence_html(lessons[i]) +
                questions_html(lessons[i]) + "</section>\n";
    return frame(fmt::format("Quiz {}", seed), body, "sheet");
}

std::string quiz_answers(const std::vector<Lesson>& lessons, std::uint64_t seed) {
    std::string body = fmt::format("<h1>Quiz {}, answers</h1>\n", seed);
    for (std::size_t i = 0; i < lessons.size(); ++i)
        body += fmt::format("<p class=\"where\">{} of {}</p>\n", i + 1, lessons.size()) + answers_html(lessons[i], "h2");
    return frame(fmt::format("Quiz {}, answers", seed), body, "sheet");
}

int minutes_of(const std::vector<Lesson>& lessons) {
    int minutes = 0;
    for (const Lesson& lesson : lessons) minutes += lesson.minutes;
    return minutes;
}

std::string index_page(const std::vector<Lesson>& lessons) {
    std::string body = "<h1>Bugs of distributed training, to be diagnosed</h1>\n";
    for (const std::string& words : primer()) body += page_paragraph(words);
    std::string kinds, rows;
    const Skill* skill = nullptr;
    for (const Lesson& lesson : lessons) {
        if (lesson.skill != skill) {
            skill = lesson.skill;
            kinds +=
                fmt::format("<option value=\"{}\">{}</option>", html_text(skill->id), html_text(skill->name));
            const auto before = std::find_if(skills().begin(), skills().end(),
                                             [&](const Skill& one) { return one.id == skill->before; });
            rows += fmt::format(
                "<tr class=\"skill\" data-skill=\"{}\"><th colspan=\"5\">{}: {}{}</th></tr>\n",
                html_text(skill->id), html_text(skill->name), html_text(skill->teaches),
                before == skills().end() ? "" : fmt::format(". After {}", html_text(before->name)));
        }
        rows += fmt::format(
            "<tr data-skill=\"{4}\" data-difficulty=\"{1}\"><td><input type=\"checkbox\" value=\"{0}\" "
            "aria-label=\"{0} is solved\"></td><td><a href=\"{0}.html\">{0}</a></td><td>{1}</td><td>{2} "
            "min</td><td>{3} <a href=\"{0}.sheet.html\">sheet</a></td></tr>\n",
            html_text(lesson.number), difficulty_name(lesson.skill->difficulty), lesson.minutes,
            html_text(lesson.sees.empty() ? "The report says: " + lesson.reported : lesson.sees),
            html_text(lesson.skill->id));
    }
    body += fmt::format(
        "<p><label>Search <input id=\"search\" type=\"search\"></label> <label>Skill <select "
        "id=\"skill\"><option "
        "value=\"\">all</option>{2}</select></label> <label>Difficulty <select id=\"difficulty\"><option "
        "value=\"\">all</option><option>easy</option><option>medium</option><option>hard</option></select></"
        "label> "
        "<label><input id=\"open\" type=\"checkbox\"> not solved yet</label></p>\n<p class=\"where\">{0}, "
        "{1} minutes, "
        "<span id=\"progress\"></span></p>\n",
        results::counted(lessons.size(), "lesson"), minutes_of(lessons), kinds);
    body += around("table id=\"lessons\"", rows);
    // What was solved stays in the browser. A heading stays as long as one of its rows does.
    body += R"js(<script>
"use strict";
const field = (id) => document.getElementById(id);
const rows = [...document.querySelectorAll("#lessons tr:not(.skill)")];
const box = (row) => row.querySelector("input");
const kept = (change) => {
  try { return change(window.localStorage); } catch { return null; }
};
const show = () => {
  const words = field("search").value.toLowerCase().split(" ").filter(Boolean);
  for (const row of rows)
    row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word)) ||
      (field("skill").value && row.dataset.skill !== field("skill").value) ||
      (field("difficulty").value && row.dataset.difficulty !== field("difficulty").value) ||
      (field("open").checked && box(row).checked);
  for (const heading of document.querySelectorAll("#lessons tr.skill"))
    heading.hidden = !rows.some((row) => !row.hidden && row.dataset.skill === heading.dataset.skill);
  field("progress").textContent = `${rows.filter((row) => box(row).checked).length} solved`;
};
for (const row of rows) {
  const name = `deadrank.solved.${box(row).value}`;
  box(row).checked = kept((store) => store.getItem(name)) === "yes";
  box(row).addEventListener("change", () => {
    kept((store) => box(row).checked ? store.setItem(name, "yes") : store.removeItem(name));
    show();
  });
}
for (const id of ["search", "skill", "difficulty", "open"]) field(id).addEventListener("input", show);
show();
</script>
)js";
    return frame("deadrank learn", body, "lesson");
}

std::string teacher_page(const std::vector<Lesson>& lessons) {
    std::string rows = "<tr><th>lesson</th><th>scenario</th><th>what it is</th><th>answers</th></tr>\n";
    for (const Lesson& lesson : lessons) {
        std::string answers;
        for (const Challenge& challenge : lesson.challenges)
            answers += (answers.empty() ? "" : "; ") +
                       (challenge.choices.empty() ? challenge.asks + " " + challenge.solution()
                                                  : std::string(1, static_cast<char>('a' + challenge.choice)));
        rows += fmt::format(
            "<tr><td><a href=\"../{5}/{0}.html\">{0}</a><br><a href=\"{0}.answers.html\">answers</a></td>"
            "<td>{1}</td><td>{2}. {3}</td><td>{4}</td></tr>\n",
            html_text(lesson.number), html_text(lesson.scenario), html_text(lesson.title),
            html_text(lesson.cause), html_text(answers), students_folder);
    }
    return frame("For teachers", "<h1>For teachers: what each lesson is</h1>\n" + around("table", rows), "lesson");
}

}  // namespace deadrank::runners::learn

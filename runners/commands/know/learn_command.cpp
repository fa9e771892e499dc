// runners/commands/know/learn_command.cpp — deadrank learn: lessons about bugs, made from played runs: the
// course, one lesson, a quiz, or pages.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <vector>

#include "results/record/text_file.h"
#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/learn/course.h"
#include "runners/learn/dialogue.h"
#include "runners/learn/lesson.h"
#include "runners/learn/pages.h"
#include "runners/releases/collection.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners::commands {

// The course as a list, with the solved lessons marked.
void list_text(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress);
void list_json(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress);
void say_solved(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress);

using learn::Done;
using results::reports::Ink;
using results::reports::pad_right;

void list_text(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress) {
    constexpr std::size_t title_columns = 40;
    const auto style = style_of(stdout);
    std::string stage;
    for (const auto& scenario : course) {
        if (scenario.bug.stage != stage) {
            print_out("{}{}\n", stage.empty() ? "" : "\n", style.paint(Ink::bold, scenario.bug.stage));
            stage = scenario.bug.stage;
        }
        const Done* done = progress.find(scenario.id);
        const std::string_view mark = !done ? "·" : done->solved ? "✔" : "…";
        const std::string title = scenario.teach.title.empty() ? scenario.id : scenario.teach.title;
        print_out("  {} {}  {}\n", mark, pad_right(style.cut(title, title_columns), title_columns),
                  style.paint(Ink::dim, scenario.id));
    }
    say_solved(course, progress);
}

void list_json(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress) {
    auto all = results::reports::Json::array();
    for (const auto& scenario : course) {
        const Done* done = progress.find(scenario.id);
        all.push_back({{"id", scenario.id},
                       {"title", scenario.teach.title},
                       {"stage", scenario.bug.stage},
                       {"symptom", scenario.bug.symptom},
                       {"begun", done != nullptr},
                       {"solved", done && done->solved},
                       {"tries", done ? done->tries : 0},
                       {"hints", done ? done->hints : 0}});
    }
    print_out("{}\n", results::reports::dumped(all, 2));
}

void say_solved(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress) {
    const auto solved = std::count_if(course.begin(), course.end(), [&](const auto& scenario) {
        const Done* done = progress.find(scenario.id);
        return done && done->solved;
    });
    print_out("\n  {} of {} solved; deadrank learn goes on where you are.\n", solved,
              results::counted(course.size(), "lesson"));
}

namespace {

using learn::Done;
using learn::Lesson;
using learn::Way;
using results::reports::Ink;
using results::reports::Json;

struct LearnArguments {
    SelectionOptions selection;
    std::uint64_t seed = 1;
    std::size_t quiz = 0;
    std::string html;
    bool list = false, json = false, show = false, forget = false;
};

class LearnCommand {
public:
    LearnCommand(const LearnArguments& arguments, Session& session)
        : arguments_(arguments), session_(session) {}

    void operator()() {
        auto progress = read_progress();
        if (!progress) return;
        progress_ = std::move(*progress);
        if (arguments_.forget) return keep(progress_.forget());
        auto library = open_library(session_.executable, session_.extension, arguments_.selection.catalog);
        if (!session_.take(library)) return;
        // A bug of a published release must be named; its lesson is made from real processes.
        const auto& names = arguments_.selection.names;
        const bool real = !names.empty() && releases::open_collection(*library, names).has_value();
        if (real) library->catalog = library->data / "releases";
        auto selection = select(*library, arguments_.selection);
        if (!session_.take(selection)) return;
        for (const scenarios::Error& error : selection->broken) session_.complain(error);
        std::vector<scenarios::Scenario>& course = selection->scenarios;
        learn::in_course_order(course, library->taxonomy);
        if (arguments_.list && arguments_.json) return list_json(course, progress_);
        if (arguments_.list) return list_text(course, progress_);
        auto runner = make_runner(real ? "local" : "sim", session_.extension);
        if (!session_.take(runner)) return;
        const results::Detectors detectors = library->detectors();
        const learn::Classroom room{library->taxonomy, library->vocabulary, **runner, detectors};
        if (!arguments_.html.empty()) return write_pages(course, room);
        if (arguments_.quiz > 0) {
            const std::atomic<bool>& stop = stop_while_reading();
            examine(course, room);
            if (stop.load()) session_.code = exit_interrupted;
            return;
        }
        if (arguments_.show || arguments_.json) return show(course, room);
        const std::atomic<bool>& stop = stop_while_reading();
        teach(course, room);
        if (stop.load()) session_.code = exit_interrupted;
    }

private:
    std::optional<learn::Progress> read_progress() {
        const auto file = learn::Progress::usual_file();
        if (arguments_.forget) {
            std::error_code ignored;
            std::filesystem::remove(file, ignored);
        }
        auto progress = learn::Progress::read(file);
        if (!session_.take(progress)) return std::nullopt;
        return std::move(*progress);
    }
    void keep(const scenarios::Result<void>& written) {
        if (!written) session_.complain(written.error());
    }
    std::optional<Lesson> lesson(const scenarios::Scenario& scenario, std::uint64_t seed,
                                 const learn::Classroom& room) {
        auto made = learn::lesson_on(scenario, seed, room);
        if (!session_.take(made)) return std::nullopt;
        return std::move(*made);
    }

    // Starts at the first unsolved lesson; a named one is taught in any case.
    void teach(const std::vector<scenarios::Scenario>& course, const learn::Classroom& room) {
        learn::Talk talk{std::cin, style_of(stdout), isatty(STDIN_FILENO) == 0};
        if (progress_.empty()) print_out("{}\n", learn::primer_text(talk.style));
        const bool named = course.size() == 1;
        for (const auto& scenario : course) {
            const Done* before = progress_.find(scenario.id);
            if (before && before->solved && !named) continue;
            const auto made = lesson(scenario, arguments_.seed, room);
            if (!made) return;
            Done done;
            const Way way = learn::teach(*made, talk, done);
            keep(progress_.note(scenario.id, done));
            if (way == Way::quit) return say_solved(course, progress_);
            if (named) break;
            print_out("\n{}\n  enter goes on to the next lesson, q leaves > ", std::string(72, '-'));
            flush_out();
            std::string line;
            if (!std::getline(talk.in, line) || line.starts_with("q")) {
                print_out("\n");
                return say_solved(course, progress_);
            }
            print_out("\n");
        }
        say_solved(course, progress_);
    }
    void examine(const std::vector<scenarios::Scenario>& course, const learn::Classroom& room) {
        learn::Talk talk{std::cin, style_of(stdout), isatty(STDIN_FILENO) == 0};
        auto key = Json::array();
        std::size_t right = 0, asked = 0, number = 0;
        for (const auto& drawn : learn::draw_quiz(course, arguments_.quiz, arguments_.seed)) {
            const auto made = lesson(*drawn.scenario, drawn.seed, room);
            if (!made) return;
            if (arguments_.json) {
                key.push_back(learn::lesson_json(*made));
                continue;
            }
            print_out("{}\n", talk.style.paint(Ink::dim, fmt::format("{} of {}", ++number, arguments_.quiz)));
            if (learn::examine(*made, talk, right, asked) == Way::quit) break;
        }
        if (arguments_.json) print_out("{}\n", results::reports::dumped(key));
        if (!arguments_.json) print_out("  {} of {} right, quiz {}\n", right, asked, arguments_.seed);
    }

    void show(const std::vector<scenarios::Scenario>& course, const learn::Classroom& room) {
        const auto style = style_of(stdout);
        auto all = Json::array();
        for (const auto& scenario : course) {
            const auto made = lesson(scenario, arguments_.seed, room);
            if (!made) return;
            if (arguments_.json) {
                all.push_back(learn::lesson_json(*made));
                continue;
            }
            print_out("{}", learn::opening_text(*made, style));
            for (const auto& challenge : made->challenges)
                print_out("{}", learn::challenge_text(challenge, style));
            print_out("\n{}", style.paint(Ink::bold, "Hints\n"));
            for (const std::string& hint : made->hints) print_out("{}", learn::paragraph(hint, style));
            for (const auto& challenge : made->challenges)
                print_out("\n{}", learn::paragraph(challenge.asks + " " + challenge.solution(), style));
            print_out("{}\n", learn::answer_text(*made, style));
        }
        if (arguments_.json) print_out("{}\n", results::reports::dumped(all));
    }

    void write_pages(const std::vector<scenarios::Scenario>& course, const learn::Classroom& room) {
        const std::filesystem::path directory = arguments_.html;
        const std::atomic<bool>& stop = stop_on_interrupt();
        std::vector<Lesson> lessons;
        Progress progress;
        const auto write = [&](const std::string& text, const std::string& name) {
            const auto written = results::write_text(text, directory / name);
            if (!written) session_.complain(written.error());
            return written.has_value();
        };
        for (const auto& scenario : course) {
            if (stop.load()) break;
            progress.show(fmt::format("  {} of {}", lessons.size(), course.size()));
            auto made = lesson(scenario, arguments_.seed, room);
            if (!made) continue;
            const std::string name = learn::page_name(*made);
            if (!write(learn::lesson_page(*made), name + ".html")) return;
            if (!write(learn::handout_page(*made), name + ".handout.html")) return;
            lessons.push_back(std::move(*made));
        }
        progress.clear();
        if (!write(learn::index_page(lessons), "index.html")) return;
        if (stop.load()) session_.code = exit_interrupted;
        print_out("{} with a handout each, from {}\n", results::counted(lessons.size(), "lesson"),
                  (directory / "index.html").string());
    }

    const LearnArguments& arguments_;
    Session& session_;
    learn::Progress progress_;
};

void add_learn(CLI::App& command, Session& session) {
    command.footer(
        "A lesson shows what one sees and the evidence, asks, gives hints, and ends with the answer, the fix "
        "and "
        "the healed run beside the other. Without names the course goes through the stages, from the first "
        "lesson that is not solved. Another --seed makes other ranks and numbers of the same bug. Answers "
        "may "
        "come from a script on standard input. Progress is kept in $XDG_STATE_HOME/deadrank.\n\n"
        "Examples:\n"
        "  deadrank learn                                          the course, from where you are\n"
        "  deadrank learn communication/rank_leaves_all_reduce     one lesson\n"
        "  deadrank learn communication --quiz 5 --seed 42         a quiz; each seed asks otherwise\n"
        "  deadrank learn --quiz 5 --seed 42 --json                the same with its answers, for the "
        "teacher\n"
        "  deadrank learn --html lessons                           pages, and a handout of one sheet for "
        "each");
    auto arguments = std::make_shared<LearnArguments>();
    add_selection(command, arguments->selection);
    command.add_option("--seed", arguments->seed, "Which ranks and numbers, and which quiz [1]")
        ->type_name("N");
    command.add_option("--quiz", arguments->quiz, "Ask about N bugs, one try each, and count")
        ->type_name("N")
        ->check(CLI::Range(1, 1000).description(""));
    command.add_option("--html", arguments->html, "Write pages and handouts into DIR")->type_name("DIR");
    command.add_flag("--list", arguments->list, "List the lessons and what was solved");
    command.add_flag("--show", arguments->show, "Print whole lessons with their answers, asking nothing");
    command.add_flag("--forget", arguments->forget, "Forget all progress");
    add_json(command, arguments->json, "Lessons, list or quiz as JSON, with the answers");
    command.callback([arguments, &session] { LearnCommand(*arguments, session)(); });
}

}  // namespace

extern const CommandRow learn_row{"learn", "Teaches to diagnose bugs, from runs that really had them",
                                  add_learn};

}  // namespace deadrank::runners::commands

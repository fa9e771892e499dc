// runners/commands/know/learn_command.cpp — deadrank learn: lessons about bugs, made from played runs: the
// course, one lesson, a quiz, or pages.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>
#include <vector>

#include "results/record/text_file.h"
#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/ranges.h"
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
void print_solved(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress);

using learn::Done;
using results::reports::Ink;
using results::reports::pad_right;

namespace {

std::string first_words(const scenarios::Scenario& scenario) {
    return scenario.teach.sees;
}

}  // namespace

void list_text(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress) {
    const auto style = style_of(stdout);
    const learn::Skill* skill = nullptr;
    int minutes = 0;
    for (const auto& scenario : course) {
        const learn::Skill& own = learn::skill_for(scenario.bug);
        if (&own != skill) {
            print_out("{}{} {}\n", skill ? "\n" : "", style.paint(Ink::bold, own.name),
                      style.paint(Ink::dim, fmt::format("· {} · {}", learn::difficulty_name(own.difficulty), own.teaches)));
            skill = &own;
        }
        const Done* done = progress.find(scenario.id);
        const std::string_view mark = !done ? "·" : done->solved ? "✔" : "…";
        minutes += learn::minutes_for(scenario);
        const std::string head = fmt::format("  {} {}  {:>2} min  ", mark, learn::case_of(scenario.id),
                                             learn::minutes_for(scenario));
        const std::size_t room = style.width > 40 ? style.width - results::reports::columns_of(head) : 0;
        print_out("{}{}\n", head, style.cut(first_words(scenario), room));
    }
    print_out("\n  {} minutes in all.", minutes);
    print_solved(course, progress);
}

void list_json(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress) {
    auto all = results::reports::Json::array();
    for (const auto& scenario : course) {
        const Done* done = progress.find(scenario.id);
        const learn::Skill& skill = learn::skill_for(scenario.bug);
        all.push_back({{"case", learn::case_of(scenario.id)},
                       {"id", scenario.id},
                       {"title", scenario.teach.title},
                       {"stage", scenario.bug.stage},
                       {"symptom", scenario.bug.symptom},
                       {"cause", scenario.bug.cause},
                       {"skill", skill.id},
                       {"teaches", skill.teaches},
                       {"after", skill.before},
                       {"difficulty", learn::difficulty_name(skill.difficulty)},
                       {"minutes", learn::minutes_for(scenario)},
                       {"sees", scenario.teach.sees},
                       {"begun", done != nullptr},
                       {"solved", done && done->solved},
                       {"tries", done ? done->tries : 0},
                       {"hints", done ? done->hints : 0}});
    }
    print_out("{}\n", results::reports::dumped(all, 2));
}

void print_solved(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress) {
    const auto solved = std::count_if(course.begin(), course.end(), [&](const auto& scenario) {
        const Done* done = progress.find(scenario.id);
        return done && done->solved;
    });
    print_out("\n  {} of {} solved; deadrank learn goes on with the first that is not.\n", solved,
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
    std::string html, search;
    bool list = false, json = false, show = false, forget = false, course = false;
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
        auto selection = select_lessons(*library);
        if (!session_.take(selection)) return;
        for (const scenarios::Error& error : selection->broken) session_.complain(error);
        std::vector<scenarios::Scenario>& course = selection->scenarios;
        learn::in_course_order(course);
        if (arguments_.course) course = learn::ten_lessons(course);
        if (!arguments_.search.empty())
            std::erase_if(course, [&](const auto& scenario) { return !has_words(scenario, arguments_.search); });
        if (arguments_.list && arguments_.json) return list_json(course, progress_);
        if (arguments_.list) return list_text(course, progress_);
        auto runner = make_runner(real ? "local" : "sim", session_.extension);
        if (!session_.take(runner)) return;
        const results::Detectors detectors = library->detectors();
        const learn::Classroom room{library->taxonomy, library->vocabulary, **runner, detectors};
        if (arguments_.html.ends_with(".html")) {
            return session_.complain(
                {scenarios::ErrorCode::usage,
                 fmt::format("--html '{}' names a file; pages need a directory", arguments_.html),
                 "name a directory, as in --quiz 5 --html quiz",
                 {}});
        }
        if (arguments_.quiz > 0 && !arguments_.html.empty()) return write_quiz(course, room);
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
    // Names may be numbers of lessons, which no selection of scenarios knows.
    scenarios::Result<Selection> select_lessons(const Library& library) const {
        SelectionOptions options = arguments_.selection;
        std::vector<std::string> numbers;
        std::erase_if(options.names, [&](const std::string& name) {
            if (name.starts_with("case-")) numbers.push_back(name);
            return name.starts_with("case-");
        });
        if (numbers.empty()) return select(library, options);
        Selection chosen;
        if (!options.names.empty()) {
            auto named = select(library, options);
            if (!named) return named;
            chosen = std::move(*named);
        }
        options.names.clear();
        auto all = select(library, options);
        if (!all) return all;
        for (const std::string& number : numbers) {
            const auto found =
                std::find_if(all->scenarios.begin(), all->scenarios.end(),
                             [&](const auto& scenario) { return learn::case_of(scenario.id) == number; });
            if (found == all->scenarios.end())
                return scenarios::refuse(scenarios::ErrorCode::usage, fmt::format("there is no lesson '{}'", number),
                                         "deadrank learn --list has their numbers");
            chosen.scenarios.push_back(*found);
        }
        return chosen;
    }
    // Every word occurs in the lesson's number, story, question or skill.
    static bool has_words(const scenarios::Scenario& scenario, std::string_view search) {
        const learn::Skill& skill = learn::skill_for(scenario.bug);
        const std::string text = results::lowered(
            fmt::format("{} {} {} {} {} {}", learn::case_of(scenario.id), scenario.teach.sees,
                        scenario.teach.question, skill.name, skill.teaches,
                        learn::difficulty_name(skill.difficulty)));
        const auto words = results::reports::wrap(results::lowered(search), 1);
        return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
            return text.find(word) != std::string::npos;
        });
    }
    std::optional<Lesson> lesson(const scenarios::Scenario& scenario, std::uint64_t seed,
                                 const learn::Classroom& room, bool pages = false) {
        auto made = learn::lesson_on(scenario, seed, room, pages);
        if (!session_.take(made)) return std::nullopt;
        return std::move(*made);
    }

    // Starts at the first unsolved lesson; a named one is taught in any case.
    void teach(const std::vector<scenarios::Scenario>& course, const learn::Classroom& room) {
        learn::Console talk{std::cin, style_of(stdout), isatty(STDIN_FILENO) == 0};
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
            if (way == Way::quit) return print_solved(course, progress_);
            if (named) break;
            print_out("\n{}\n  enter goes on to the next lesson, q leaves > ", std::string(72, '-'));
            flush_out();
            std::string line;
            if (!std::getline(talk.in, line) || line.starts_with("q")) {
                print_out("\n");
                return print_solved(course, progress_);
            }
            print_out("\n");
        }
        print_solved(course, progress_);
    }
    void examine(const std::vector<scenarios::Scenario>& course, const learn::Classroom& room) {
        learn::Console talk{std::cin, style_of(stdout), isatty(STDIN_FILENO) == 0};
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

    bool write(const std::string& text, const std::filesystem::path& file) {
        const auto written = results::write_text(text, file);
        if (!written) session_.complain(written.error());
        return written.has_value();
    }

    void write_pages(const std::vector<scenarios::Scenario>& course, const learn::Classroom& room) {
        const auto students = folder(learn::students_folder), teacher = folder(learn::teacher_folder);
        const std::atomic<bool>& stop = stop_on_interrupt();
        std::vector<Lesson> lessons;
        Progress progress;
        for (const auto& scenario : course) {
            if (stop.load()) break;
            progress.show(fmt::format("  {} of {}", lessons.size(), course.size()));
            auto made = lesson(scenario, arguments_.seed, room, true);
            if (!made) continue;
            const std::vector<std::pair<std::filesystem::path, std::string>> files = {
                {students / (made->number + ".html"), learn::lesson_page(*made)},
                {students / (made->number + ".sheet.html"), learn::question_sheet(*made)},
                {students / (made->number + ".run.html"),
                 std::exchange(made->run_page, {})},  // some hundred kilobytes
                {teacher / (made->number + ".answers.html"), learn::answer_sheet(*made)},
                {teacher / (made->number + ".replay.html"), std::exchange(made->replay_page, {})}};
            for (const auto& [file, text] : files) {
                if (!write(text, file)) return;
            }
            lessons.push_back(std::move(*made));
        }
        progress.clear();
        if (!write(learn::index_page(lessons), students / "index.html")) return;
        if (!write(learn::teacher_page(lessons), teacher / "index.html")) return;
        if (stop.load()) session_.code = exit_interrupted;
        print_out("{} in {}, answers in {}\n", results::counted(lessons.size(), "lesson"),
                  (students / "index.html").string(), (teacher / "index.html").string());
    }

    void write_quiz(const std::vector<scenarios::Scenario>& course, const learn::Classroom& room) {
        const std::atomic<bool>& stop = stop_on_interrupt();
        std::vector<Lesson> lessons;
        for (const auto& drawn : learn::draw_quiz(course, arguments_.quiz, arguments_.seed)) {
            if (stop.load()) break;
            auto made = lesson(*drawn.scenario, drawn.seed, room);
            if (!made) return;
            lessons.push_back(std::move(*made));
        }
        const auto questions = folder(learn::students_folder) / "quiz.html",
                   answers = folder(learn::teacher_folder) / "quiz.html";
        if (!write(learn::quiz_page(lessons, arguments_.seed), questions)) return;
        if (!write(learn::quiz_answers(lessons, arguments_.seed), answers)) return;
        if (stop.load()) session_.code = exit_interrupted;
        print_out("{} in {}, answers in {}\n", results::counted(lessons.size(), "question"),
                  questions.string(), answers.string());
    }

    std::filesystem::path folder(std::string_view name) const {
        return std::filesystem::path(arguments_.html) / name;
    }

    const LearnArguments& arguments_;
    Session& session_;
    learn::Progress progress_;
};

void add_learn(CLI::App& command, Session& session) {
    command.footer(
        "Lessons have numbers, as case-1f3a9c, which tell nothing of the bug. A lesson shows the symptom and "
        "the "
        "evidence, asks, gives hints, and ends with the answer, the fix and the healed run. Without names "
        "the course "
        "goes through the stages, from the first "
        "lesson that is not solved. Another --seed makes other ranks and numbers of the same bug. Answers "
        "may "
        "come from a script on standard input. Progress is kept in $XDG_STATE_HOME/deadrank; --forget starts "
        "over.\n\n"
        "Examples:\n"
        "  deadrank learn                                          the course, from where you are\n"
        "  deadrank learn communication/rank_leaves_all_reduce     one lesson\n"
        "  deadrank learn communication --quiz 5 --seed 42         a quiz; each seed has other questions\n"
        "  deadrank learn --quiz 5 --seed 42 --html quiz           the same to print, and its answers in a "
        "folder apart\n"
        "  deadrank learn --course --html lessons                  pages and sheets of the course of ten "
        "lessons\n"
        "  deadrank learn --list --search 'loss medium'            lessons about a loss\n"
        "  deadrank learn --list --class rank_ordering             lessons of a class of bugs");
    auto arguments = std::make_shared<LearnArguments>();
    add_selection(command, arguments->selection);
    command.add_option("--seed", arguments->seed, "Which ranks and numbers, and which quiz [1]")
        ->type_name("N")
        ->check(whole_number());
    command.add_option("--quiz", arguments->quiz, "Ask about N bugs, one try each, and count")
        ->type_name("N")
        ->check(CLI::Range(1, 1000).description(""));
    command
        .add_option(
            "--html", arguments->html,
            "Write pages and sheets into DIR: those for students, and those with answers, in a folder each")
        ->type_name("DIR");
    command.add_option("--search", arguments->search, "Only lessons with all of these words in what is seen")
        ->type_name("WORDS");
    command.add_flag("--course", arguments->course, "Only the ten lessons of the course, in its order");
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

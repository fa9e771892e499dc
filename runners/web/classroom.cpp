// runners/web/classroom.cpp — Class mode: learners look for the bug of a run that was played, and try to fix
// it. Only the evidence that a learner has bought is sent, and the answer only once it is found.
#include "runners/web/classroom.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "results/judging/reaction.h"
#include "results/reports/output.h"
#include "runners/pipeline/run_files.h"
#include "runners/web/http_answers.h"
#include "runners/web/knobs.h"
#include "runners/web/workbench_page.h"
#include "scenarios/model/document.h"
#include "scenarios/model/text.h"

namespace deadrank::runners::web {

using results::reports::csv_cell;
using results::reports::visible_line;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
using serve::HttpRequest;
using serve::HttpResponse;
using Clock = std::chrono::steady_clock;

// How far a learner is with one puzzle.
struct Classroom::Progress {
    std::set<std::size_t> looks;
    std::size_t hints = 0;
    int wrong_guesses = 0, wrong_fixes = 0;
    bool found = false, fixed = false;
    std::optional<std::size_t> trying;  // the fix that is played
    std::string last_try;               // what came of the last one
    double seconds = 0;                 // from joining to the fix

    // What the whole bug is still worth. Half of it is for finding it, half for the fix.
    int worth(const Puzzle& puzzle, const Prices& prices) const {
        int lost = static_cast<int>(hints) * prices.hint + (wrong_guesses + wrong_fixes) * prices.wrong;
        for (const std::size_t look : looks) lost += puzzle.looks[look].costs;
        return std::max(0, prices.worth - lost);
    }
    int points(const Puzzle& puzzle, const Prices& prices) const {
        return worth(puzzle, prices) * ((found ? 1 : 0) + (fixed ? 1 : 0)) / 2;
    }
};

struct Classroom::Learner {
    std::string name, key;
    Clock::time_point joined = Clock::now();
    std::vector<Progress> progress;
};

// A fix of a puzzle that somebody tried. Equal tries are one run, whoever tries.
struct FixTry {
    int job = 0;
    enum class State { playing, not_played, wrong, right } state = State::playing;
    std::string says;
};

namespace {

// All tries of a class may wait or be kept: a learner is never refused because others try something else.
JobLimits limits_for(JobLimits limits, const std::vector<Puzzle>& puzzles) {
    std::size_t tries = 0;
    for (const Puzzle& puzzle : puzzles) tries += puzzle.fixes.size();
    limits.waiting_most = std::max(limits.waiting_most, tries);
    limits.kept = std::max(limits.kept, tries);
    return limits;
}

}  // namespace

struct Classroom::Parts {
    Parts(const Library& library_, std::vector<Puzzle> puzzles_, Options options_)
        : library(library_),
          puzzles(std::move(puzzles_)),
          options(std::move(options_)),
          jobs(limits_for(options.jobs, puzzles)) {}

    HttpResponse of_learner(const HttpRequest& request, const Target& target);
    HttpResponse of_teacher(const Target& target);
    HttpResponse join(const Json& body);
    HttpResponse act(const std::string& what, const Json& body);
    void look(const Json& body, const Puzzle& puzzle, Progress& progress) const;
    void guess(const Json& body, const Puzzle& puzzle, Progress& progress) const;
    Result<void> try_fix(const Json& body, std::size_t number, Progress& progress);
    Result<FixTry> start_try(const Puzzle& puzzle, const Fix& fix);
    void settle(const Puzzle& puzzle, std::size_t fix, FixTry& one) const;
    void follow_try(const Learner& learner, std::size_t number, Progress& progress);

    Learner* learner_of(const std::string& key);
    Json view_of(Learner& learner);
    Json puzzle_view(std::size_t number, Learner& learner);
    Json board();
    std::string csv();

    const Library& library;
    const std::vector<Puzzle> puzzles;
    const Options options;
    std::mutex mutex;
    std::vector<Learner> learners;  // in order of joining
    std::map<std::pair<std::size_t, std::size_t>, FixTry> tries;  // by puzzle and fix
    Jobs jobs;
};

namespace {

constexpr std::size_t letters_of_name = 40;

// Printable, and short enough for the board.
std::string name_in(const Json& body) {
    std::string name = visible_line(scenarios::trimmed(text_in(body, "name")));
    if (name.size() <= letters_of_name) return name;
    std::size_t end = letters_of_name;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // within a letter
    return name.substr(0, end);
}

std::vector<std::string> texts_of(const std::vector<Fix>& fixes) {
    std::vector<std::string> words;
    for (const Fix& fix : fixes) words.push_back(fix.says);
    return words;
}

}  // namespace

Classroom::Learner* Classroom::Parts::learner_of(const std::string& key) {
    const auto found = std::find_if(learners.begin(), learners.end(),
                                    [&](const Learner& one) { return same_secret(key, one.key); });
    return found == learners.end() ? nullptr : &*found;
}

HttpResponse Classroom::Parts::join(const Json& body) {
    const std::string name = name_in(body);
    if (name.empty()) return error_answer(400, "a name is missing", "write one, of up to 40 letters");
    if (learners.size() >= options.learners_most)
        return error_answer(429, fmt::format("{} learners have joined already", learners.size()));
    const bool taken =
        std::any_of(learners.begin(), learners.end(), [&](const Learner& one) { return one.name == name; });
    if (taken)
        return error_answer(409, fmt::format("somebody is called '{}' already", name), "take another name");
    Learner learner{.name = name, .key = serve::random_access()};
    learner.progress.resize(puzzles.size());
    learners.push_back(std::move(learner));
    return json_answer({{"key", learners.back().key}, {"name", name}}, 201);
}

void Classroom::Parts::look(const Json& body, const Puzzle& puzzle, Progress& progress) const {
    const std::uint64_t which = number_in(body, "look", puzzle.looks.size());
    if (which < puzzle.looks.size()) progress.looks.insert(which);
}

void Classroom::Parts::guess(const Json& body, const Puzzle& puzzle, Progress& progress) const {
    if (progress.found) return;
    const auto rank =
        static_cast<results::Rank>(std::min<std::uint64_t>(number_in(body, "rank", INT32_MAX), INT32_MAX));
    const auto& culprits = puzzle.culprits;
    const bool right_rank =
        culprits.empty() || std::find(culprits.begin(), culprits.end(), rank) != culprits.end();
    const bool right_step =
        !puzzle.step || number_in(body, "step", UINT64_MAX) == static_cast<std::uint64_t>(*puzzle.step);
    progress.found = right_rank && right_step && text_in(body, "cause") == puzzle.cause;
    if (!progress.found) ++progress.wrong_guesses;
}

// The bug's own fix is its healed run. Of any other, the settings that it changes are put into the scenario,
// whose bug stays. All learners try under one seed, which is not the one that they were shown.
Result<FixTry> Classroom::Parts::start_try(const Puzzle& puzzle, const Fix& fix) {
    Subject subject{.id = puzzle.scenario, .seed = puzzle.seed + 1};
    if (&fix != &puzzle.fixes[puzzle.right_fix]) {
        if (fix.settings.empty())
            return FixTry{
                .state = FixTry::State::wrong,
                .says =
                    "not played: nothing in this job is what this change would alter, so the trouble stays"};
        auto text = scenarios::read_text(file_of(library, subject));
        for (const auto& [path, value] : fix.settings)
            if (text) text = set_in_text(*text, path, value);
        if (!text) return tl::unexpected(text.error());
        subject.text = std::move(*text);
    }
    auto order = make_order(library, subject, {.kind = JobKind::run}, options.order);
    if (!order) return tl::unexpected(order.error());
    const auto number = jobs.add(std::move(*order));
    if (!number) return tl::unexpected(number.error());
    return FixTry{.job = *number};
}

Result<void> Classroom::Parts::try_fix(const Json& body, std::size_t number, Progress& progress) {
    const Puzzle& puzzle = puzzles[number];
    const std::uint64_t fix = number_in(body, "fix", puzzle.fixes.size());
    if (progress.fixed || progress.trying || fix >= puzzle.fixes.size()) return {};
    const std::pair key(number, static_cast<std::size_t>(fix));
    const auto known = tries.find(key);
    if (known == tries.end() || known->second.state == FixTry::State::not_played) {
        auto started = start_try(puzzle, puzzle.fixes[fix]);
        if (!started) return tl::unexpected(started.error());
        tries[key] = std::move(*started);
    }
    progress.trying = fix;
    return {};
}

namespace {

// What a run with changed settings did: whether anything rings, and whether it completed.
FixTry judge_changed(const Json& line, const std::filesystem::path& runs) {
    const Json findings = line.value("findings", Json::array());
    const RunDirectory files(runs, text_in(line, "scenario"), number_in(line, "seed", 1));
    const auto verdict = scenarios::read_text(files.of(scenarios::Variant::fault) / "verdict.json");
    const Json judged = Json::parse(verdict.value_or("{}"), nullptr, false);
    const Json fault = judged.is_object() ? judged.value("fault", Json::object()) : Json::object();
    const std::string reaction = fault.is_object() ? text_in(fault, "reaction") : "";
    if (reaction.empty())
        return {.state = FixTry::State::wrong, .says = "played with this change: the job does not start"};
    if (!findings.empty()) {
        std::set<std::string> symptoms;
        for (const Json& finding : findings) {
            std::string symptom = text_in(finding, "symptom");
            std::replace(symptom.begin(), symptom.end(), '_', ' ');
            symptoms.insert(std::move(symptom));
        }
        return {.state = FixTry::State::wrong,
                .says = fmt::format("played with this change: detectors still report {}",
                                    fmt::join(symptoms, ", "))};
    }
    using results::Reaction;
    const bool well = reaction == results::name_of(Reaction::completed) ||
                      reaction == results::name_of(Reaction::restarted);
    if (!well)
        return {.state = FixTry::State::wrong,
                .says = "played with this change: no detector rings, and the job is not well"};
    return {.state = FixTry::State::right, .says = "played with this change: the trouble is gone"};
}

}  // namespace

void Classroom::Parts::settle(const Puzzle& puzzle, std::size_t fix, FixTry& one) const {
    if (one.state != FixTry::State::playing) return;
    const auto view = jobs.find(one.job);
    if (view && (view->state == JobState::waiting || view->state == JobState::running)) return;
    const auto result = jobs.result(one.job);
    const Json line =
        result ? Json::parse(result->out.substr(0, result->out.find('\n')), nullptr, false) : Json();
    if (!line.is_object() && fix != puzzle.right_fix && view && view->state == JobState::failed) {
        one = {.state = FixTry::State::wrong, .says = "not played: this job cannot run with this change"};
    } else if (!line.is_object()) {
        // The program's own words could name the scenario.
        one = {.state = FixTry::State::not_played, .says = "the run could not be played; ask your teacher"};
    } else if (fix != puzzle.right_fix) {
        one = judge_changed(line, result->place.path() / kept_runs);
    } else if (text_in(line, "healed") == name_of(results::Verdict::pass)) {
        one = {.state = FixTry::State::right, .says = "played with the fix: the trouble is gone"};
    } else {
        one = {.state = FixTry::State::not_played,
               .says = "played with the fix, but its verdict is not a pass; ask your teacher"};
    }
}

void Classroom::Parts::follow_try(const Learner& learner, std::size_t number, Progress& progress) {
    if (!progress.trying) return;
    FixTry& one = tries[{number, *progress.trying}];
    settle(puzzles[number], *progress.trying, one);
    if (one.state == FixTry::State::playing) return;
    progress.trying.reset();
    progress.last_try = one.says;
    if (one.state == FixTry::State::wrong) ++progress.wrong_fixes;
    if (one.state != FixTry::State::right) return;
    progress.fixed = true;
    progress.seconds = std::chrono::duration<double>(Clock::now() - learner.joined).count();
}

Json Classroom::Parts::puzzle_view(std::size_t number, Learner& learner) {
    const Puzzle& puzzle = puzzles[number];
    Progress& progress = learner.progress[number];
    follow_try(learner, number, progress);
    Json looks = Json::array();
    for (std::size_t i = 0; i < puzzle.looks.size(); ++i) {
        Json look = {{"title", puzzle.looks[i].title}, {"costs", puzzle.looks[i].costs}};
        if (progress.looks.count(i) != 0) look["shows"] = Json::parse(puzzle.looks[i].shows);
        looks.push_back(std::move(look));
    }
    const std::vector<std::string> hints(puzzle.hints.begin(),
                                         puzzle.hints.begin() + static_cast<std::ptrdiff_t>(progress.hints));
    Json view = {{"number", number},
                 {"sees", puzzle.symptom_seen},
                 {"reported", puzzle.reported},
                 {"seen", puzzle.seen},
                 {"watched", puzzle.watched},
                 {"program", puzzle.program},
                 {"question", puzzle.question},
                 {"ranks", puzzle.ranks},
                 {"asks_rank", !puzzle.culprits.empty()},
                 {"asks_step", puzzle.step.has_value()},
                 {"looks", looks},
                 {"hints", hints},
                 {"hints_left", puzzle.hints.size() - progress.hints},
                 {"wrong_guesses", progress.wrong_guesses},
                 {"found", progress.found},
                 {"fixed", progress.fixed},
                 {"trying", progress.trying.has_value()},
                 {"last_try", progress.last_try},
                 {"worth", progress.worth(puzzle, options.prices)},
                 {"points", progress.points(puzzle, options.prices)}};
    if (progress.found) view["fixes"] = texts_of(puzzle.fixes);
    if (progress.fixed) {
        view["answer"] = puzzle.answer;
        view["why"] = puzzle.why;
    }
    return view;
}

Json Classroom::Parts::view_of(Learner& learner) {
    Json list = Json::array();
    for (std::size_t i = 0; i < puzzles.size(); ++i) list.push_back(puzzle_view(i, learner));
    return {{"name", learner.name}, {"puzzles", list}};
}

HttpResponse Classroom::Parts::act(const std::string& what, const Json& body) {
    Learner* learner = learner_of(text_in(body, "key"));
    if (!learner) return error_answer(403, "nobody has joined with this key", "join with a name");
    if (what == "state") return json_answer(view_of(*learner));
    const std::uint64_t number = number_in(body, "puzzle", puzzles.size());
    if (number >= puzzles.size()) return error_answer(400, "there is no such bug in this class");
    const Puzzle& puzzle = puzzles[number];
    Progress& progress = learner->progress[number];
    follow_try(*learner, number, progress);
    if (what == "look") {
        look(body, puzzle, progress);
    } else if (what == "hint") {
        progress.hints = std::min(progress.hints + 1, puzzle.hints.size());
    } else if (what == "guess") {
        guess(body, puzzle, progress);
    } else if (what == "fix") {
        if (!progress.found) return error_answer(409, "find rank and cause first");
        if (auto tried = try_fix(body, number, progress); !tried) return error_answer(tried.error(), 429);
    } else {
        return error_answer(404, "there is no such route");
    }
    return json_answer(puzzle_view(number, *learner));
}

HttpResponse Classroom::Parts::of_learner(const HttpRequest& request, const Target& target) {
    const auto& parts = target.parts;
    if (parts.size() != 2 || parts[0] != "api") return error_answer(404, "there is no such route");
    if (request.method == "GET" && parts[1] == "causes") {
        Json causes = Json::array();
        for (const auto& one : library.taxonomy.causes)
            causes.push_back({{"id", one.id}, {"name", one.name}});
        return json_answer(causes);
    }
    if (request.method != "POST") return error_answer(405, "this is asked with POST");
    const auto body = body_of(request);
    if (!body) return error_answer(body.error());
    const std::lock_guard lock(mutex);
    return parts[1] == "join" ? join(*body) : act(parts[1], *body);
}

// ── The teacher's board.

Json Classroom::Parts::board() {
    Json rows = Json::array();
    for (Learner& learner : learners) {
        Json cells = Json::array();
        int sum = 0;
        for (std::size_t i = 0; i < puzzles.size(); ++i) {
            Progress& progress = learner.progress[i];
            follow_try(learner, i, progress);
            const int points = progress.points(puzzles[i], options.prices);
            sum += points;
            cells.push_back({{"looks", progress.looks.size()},
                             {"hints", progress.hints},
                             {"wrong", progress.wrong_guesses + progress.wrong_fixes},
                             {"found", progress.found},
                             {"fixed", progress.fixed},
                             {"points", points}});
        }
        rows.push_back({{"name", learner.name}, {"points", sum}, {"cells", cells}});
    }
    Json bugs = Json::array();
    for (const Puzzle& puzzle : puzzles) {
        bugs.push_back({{"scenario", puzzle.scenario},
                        {"seed", puzzle.seed},
                        {"culprits", puzzle.culprits},
                        {"cause", puzzle.cause},
                        {"step", puzzle.step ? Json(*puzzle.step) : Json()},
                        {"fix", puzzle.fixes[puzzle.right_fix].says},
                        {"answer", puzzle.answer}});
    }
    return {{"bugs", bugs}, {"learners", rows}};
}

std::string Classroom::Parts::csv() {
    std::string text = "name,bug,looks,hints,wrong guesses,wrong fixes,found,fixed,seconds,points\n";
    for (Learner& learner : learners) {
        for (std::size_t i = 0; i < puzzles.size(); ++i) {
            Progress& progress = learner.progress[i];
            follow_try(learner, i, progress);
            text += fmt::format("{},{},{},{},{},{},{},{},{:.0f},{}\n", csv_cell(learner.name),
                                csv_cell(puzzles[i].scenario), progress.looks.size(), progress.hints,
                                progress.wrong_guesses, progress.wrong_fixes, progress.found, progress.fixed,
                                progress.seconds, progress.points(puzzles[i], options.prices));
        }
    }
    return text;
}

HttpResponse Classroom::Parts::of_teacher(const Target& target) {
    const auto& parts = target.parts;
    const std::lock_guard lock(mutex);
    if (parts.size() == 2 && parts[0] == "api" && parts[1] == "board") {
        Json view = board();
        view["learners_at"] = "/" + options.learners + "/";
        return json_answer(view);
    }
    if (parts.size() != 1 || parts[0] != "board.csv") return error_answer(404, "there is no such route");
    HttpResponse response = answer_of(200, csv(), "text/csv; charset=utf-8");
    response.headers["Content-Disposition"] = "attachment; filename=\"class.csv\"";
    return response;
}

Classroom::Classroom(const Library& library, std::vector<Puzzle> puzzles, Options options)
    : parts_(std::make_unique<Parts>(library, std::move(puzzles), std::move(options))) {}
Classroom::~Classroom() = default;

HttpResponse Classroom::answer(const HttpRequest& request) {
    const Target target = target_of(request.target);
    const bool teacher = same_secret(target.access, parts_->options.teacher);
    if (!teacher && !same_secret(target.access, parts_->options.learners))
        return answer_of(403, "the address is not complete: ask your teacher for the whole of it\n",
                         "text/plain; charset=utf-8");
    if (auto file = page_file(teacher ? Page::teacher : Page::learner, request, target)) return *file;
    return teacher ? parts_->of_teacher(target) : parts_->of_learner(request, target);
}

}  // namespace deadrank::runners::web

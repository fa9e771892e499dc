// runners/commands/find/suite_play.cpp — What a rank says beside its output comes as lines of its log, after a mark
// that sim/managed/python/deadrank/mutate.py writes: its result, the calls that it reached, what a mutant changed.
#include "runners/commands/find/suite_play.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/record/text_file.h"
#include "runners/backends/process/scratch.h"
#include "runners/commands/screen.h"
#include "runners/explore/moments.h"
#include "scenarios/format/fault_expression.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/chance.h"

namespace deadrank::runners::commands {

namespace {

namespace fs = std::filesystem;
using explore::CallSite;
using explore::MutantRun;
using nlohmann::json;
using SuiteOutcome = explore::Outcome;

// Modules of torch that nearly every suite of ranks imports.
const std::vector<std::string> suite_modules = {"torch.testing._internal.common_distributed",
                                                "torch.testing._internal.common_fsdp"};

constexpr std::string_view mark = "\x1e" "deadrank ";

// Whether every rank ends that is not at fault.
bool others_ended(const Record& record) {
    const auto guilty = record.truth.culprit().ranks;
    const auto& ends = record.truth.ends;
    for (std::size_t rank = 0; rank < ends.size(); ++rank) {
        const bool ended = ends[rank] == results::RankEnd::finished || ends[rank] == results::RankEnd::failed ||
                           ends[rank] == results::RankEnd::killed;
        if (!ended && std::count(guilty.begin(), guilty.end(), static_cast<results::Rank>(rank)) == 0)
            return false;
    }
    return true;
}

CallSite site_of(const json& said) {
    return {said.at(1).get<std::string>(), said.at(2).get<std::int64_t>(), said.at(0).get<std::string>()};
}

}  // namespace

// What the ranks of one run left behind.
struct Suite::Play {
    std::vector<json> codes, results;  // null: it never ended, it has left none
    std::vector<std::string> outputs;
    std::vector<json> said;  // all other marked lines, in order of time

    Play(const Record& record, std::size_t ranks) : codes(ranks), results(ranks), outputs(ranks) {
        for (const results::Event& event : record.evidence.events()) {
            if (event.rank < 0 || event.rank >= static_cast<results::Rank>(ranks)) continue;
            const auto rank = static_cast<std::size_t>(event.rank);
            if (const auto* exit = event.as<results::RankExit>())
                codes[rank] = exit->signal != 0 ? -exit->signal : exit->code;
            if (const auto* log = event.as<results::RankLog>()) read_line(rank, record.evidence.text(log->line));
        }
    }

    void read_line(std::size_t rank, std::string_view line) {
        const std::size_t marked = line.find(mark);
        if (marked == std::string_view::npos) {
            outputs[rank] += std::string(line) + "\n";
            return;
        }
        if (marked > 0) outputs[rank] += std::string(line.substr(0, marked)) + "\n";
        json one = json::parse(line.substr(marked + mark.size()), nullptr, false);
        if (one.is_discarded()) return;
        if (one.contains("result"))
            results[rank] = one["result"];
        else
            said.push_back(std::move(one));
    }

    json reply() const { return {{"codes", codes}, {"outputs", outputs}, {"results", results}}; }

    // A rank of a MultiProcContinuousTest ends well, and says what failed.
    bool passed() const {
        for (const json& code : codes)
            if (!code.is_number() || code != 0) return false;
        return std::all_of(results.begin(), results.end(), [](const json& result) {
            return result.is_null() || result.get<std::string>().empty();
        });
    }
    bool hangs() const {
        return std::any_of(codes.begin(), codes.end(), [](const json& code) { return code.is_null(); });
    }
};

Suite::Suite(SuiteSettings settings, const Library& library, const Extension& extension)
    : settings_(std::move(settings)),
      library_(library),
      extension_(extension),
      warm_(std::make_shared<WarmPython>()),
      token_(serve::random_access()) {}

serve::HttpResponse Suite::answer(const serve::HttpRequest& request) {
    if (request.method != "POST" || request.target != "/" + token_) return {404, "no such test\n"};
    try {
        return {200, play(json::parse(request.body)).dump(), "application/json"};
    } catch (const std::exception& trouble) {
        const std::lock_guard lock(mutex_);
        if (not_played_++ == 0) trouble_ = trouble.what();
        return {500, trouble.what()};
    }
}

// A test may ask for ranks several times.
std::string Suite::name_of(const json& request) {
    const std::string test = request.at("test").get<std::string>();
    const std::lock_guard lock(mutex_);
    const std::size_t time = ++times_[test];
    return time == 1 ? test : fmt::format("{} (start {})", test, time);
}

json Suite::play(const json& request) {
    if (request.contains("unmanaged")) {
        const std::lock_guard lock(mutex_);
        played_.erase(request.at("test").get<std::string>());  // its ranks refused, and real processes follow
        if (!mutating_)
            unmanaged_.push_back({request.at("test").get<std::string>(), request["unmanaged"].get<std::string>()});
        return json::object();
    }
    const std::string name = name_of(request);
    if (!mutating_) return play_healthy(request, name);
    const auto reply = replies_.find(name);
    if (reply == replies_.end()) return play_healthy(request, name);
    play_mutants(request, name);
    return json::parse(reply->second);
}

json Suite::play_healthy(json request, const std::string& name) {
    auto scratch = Scratch::make("", {});
    if (!scratch) throw std::runtime_error(scratch.error().text());
    const fs::path file = scratch->path() / "request.json";
    if (settings_.recording) request["record"] = true;
    if (auto written = results::write_text(request.dump(), file); !written)
        throw std::runtime_error(written.error().text());
    ManagedSettings settings = settings_of(request, file);
    settings.keep_files = true;  // a suite looks at what its ranks wrote, and cleans up after itself
    ManagedRunner runner(settings, extension_.all_faults());
    const scenarios::Plan plan = plan_of(settings.command, {settings_.seed});
    auto played = play_plan(plan, runner, {.stop = &stop_on_interrupt()});
    if (!played) throw std::runtime_error(played.error().text());
    const auto healthy = std::make_shared<const Played>(std::move(*played));
    const Play seen(healthy->record, request.at("ranks").get<std::size_t>());
    const bool passed = seen.passed() && healthy->record.truth.completed();
    {
        const std::lock_guard lock(mutex_);
        played_.insert(request.at("test").get<std::string>());
    }
    keep_recorded(name, seen, passed, healthy->record.ended);
    if (passed)
        for (const std::string& fault : settings_.faults) play_with(fault, name, healthy, runner);
    return seen.reply();
}

void Suite::keep_recorded(const std::string& name, const Play& play, bool passed, results::Time ended) {
    const std::lock_guard lock(mutex_);
    if (!settings_.recording || mutating_) return;
    replies_[name] = play.reply().dump();
    ended_[name] = ended;
    explore::RecordedTest& test = recorded_[name];
    test.passed = passed;
    std::map<CallSite, json> values;
    for (const json& one : play.said) {
        if (one.contains("mutation"))
            test.reached[site_of(one.at("site"))].insert(one["mutation"].get<std::string>());
        else if (one.contains("value"))
            values[site_of(one.at("site"))].push_back(one["value"]);
        else if (one.contains("files"))
            test.files = one["files"].get<std::vector<std::string>>();
        else if (one.contains("tests"))
            test.test_files = one["tests"].get<std::vector<std::string>>();
    }
    for (const auto& [site, list] : values) test.values[site] = list.dump();
}

void Suite::begin_mutants(std::vector<explore::Mutant> mutants) {
    const std::lock_guard lock(mutex_);
    mutants_ = std::move(mutants);
    mutating_ = true;
    times_.clear();
}

void Suite::play_mutants(const json& request, const std::string& name) {
    for (explore::Mutant& mutant : mutants_) {
        if (!std::count(mutant.tests.begin(), mutant.tests.end(), name)) continue;
        if (stop_on_interrupt().load()) return;
        {
            const std::lock_guard lock(mutex_);
            if (settings_.first_only && !mutant.killers().empty()) continue;
        }
        MutantRun run = play_mutant(request, mutant, name);
        if (stop_on_interrupt().load()) return;
        const std::lock_guard lock(mutex_);
        mutant.runs.push_back(std::move(run));
        ++mutant_runs_;
        if (settings_.progress)
            settings_.progress(mutant_runs_, static_cast<std::size_t>(std::count_if(
                                                 mutants_.begin(), mutants_.end(), [](const explore::Mutant& one) {
                                                     return one.outcome() == explore::MutantOutcome::survived;
                                                 })));
    }
}

MutantRun Suite::play_mutant(json request, const explore::Mutant& mutant, const std::string& name) {
    MutantRun run{.test = name, .trouble = {}};
    auto scratch = Scratch::make("", {});
    if (!scratch) throw std::runtime_error(scratch.error().text());
    const fs::path file = scratch->path() / "request.json";
    request["mutant"] = {{"mutation", mutant.mutation},
                         {"call", mutant.site.call},
                         {"file", mutant.site.file},
                         {"line", mutant.site.line}};
    const auto& values = recorded_.at(name).values;
    if (const auto found = values.find(mutant.site); found != values.end())
        request["mutant"]["values"] = json::parse(found->second);
    if (auto written = results::write_text(request.dump(), file); !written)
        throw std::runtime_error(written.error().text());
    ManagedSettings settings = settings_of(request, file);
    settings.real_limit = settings_.mutant_limit;
    ManagedRunner runner(settings, extension_.all_faults());
    scenarios::Plan plan = plan_of(settings.command, {settings_.seed});
    // Time-outs of collectives still end it with an error: the longest default is half an hour.
    plan.cluster["time_limit"] = {.type = scenarios::ValueType::duration,
                                  .number = (ended_.at(name) + std::chrono::hours(1)).count()};
    const auto played = play_plan(plan, runner, {.stop = &stop_on_interrupt()});
    if (!played) {
        run.trouble = played.error().text();
        return run;
    }
    const Play seen(played->record, request.at("ranks").get<std::size_t>());
    for (const json& one : seen.said) {
        run.executed |= one.contains("executed");
        run.changed |= one.contains("changed");
        if (one.contains("invalid")) run.trouble = one["invalid"].get<std::string>();
    }
    run.fails = !seen.passed();
    run.hangs = seen.hangs();
    return run;
}

ManagedSettings Suite::settings_of(const json& request, const fs::path& file) {
    ManagedSettings settings;
    settings.python = request.at("python").get<std::string>();
    settings.package = settings_.package;
    settings.preload = suite_modules;
    settings.variables = settings_.gpu_variables;
    settings.directory = request.at("cwd").get<std::string>();
    settings.warm = warm_;
    settings.command.launcher = scenarios::LauncherKind::bare;
    settings.command.ranks_per_node = request.at("ranks").get<std::int64_t>();
    settings.command.argv = {"-m", "deadrank.suite_rank", file.string()};
    for (const auto& [name, value] : request.at("environment").items())
        if (settings_.gpu_variables.count(name) == 0 && name != "PYTHONPATH")
            settings.command.environment[name] = value.get<std::string>();
    settings.imports_of = request.at("file").get<std::string>();
    // Suites give each test a directory of its own in a variable. All tests share the interpreter that the
    // first one needs: what its modules read on import is what the suite's own process had then.
    const std::lock_guard lock(mutex_);
    if (first_environment_.empty()) first_environment_ = settings.command.environment;
    settings.warm_environment = first_environment_;
    python_ = settings.python.string();
    directory_ = settings.directory.string();
    return settings;
}

// At a rank and a call that the seed draws.
void Suite::play_with(const std::string& fault, const std::string& test,
                      const std::shared_ptr<const Played>& healthy, Runner& runner) {
    const auto moments = explore::list_moments(healthy->record.evidence, explore::MomentKind::calls);
    FaultedTest one{.test = test, .line = fault, .says = {}};
    if (moments.empty()) {
        one.outcome = SuiteOutcome::never_came;
        return keep(std::move(one));
    }
    const std::uint64_t drawn =
        scenarios::mix(scenarios::number_of(test + "/" + fault) ^ scenarios::mix(settings_.seed));
    const explore::ProgramMoment& moment = moments[scenarios::bounded(drawn, moments.size())];
    one.line = fmt::format("{} rank {} {}", fault, moment.rank, moment.text());
    auto settings = scenarios::read_fault_expression(one.line, library_.vocabulary);
    if (!settings) throw std::runtime_error(settings.error().text());
    auto faulty = scenarios::with_faults(healthy->plan, {std::move(*settings)}, library_.vocabulary);
    if (!faulty) throw std::runtime_error(faulty.error().text());
    faulty->variant = scenarios::Variant::fault;
    explore::ProgramTrials trials(healthy->plan, {.stop = &stop_on_interrupt()}, healthy);
    if (const auto run = trials.play(*faulty, runner)) {
        one.outcome = run->outcome;
        one.says = run->says;
        // A test runner ends a stopped rank as soon as another one fails.
        if (one.outcome == SuiteOutcome::hang && others_ended(run->fault.record))
            one.outcome = SuiteOutcome::watchdog;
    } else {
        one.says = run.error().text();
    }
    keep(std::move(one));
}

void Suite::keep(FaultedTest one) {
    const std::lock_guard lock(mutex_);
    faulted_.push_back(std::move(one));
}

}  // namespace deadrank::runners::commands

// runners/commands/find/swarm_command.cpp — deadrank sweep swarm: random plans checked against properties,
// findings grouped, coverage steering the next draws. Each witness is given the bug that was seen, so that it
// loads, replays and shrinks like any other plan.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/record/text_file.h"
#include "results/record/words.h"
#include "results/reports/style.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/find/curve.h"
#include "runners/find/finds.h"
#include "runners/find/harm.h"
#include "runners/find/shrink.h"
#include "runners/find/swarm.h"
#include "runners/pipeline/library.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::runners::commands {

// ── A swarm as text and as JSON: what broke, how often, how many clean runs would prove it fixed, and what
// has not been tried yet.

// The file of each group's witness below `out`, in the order of the groups; empty when nothing was written.
std::string swarm_text(const find::Swarm& swarm, const std::vector<std::string>& files,
                       const results::reports::Style& style, double seconds);
std::string swarm_json(const find::Swarm& swarm, const std::vector<std::string>& files);

namespace {

using find::Swarm;
using results::counted;
using results::reports::Ink;
using results::reports::Style;

std::string fine_percent(double share) {
    return share < 0.1 ? fmt::format("{:.1f} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}

std::string findability(std::uint64_t seen, std::uint64_t runs) {
    const auto interval = find::clopper_pearson(seen, runs);
    const auto clean = find::clean_runs_after(seen, runs);
    return fmt::format("{} of {} plans ({}–{}); fixed after {} without it", seen, runs,
                       fine_percent(interval.low), fine_percent(interval.high),
                       counted(clean.value_or(0), "clean run"));
}

std::string size_of(const find::Group& group) {
    return fmt::format("{}, {}, {}", counted(group.size.faults, "fault"),
                       counted(static_cast<std::size_t>(group.size.ranks), "rank"),
                       counted(static_cast<std::size_t>(group.size.steps), "step"));
}

std::string group_text(const find::Group& group, std::uint64_t runs, const std::string& file,
                       const Style& style) {
    std::string text =
        fmt::format("\n{} {}\n", style.paint(Ink::red, "✘"), style.paint(Ink::bold, group.name()));
    const auto row = [&](std::string_view label, const std::string& words) {
        text += fmt::format("    {} {}\n", style.paint(Ink::dim, results::reports::pad_right(label, 9)),
                            style.cut(words, style.width == 0 ? 0 : style.width - 14));
    };
    row("seen", findability(group.seen, runs));
    row("smallest", fmt::format("{}; first under seed {}", size_of(group), group.first_seed));
    for (std::size_t i = 0; i < std::min<std::size_t>(group.detail.size(), 2); ++i)
        row(i == 0 ? "rang" : "", group.detail[i]);
    if (!file.empty()) row("plan", file);
    return text;
}

// How many of the drawn cells had an effect, by phase.
std::string coverage_text(const Swarm& swarm, const Style& style) {
    std::map<std::string, std::pair<std::size_t, std::size_t>> by_phase;  // reached, drawn
    for (const auto& [cell, count] : swarm.coverage.cells()) {
        auto& [reached, drawn] = by_phase[cell.phase];
        ++drawn;
        reached += count.acted > 0 ? 1 : 0;
    }
    std::vector<std::string> parts;
    for (const std::string_view phase : find::phases) {
        const auto found = by_phase.find(std::string(phase));
        if (found == by_phase.end()) continue;
        parts.push_back(fmt::format("{} {}/{}", phase, found->second.first, found->second.second));
    }
    return fmt::format("\n{} {} of {} drawn cells of fault × phase × role had an effect\n    {}\n",
                       style.paint(Ink::bold, "coverage"), swarm.coverage.reached(),
                       swarm.coverage.cells().size(), fmt::join(parts, " · "));
}

std::string sometimes_text(const Swarm& swarm, const Style& style) {
    std::string text = "\n" + style.paint(Ink::bold, "sometimes") + "\n";
    for (const auto& property : find::all_properties()) {
        if (property.modality != find::Modality::sometimes) continue;
        const auto found = swarm.sometimes.find(property.name);
        const bool held = found != swarm.sometimes.end() && !found->second.empty();
        const std::string ways = !held ? "never: this search was too small, or it cannot happen"
                                 : found->second.size() > 6
                                     ? fmt::format("in {} ways", found->second.size())
                                     : fmt::format("{}", fmt::join(found->second, ", "));
        text += fmt::format("  {} {}: {}\n", style.paint(held ? Ink::green : Ink::yellow, held ? "✔" : "·"),
                            property.says, ways);
    }
    return text;
}

}  // namespace

std::string swarm_text(const Swarm& swarm, const std::vector<std::string>& files, const Style& style,
                       double seconds) {
    const std::uint64_t runs = swarm.played - swarm.no_job;
    std::string text;
    for (std::size_t i = 0; i < swarm.groups.size(); ++i)
        text += group_text(swarm.groups[i], runs, i < files.size() ? files[i] : "", style);
    text += coverage_text(swarm, style) + sometimes_text(swarm, style);
    text += fmt::format("\n  {} plans · {} in {} · {} without effect · {} no healthy job · {:.1f} s\n",
                        swarm.played, counted(swarm.groups.size(), "finding"), counted(runs, "job"),
                        swarm.without_effect, swarm.no_job, seconds);
    if (swarm.not_played > 0)
        text += fmt::format("  {} could not be played: {}\n", swarm.not_played, swarm.trouble);
    if (swarm.clean()) {
        text += fmt::format("  nothing broke: what shows in a share of {} or more of such plans would have\n",
                            fine_percent(find::clopper_pearson(0, runs, 0.9).high));
    }
    return text;
}

std::string swarm_json(const Swarm& swarm, const std::vector<std::string>& files) {
    const std::uint64_t runs = swarm.played - swarm.no_job;
    nlohmann::ordered_json groups = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < swarm.groups.size(); ++i) {
        const find::Group& group = swarm.groups[i];
        const auto interval = find::clopper_pearson(group.seen, runs);
        groups.push_back({{"property", group.signature.property},
                          {"how", group.signature.how},
                          {"kinds", group.kinds},
                          {"seen", group.seen},
                          {"of", runs},
                          {"share_low", interval.low},
                          {"share_high", interval.high},
                          {"clean_runs_needed", find::clean_runs_after(group.seen, runs).value_or(0)},
                          {"first_seed", group.first_seed},
                          {"ranks", group.size.ranks},
                          {"steps", group.size.steps},
                          {"rang", group.detail},
                          {"file", i < files.size() ? files[i] : ""},
                          {"plan", scenarios::to_toml(group.witness)}});
    }
    nlohmann::ordered_json cells = nlohmann::ordered_json::array();
    for (const auto& [cell, count] : swarm.coverage.cells()) {
        cells.push_back({{"fault", cell.kind},
                         {"phase", cell.phase},
                         {"role", cell.role},
                         {"drawn", count.drawn},
                         {"acted", count.acted}});
    }
    const nlohmann::ordered_json json = {{"plans", swarm.played},
                                         {"no_job", swarm.no_job},
                                         {"without_effect", swarm.without_effect},
                                         {"not_played", swarm.not_played},
                                         {"findings", groups},
                                         {"sometimes", swarm.sometimes},
                                         {"coverage", cells}};
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

namespace {

struct SwarmArguments {
    std::string catalog, out;
    SeedOptions seeds{.range = "1..500"};
    std::vector<std::string> properties, workloads, kinds, settings;
    std::int64_t ranks = 16;
    std::size_t faults = 4;
    int jobs = 0;
    bool shrink = false, json = false;
};

// The symptom that was seen, else the one closest to the harm.
std::string symptom_of(const find::Group& group) {
    using scenarios::Symptom;
    const std::size_t by = group.signature.how.find(" by ");
    if (by != std::string::npos) return group.signature.how.substr(0, by);
    if (group.signature.how == find::text_of(find::Harm::hung))
        return id_of(Symptom::collective_deadlock_hang);
    if (group.signature.how == find::text_of(find::Harm::slower))
        return id_of(Symptom::straggler_step_time_skew);
    if (group.signature.how == find::text_of(find::Harm::wrong_result))
        return id_of(Symptom::replica_state_divergence);
    return id_of(Symptom::framework_runtime_exception);
}

class SwarmCommand {
public:
    SwarmCommand(const SwarmArguments& arguments, Session& session)
        : arguments_(arguments), session_(session) {}

    void operator()() {
        auto library = open_library(session_.executable, session_.extension, arguments_.catalog);
        if (!session_.take(library)) return;
        auto seeds = seeds_of(arguments_.seeds);
        if (!session_.take(seeds)) return;
        auto properties = find::properties_named(arguments_.properties);
        if (!session_.take(properties)) return;
        if (!check_words(*library)) return;
        auto settings = settings_of(*library);
        if (!session_.take(settings)) return;
        play(*library, *seeds, *properties, *settings);
    }

private:
    bool check_words(const Library& library) {
        const auto check = [&](const std::vector<std::string>& names, const auto& kinds, const char* what) {
            std::vector<std::string> known;
            for (const auto& kind : kinds) known.push_back(kind.name);
            for (const std::string& name : names) {
                if (std::find(known.begin(), known.end(), name) != known.end()) continue;
                const std::string near = scenarios::nearest(name, known);
                session_.complain(
                    {scenarios::ErrorCode::usage, fmt::format("there is no {} '{}'", what, name),
                     near.empty() ? "deadrank explain lists them" : fmt::format("did you mean '{}'?", near)});
                return false;
            }
            return true;
        };
        return check(arguments_.workloads, library.vocabulary.workloads, "workload") &&
               check(arguments_.kinds, library.vocabulary.faults, "fault");
    }

    // "NAME=VALUE" of the one workload that is drawn.
    scenarios::Result<scenarios::Values> settings_of(const Library& library) {
        scenarios::Values values;
        if (!arguments_.settings.empty() && arguments_.workloads.size() != 1)
            return scenarios::refuse(scenarios::ErrorCode::usage,
                                     "--set is about the settings of one workload",
                                     "name it with --workload");
        for (const std::string& text : arguments_.settings) {
            const std::string name = text.substr(0, text.find('='));
            const auto& known = library.vocabulary.workload(arguments_.workloads.front())->parameters;
            const auto row = std::find_if(known.begin(), known.end(),
                                          [&](const auto& parameter) { return parameter.name == name; });
            if (row == known.end() || name.size() == text.size())
                return scenarios::refuse(scenarios::ErrorCode::usage,
                                         fmt::format("--set {} names no setting and value", text),
                                         fmt::format("say NAME=VALUE; deadrank explain {} lists them",
                                                     arguments_.workloads.front()));
            const std::string said = text.substr(name.size() + 1);
            const bool word = row->type == scenarios::ValueType::choice;
            if (word && std::find(row->choices.begin(), row->choices.end(), said) == row->choices.end())
                return scenarios::refuse(scenarios::ErrorCode::usage,
                                         fmt::format("{} is none of the words of {}", said, name),
                                         fmt::format("it is one of {}", fmt::join(row->choices, ", ")));
            auto value =
                word ? scenarios::Result<scenarios::Value>(scenarios::Value{.type = row->type, .text = said})
                     : scenarios::parse_value(row->type, said);
            if (!value) return tl::unexpected(value.error());
            values[name] = *value;
        }
        return values;
    }

    void play(const Library& library, const std::vector<scenarios::Seed>& seeds,
              const std::vector<const find::Property*>& properties, const scenarios::Values& settings) {
        std::atomic<bool>& stop = stop_on_interrupt();
        const results::Detectors detectors = library.detectors();
        Progress progress;
        find::SwarmOptions options;
        options.words = {&library.vocabulary, arguments_.workloads, arguments_.kinds,
                         arguments_.ranks,    arguments_.faults,    settings};
        options.first_seed = seeds.front().number;
        options.seeds = seeds.size();
        options.properties = properties;
        options.detectors = &detectors;
        options.workers.make_runner = [&] { return std::move(*make_runner("sim", session_.extension)); };
        options.workers.threads = arguments_.jobs > 0 ? arguments_.jobs : usual_jobs("sim");
        options.workers.stop = &stop;
        std::mutex screen;
        options.workers.progress = [&](std::size_t done, std::size_t all) {
            const std::lock_guard lock(screen);
            progress.show(fmt::format("  {} of {}", done, all));
        };
        const auto begin = std::chrono::steady_clock::now();
        find::Swarm found = find::swarm(options);
        for (find::Group& group : found.groups) {
            find::give_bug(group.witness, symptom_of(group), {}, library.taxonomy);
            if (arguments_.shrink && !stop.load()) smaller(group, library, detectors, progress, stop);
        }
        progress.clear();
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        session_.code = found.clean() ? (found.not_played > 0 ? exit_unknown : exit_pass) : exit_fail;
        const std::vector<std::string> files = write(found);
        print_out("{}", arguments_.json ? swarm_json(found, files) + "\n"
                                        : swarm_text(found, files, style_of(stdout), seconds));
        if (stop.load()) session_.code = exit_interrupted;
    }

    void smaller(find::Group& group, const Library& library, const results::Detectors& detectors,
                 Progress& progress, std::atomic<bool>& stop) {
        progress.show("  shrinking " + group.name());
        auto runner = make_runner("sim", session_.extension);
        find::PlanTrials trials(**runner, &detectors, &stop);
        const find::Fails fails = find::fails_alike(trials, group.signature);
        const auto shrunk =
            find::shrink(group.witness, fails, library.vocabulary, {.tries_most = 1'000, .stop = &stop});
        group.witness = shrunk.plan;
        group.size = shrunk.after;
    }

    std::vector<std::string> write(const find::Swarm& found) {
        std::vector<std::string> files;
        if (arguments_.out.empty()) return files;
        for (std::size_t i = 0; i < found.groups.size(); ++i) {
            const std::filesystem::path file =
                std::filesystem::path(arguments_.out) /
                fmt::format("{:02}_{}.toml", i + 1, found.groups[i].signature.property);
            const auto written = results::write_text(scenarios::to_toml(found.groups[i].witness), file);
            if (!written) {
                session_.complain(written.error());
                return files;
            }
            files.push_back(file.string());
        }
        return files;
    }

    const SwarmArguments& arguments_;
    Session& session_;
};

void add_swarm(CLI::App& command, Session& session) {
    std::string properties;
    for (const find::Property& property : find::all_properties())
        properties +=
            fmt::format("  {:<24} {}: {}\n", property.name, find::name_of(property.modality), property.says);
    command.footer(
        "Each seed draws a training, a cluster, the kinds of fault there are today, how many, where and "
        "when. "
        "The same job without faults is played beside it. What breaks a property is reduced to the faults "
        "that are needed, and grouped by property, way and kinds; each group keeps its smallest plan. Cells "
        "of fault × phase × role that were seldom drawn are drawn next.\n\n"
        "Properties:\n" +
        properties +
        "\nExit code: 0 nothing broke, 1 something did, 2 some plans could not be played, 64 the command "
        "line is wrong, 130 stopped.\n\n"
        "Examples:\n"
        "  deadrank sweep swarm --seeds 1..2000\n"
        "  deadrank sweep swarm --fault slow_rank --fault slow_link --property harm_is_noticed\n"
        "  deadrank sweep swarm --workload elastic --fault kill_rank --set commit=alone\n"
        "  deadrank sweep swarm --shrink --out found");
    auto arguments = std::make_shared<SwarmArguments>();
    command.add_option("--seeds", arguments->seeds.range, "Each seed from A to B [1..500]")
        ->type_name("A..B");
    const auto several = [&](const char* name, std::vector<std::string>& values, const char* what) {
        command.add_option(name, values, what)->type_name("NAME")->allow_extra_args(false);
    };
    several("--property", arguments->properties, "Ask this one only; repeat for several");
    several("--workload", arguments->workloads, "Draw this training only; repeat for several");
    several("--set", arguments->settings, "A setting of that training, NAME=VALUE; repeat for several");
    several("--fault", arguments->kinds, "Draw this kind of fault only; repeat for several");
    command
        .add_option("--ranks", arguments->ranks,
                    "Ranks of a job at most; above 32: of each, 8 to a node [16]")
        ->type_name("N")
        ->check(CLI::Range(2, 4096).description(""));
    command.add_option("--faults", arguments->faults, "Faults of a plan at most [4]")->type_name("N");
    command.add_option("-j,--jobs", arguments->jobs, "Plans at once [the processors]")->type_name("N");
    command.add_flag("--shrink", arguments->shrink, "Make each group's plan as small as it gets");
    command.add_option("-o,--out", arguments->out, "Write each group's plan below DIR")->type_name("DIR");
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "A JSON object with findings, plans and coverage");
    command.callback([arguments, &session] { SwarmCommand(*arguments, session)(); });
}

}  // namespace

extern const CommandRow swarm_row{
    "swarm", "Draws plans by seed, asks every property of each, and groups what breaks", add_swarm};

}  // namespace deadrank::runners::commands

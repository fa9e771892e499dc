// runners/commands/find/storm_goodput.cpp — deadrank storm goodput: what failures cost a cluster over months,
// and what a faster detector, another time-out, another checkpoint interval or more spares would save.
#include "runners/commands/find/storm_goodput.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "runners/backends/catalog/backend.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/storm/goodput.h"

namespace deadrank::runners::commands {

namespace {

using Json = nlohmann::ordered_json;

struct GoodputArguments {
    std::string cluster = "llama_3", figure;
    double gpus = 0, days = 0;
    std::uint64_t seed = 1;
    int lives = 100, jobs = 0;
    bool json = false;
};

const std::vector<double> goodput_sizes = {1024, 4096, 16384, 32768, 65536, 100000};

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }
std::string percent(const Spread& spread) {
    return fmt::format("{:>5.1f} [{:.1f}, {:.1f}]", 100 * spread.mean, 100 * spread.low, 100 * spread.high);
}
std::string minutes(double hours) { return fmt::format("{:.1f} min", 60 * hours); }

void print_variants(const GoodputStudy& study, const results::reports::Style& style) {
    using results::reports::Ink;
    fmt::print("{}", style.paint(Ink::bold, fmt::format("  {:<33}{:>20}{:>22}{:>7}{:>8}{:>9}{:>7}{:>6}\n", "",
                                                        "goodput, %", "gain, points", "again", "notice",
                                                        "restart", "saves", "wait")));
    for (const LifeVariant& one : study.variants) {
        const double all = one.hours.all();
        fmt::print("  {:<33}{:>20}{:>22}{:>7}{:>8}{:>9}{:>7}{:>6}\n", one.name, percent(one.goodput),
                   &one == &study.variants.front() ? "" : percent(one.gain), percent(one.hours.again / all),
                   percent(one.hours.noticing / all), percent(one.hours.restarting / all),
                   percent(one.hours.checkpoints / all), percent(one.hours.waiting / all));
    }
}

void print_goodput_text(const ClusterModel& model, const GoodputStudy& study,
                        const std::vector<SizePoint>& sizes) {
    using results::reports::Ink;
    const auto style = style_of(stdout);
    fmt::print("{} · {:.0f} GPUs on {:.0f} nodes · {:.0f} days · {} lives\n",
               style.paint(Ink::bold, model.id), model.gpus, model.nodes(), model.days, study.lives);
    fmt::print(
        "{}\n\n",
        style.paint(Ink::dim, fmt::format("  {}; one failure in {:.2f} h, {:.0f} in a life; scaling with "
                                          "the size is an assumption",
                                          model.source, study.between, study.failures)));
    print_variants(study, style);
    if (study.young > 0)
        fmt::print("\n  checkpoints every {}; Young says {}, Daly {}, the best that was tried is {}\n",
                   minutes(model.checkpoint_every), minutes(study.young), minutes(study.daly),
                   minutes(study.best));
    fmt::print("\n{}",
               style.paint(Ink::bold, fmt::format("  {:<33}{:>12}\n", "lost by cause", "hours a life")));
    std::vector<std::pair<double, std::string>> causes;
    for (const auto& [cause, hours] : study.lost) causes.emplace_back(-hours, cause);
    std::sort(causes.begin(), causes.end());
    for (const auto& [hours, cause] : causes) fmt::print("  {:<33}{:>12.1f}\n", cause, -hours);
    fmt::print("\n{}", style.paint(Ink::bold, fmt::format("  {:<10}{:>23}{:>30}\n", "GPUs", "goodput, %",
                                                          "detector ten times as fast")));
    for (const SizePoint& one : sizes)
        fmt::print("  {:<10.0f}{:>23}{:>30}\n", one.gpus, percent(one.usual), percent(one.fast));
}

Json spread_json(const Spread& one) { return {{"mean", one.mean}, {"low", one.low}, {"high", one.high}}; }

void print_goodput_json(const ClusterModel& model, const GoodputStudy& study,
                        const std::vector<SizePoint>& sizes) {
    Json variants = Json::array(), points = Json::array();
    for (const LifeVariant& one : study.variants) {
        variants.push_back({{"name", one.name},
                            {"goodput", spread_json(one.goodput)},
                            {"gain", spread_json(one.gain)},
                            {"hours",
                             {{"useful", one.hours.useful},
                              {"checkpoints", one.hours.checkpoints},
                              {"again", one.hours.again},
                              {"noticing", one.hours.noticing},
                              {"restarting", one.hours.restarting},
                              {"waiting", one.hours.waiting},
                              {"preempted", one.hours.preempted}}}});
    }
    for (const SizePoint& one : sizes)
        points.push_back(
            {{"gpus", one.gpus}, {"goodput", spread_json(one.usual)}, {"fast", spread_json(one.fast)}});
    fmt::print("{}\n", Json({{"cluster", model.id},
                             {"source", model.source},
                             {"gpus", model.gpus},
                             {"days", model.days},
                             {"lives", study.lives},
                             {"failures", study.failures},
                             {"hours_between", study.between},
                             {"young_hours", study.young},
                             {"daly_hours", study.daly},
                             {"best_hours", study.best},
                             {"lost_hours", study.lost},
                             {"variants", variants},
                             {"sizes", points}})
                           .dump(2));
}

void goodput(const GoodputArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, "");
    if (!session.take(library)) return;
    const auto shipped = library->data / "storms" / "clusters" / (arguments.cluster + ".toml");
    std::error_code ignored;
    const bool own = arguments.cluster.ends_with(".toml") || !std::filesystem::exists(shipped, ignored);
    auto model = load_cluster(own ? std::filesystem::path(arguments.cluster) : shipped, library->taxonomy);
    if (!session.take(model)) return;
    if (arguments.gpus > 0) {
        model->spares = std::ceil(model->spares * arguments.gpus / model->gpus);
        model->gpus = arguments.gpus;
    }
    if (arguments.days > 0) model->days = arguments.days;
    std::atomic<bool>& stop = stop_on_interrupt();
    const GoodputOptions options{.lives = arguments.lives,
                                 .seed = arguments.seed,
                                 .threads = arguments.jobs > 0 ? arguments.jobs : usual_jobs("sim"),
                                 .stop = &stop};
    const GoodputStudy study = study_goodput(*model, options);
    const auto sizes = goodput_by_size(*model, goodput_sizes, options);
    if (stop.load()) {
        session.code = exit_interrupted;
        return;
    }
    arguments.json ? print_goodput_json(*model, study, sizes) : print_goodput_text(*model, study, sizes);
    if (arguments.figure.empty()) return;
    std::ofstream out(arguments.figure);
    out << goodput_figure(*model, sizes);
    if (!out) session.complain({scenarios::ErrorCode::io, "cannot write '" + arguments.figure + "'"});
}

}  // namespace

void add_goodput(CLI::App& command, Session& session) {
    CLI::App* sub = command.add_subcommand(
        "goodput", "What failures cost a cluster, and what a faster detector is worth");
    sub->footer(
        "A cluster is a file (scenarios/storms/clusters): how often what fails, how failures cluster, repair "
        "and "
        "spares, and\nwhat the job does. Each life is months of the job's clock; the same lives are lived "
        "again with "
        "one thing changed.\nShipped are llama_3, rsc, delta_a100 and delta_h100.\n\nExamples:\n"
        "  deadrank storm goodput\n"
        "  deadrank storm goodput rsc --gpus 100000 --days 90 --figure goodput.svg");
    auto arguments = std::make_shared<GoodputArguments>();
    sub->add_option("cluster", arguments->cluster, "Name of a shipped cluster, or a file [llama_3]")
        ->type_name("CLUSTER");
    sub->add_option("--gpus", arguments->gpus, "Instead of the file's; spares grow with it")
        ->type_name("N")
        ->check(CLI::Range(1.0, 1e6).description(""));
    sub->add_option("--days", arguments->days, "Instead of the file's")
        ->type_name("N")
        ->check(CLI::Range(0.01, 3650.0).description(""));
    sub->add_option("--lives", arguments->lives, "Lives of each variant [100]")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000).description(""));
    sub->add_option("--seed", arguments->seed, "Of the first life [1]")->type_name("N");
    sub->add_option("--figure", arguments->figure, "Write goodput by size as SVG")->type_name("FILE");
    sub->add_option("-j,--jobs", arguments->jobs, "Lives at once [the processors]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    add_json(*sub, arguments->json, "A JSON object with every variant and size");
    sub->callback([arguments, &session] { goodput(*arguments, session); });
}

}  // namespace deadrank::runners::commands

// runners/commands/find/shrink_command.cpp — deadrank sweep shrink: from any failing plan to a minimal one
// that fails in the same way, as a scenario file. The file is written only after it was loaded, resolved and
// seen to fail in that way.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/record/text_file.h"
#include "results/record/words.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/find/finds.h"
#include "runners/find/shrink.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners::commands {

namespace {

using find::Signature;
using scenarios::ErrorCode;
using scenarios::Result;

struct ShrinkArguments {
    std::string what, catalog, signature, symptom, out;
    std::uint64_t seed = 1;
    std::size_t tries = 5'000;
    bool json = false;
};

std::string size_text(const find::PlanSize& size) {
    return fmt::format("{}, {}, {}, {}", results::counted(size.faults, "fault"),
                       results::counted(static_cast<std::size_t>(size.ranks), "rank"),
                       results::counted(static_cast<std::size_t>(size.steps), "step"),
                       results::counted(size.stated, "unusual value"));
}

nlohmann::ordered_json size_json(const find::PlanSize& size) {
    return {{"faults", size.faults},
            {"ranks", size.ranks},
            {"steps", size.steps},
            {"unusual_values", size.stated}};
}

// The failure to keep: the one asked for, or the first property that the plan breaks.
Result<Signature> wanted_signature(const ShrinkArguments& arguments, const scenarios::Plan& plan,
                                   find::PlanTrials& trials) {
    if (!arguments.symptom.empty())
        return Signature{std::string(find::symptom_is_reported), arguments.symptom};
    const Signature asked = find::parse_signature(arguments.signature);
    const auto properties = find::properties_named(arguments.signature.empty() ? std::vector<std::string>{}
                                                                               : std::vector{asked.property});
    if (!properties) return tl::unexpected(properties.error());
    const auto seen = find::signatures_of(trials, plan, *properties);
    if (!seen) return tl::unexpected(seen.error());
    for (const Signature& one : *seen) {
        if (arguments.signature.empty() || find::fits(asked, one)) return one;
    }
    std::string what = "the plan breaks no property: there is nothing to keep while it shrinks";
    if (!arguments.signature.empty()) what = fmt::format("the plan does not show '{}'", arguments.signature);
    for (const Signature& one : *seen) what += fmt::format("; it shows '{}'", one.text());
    return scenarios::refuse(ErrorCode::unsupported, what,
                             "--keep SYMPTOM shrinks to the least that still makes a detector report it");
}

std::string story_of(const scenarios::Plan& plan, const Signature& signature, const find::Shrunk& shrunk) {
    std::string story =
        fmt::format("Shrunk from {} (seed {}) by `deadrank sweep shrink`: {}. From {} to {} in {}.",
                    plan.scenario, plan.seed.number, signature.text(), size_text(shrunk.before),
                    size_text(shrunk.after), results::counted(shrunk.tries, "run"));
    if (const auto seed = shrunk.plan.seed.number; seed != 1)
        story += fmt::format(" Play it with --seed {}.", seed);
    return story;
}

// A plan without faults cannot become a scenario: a healthy job with a false alarm stays a plan.
Result<std::string> file_text(const Library& library, const scenarios::Plan& plan, const Signature& signature,
                              const find::Shrunk& shrunk, find::PlanTrials& trials) {
    if (shrunk.plan.faults.empty()) return scenarios::to_toml(shrunk.plan);
    std::string text =
        find::scenario_text(shrunk.plan, library.vocabulary, story_of(plan, signature, shrunk));
    const auto trouble = find::trouble_as_file(text, plan.scenario, shrunk.plan, trials, signature,
                                               library.taxonomy, library.vocabulary);
    if (trouble) {
        return scenarios::refuse(ErrorCode::internal,
                                 "the shrunken plan cannot be kept as a scenario: " + *trouble);
    }
    return text;
}

void print_shrunk_json(const Signature& signature, const find::Shrunk& shrunk, const std::string& text,
                       const std::string& out) {
    const nlohmann::ordered_json json = {{"signature", signature.text()},
                                         {"tries", shrunk.tries},
                                         {"finished", shrunk.finished},
                                         {"before", size_json(shrunk.before)},
                                         {"after", size_json(shrunk.after)},
                                         {"passes", shrunk.taken},
                                         {"seed", shrunk.plan.seed.number},
                                         {"file", out},
                                         {"toml", text}};
    print_out("{}\n", json.dump(2));
}

void print_shrunk_text(const Signature& signature, const find::Shrunk& shrunk, const std::string& text,
                       const std::string& out) {
    using results::reports::Ink;
    const auto style = style_of(stdout);
    print_out("{}\n", style.paint(Ink::bold, signature.text()));
    print_out("  {} {}\n", style.paint(Ink::dim, "from "), size_text(shrunk.before));
    print_out("  {} {}\n", style.paint(Ink::dim, "to   "), size_text(shrunk.after));
    print_out("  {} {}{}\n", style.paint(Ink::dim, "tries"), shrunk.tries,
              shrunk.finished ? "" : " (stopped before it was at the end)");
    if (out.empty()) {
        print_out("\n{}", text);
    } else {
        print_out("  {} {}\n", style.paint(Ink::dim, "file "), out);
    }
}

void shrink(const ShrinkArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto plan = one_plan(*library, arguments.what, arguments.seed);
    if (!session.take(plan)) return;
    auto runner = make_runner("sim", session.extension);
    if (!session.take(runner)) return;
    std::atomic<bool>& stop = stop_on_interrupt();
    const results::Detectors detectors = library->detectors();
    find::PlanTrials trials(**runner, &detectors, &stop);
    auto signature = wanted_signature(arguments, *plan, trials);
    if (!session.take(signature)) return;
    const find::Fails fails = find::fails_alike(trials, *signature);
    if (!fails(*plan)) {
        return session.complain({ErrorCode::unsupported,
                                 fmt::format("the plan does not show '{}'", signature->text()),
                                 "deadrank run says what it shows"});
    }
    Progress progress;
    find::ShrinkOptions options{.tries_most = arguments.tries, .stop = &stop};
    options.progress = [&](const std::string& pass, std::size_t tries) {
        progress.show(fmt::format("  {} tries, {}", tries, pass));
    };
    const find::Shrunk shrunk = find::shrink(*plan, fails, library->vocabulary, options);
    progress.clear();
    find::PlanTrials last(**runner, &detectors,
                          nullptr);  // after Ctrl-C too, to keep the smallest plan so far
    auto text = file_text(*library, *plan, *signature, shrunk, last);
    if (!session.take(text)) return;
    if (!arguments.out.empty()) {
        auto written = results::write_text(*text, arguments.out);
        if (!written) return session.complain(written.error());
    }
    arguments.json ? print_shrunk_json(*signature, shrunk, *text, arguments.out)
                   : print_shrunk_text(*signature, shrunk, *text, arguments.out);
    session.code = stop.load() ? exit_interrupted : exit_pass;
}

void add_shrink(CLI::App& command, Session& session) {
    command.footer(
        "Fewer faults, targets, ranks, steps and unusual values, one after the other, until nothing can be "
        "left out. The failure is a signature: the property that broke and how, without ranks, steps and "
        "times. The result is loaded, resolved and played before it is written.\n\n"
        "Exit code: 0 done, 2 the plan shows no failure, 64 the command line or a file is wrong, 130 stopped "
        "(what there is is kept).\n\n"
        "Examples:\n"
        "  deadrank sweep shrink my_bug.toml --seed 7 -o my_bug_small.toml\n"
        "  deadrank sweep shrink plan.toml --signature 'harm_is_noticed: the job hung'\n"
        "  deadrank sweep shrink communication/rank_leaves_all_reduce --keep collective_deadlock_hang");
    auto arguments = std::make_shared<ShrinkArguments>();
    command.add_option("what", arguments->what, "A plan's file, or a scenario's id or file")
        ->required()
        ->type_name("PLAN|SCENARIO");
    command.add_option("--seed", arguments->seed, "Seed of the scenario's draws [1]")->type_name("N");
    auto* signature = command.add_option("--signature", arguments->signature,
                                         "The failure to keep, as in \"harm_is_noticed: the job hung\", or "
                                         "its property alone; without it, the first one that is found");
    signature->type_name("TEXT");
    command.add_option("--keep", arguments->symptom, "Not a failure, but a report of this symptom")
        ->type_name("SYMPTOM")
        ->excludes(signature);
    command.add_option("-o,--out", arguments->out, "Write the scenario here instead of printing it")
        ->type_name("FILE");
    command.add_option("--tries", arguments->tries, "Plans that are played at most [5000]")->type_name("N");
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "A JSON object with sizes, tries and the TOML");
    command.callback([arguments, &session] { shrink(*arguments, session); });
}

}  // namespace

extern const CommandRow shrink_row{"shrink", "Makes a failing plan as small as it gets while it fails alike",
                                   add_shrink};

}  // namespace deadrank::runners::commands

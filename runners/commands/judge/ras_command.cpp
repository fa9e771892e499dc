// runners/commands/judge/ras_command.cpp — deadrank score ras: both ends of NCCL's RAS protocol. `serve` lets
// any RAS client query a run; `ask` queries a live NCCL and judges its answer.
#include <CLI/CLI.hpp>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/emitters/snapshot.h"
#include "results/external/foreign_detectors.h"
#include "results/record/words.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/serve/ras_service.h"

namespace deadrank::runners::commands {

namespace {

using results::Time;

struct Serving {
    std::string place;
    int port = serve::ras_port;
    double at = -1;
    bool live = false;
};

struct Asking {
    serve::RasQuestion question;
    int port = serve::ras_port;
    bool text = false, json = false;
};

void serve_run(const Serving& arguments, Session& session) {
    std::error_code ignored;
    std::filesystem::path file = arguments.place;
    if (std::filesystem::is_directory(file, ignored)) file /= "evidence.jsonl";
    auto evidence = results::read_evidence(file);
    if (!session.take(evidence)) return;
    const Time fixed = arguments.at >= 0 ? Time{static_cast<std::int64_t>(arguments.at * 1e9)}
                                         : results::emitters::first_silence(*evidence);
    const auto begin = std::chrono::steady_clock::now();
    const auto now = [&] {
        if (!arguments.live) return fixed;
        return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now() - begin);
    };
    auto server = serve::RasServer::listen(static_cast<std::uint16_t>(arguments.port),
                                           [&] { return results::emitters::ras_report(*evidence, now()); });
    if (!session.take(server)) return;
    print_out("RAS of {} on 127.0.0.1:{}, {}; Ctrl-C ends it\n", file.string(), (*server)->port(),
              arguments.live ? "as the run goes on" : "as it was at " + results::duration_text(fixed));
    flush_out();
    (*server)->run(stop_on_interrupt());
}

void query_service(const Asking& arguments, Session& session) {
    serve::RasQuestion question = arguments.question;
    question.port = static_cast<std::uint16_t>(arguments.port);
    question.json = !arguments.text;
    auto body = serve::query_ras(question);
    if (!session.take(body)) return;
    if (arguments.text) {
        print_out("{}", *body);
        return;
    }
    auto report = results::external::read_ras_json(*body);
    if (!session.take(report)) return;
    const auto troubles = results::external::find_troubles(*report);
    if (arguments.json) {
        print_out("{}", *body);
    } else {
        print_out("NCCL {}, {}\n", report->nccl,
                  results::counted(report->communicators.size(), "communicator"));
        for (const auto& trouble : troubles) print_out("  {}\n", trouble.says);
        if (troubles.empty()) print_out("  all answer, and have launched as many operations as the others\n");
    }
    session.code = troubles.empty() ? exit_pass : exit_fail;
}

void add_ras(CLI::App& command, Session& session) {
    command.footer(
        "RAS tells who has launched how many operations, and who does not answer. It cannot see ranks that "
        "have all "
        "launched and none of which finishes.\n\n"
        "Exit code of ask: 0 nothing is wrong, 1 somebody lags or does not answer, 64 nobody could be "
        "asked.\n\n"
        "Examples:\n"
        "  deadrank score ras serve out/communication/rank_leaves_all_reduce/1\n"
        "  deadrank score ras ask --host node0\n"
        "  ncclras -h localhost -v");
    command.require_subcommand(1);
    auto serving = std::make_shared<Serving>();
    CLI::App* serve_command = command.add_subcommand("serve", "Answers as a run would have, on loopback");
    serve_command->add_option("run", serving->place, "A run's directory, or an evidence file")
        ->required()
        ->type_name("PLACE");
    serve_command->add_option("--port", serving->port, "Listen there; 0 is any that is free [28028]")
        ->type_name("PORT")
        ->check(CLI::Range(0, 65535).description(""));
    serve_command
        ->add_option("--at", serving->at, "The moment in seconds [the first minute without progress]")
        ->type_name("SECONDS");
    serve_command->add_flag("--live", serving->live, "Let the run's time go on from now");
    serve_command->callback([serving, &session] { serve_run(*serving, session); });
    auto asking = std::make_shared<Asking>();
    CLI::App* ask_command = command.add_subcommand("ask", "Asks a RAS, and says who lags or does not answer");
    ask_command->add_option("--host", asking->question.host, "Where it listens [localhost]")
        ->type_name("HOST");
    ask_command->add_option("--port", asking->port, "Its port [28028]")
        ->type_name("PORT")
        ->check(CLI::Range(1, 65535).description(""));
    ask_command->add_option("--timeout", asking->question.timeout_seconds, "Seconds it may collect [5]")
        ->type_name("SECONDS")
        ->check(CLI::Range(1, 600).description(""));
    ask_command->add_flag("--text", asking->text, "Its own report for people, as it is");
    add_json(*ask_command, asking->json, "Its answer as it is");
    ask_command->callback([asking, &session] { query_service(*asking, session); });
}

}  // namespace

extern const CommandRow ras_row{
    "ras", "Speaks NCCL's RAS protocol: serves a run to any client, or asks a live job", add_ras};

}  // namespace deadrank::runners::commands

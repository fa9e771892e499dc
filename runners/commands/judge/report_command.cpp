// runners/commands/judge/report_command.cpp — deadrank report: the tables that are made of many runs. Each of
// its verbs is a file of its own.
#include <CLI/CLI.hpp>

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

namespace {

void add_report(CLI::App& command, Session& session) {
    command.footer(
        "Examples:\n"
        "  deadrank report resilience ddp.jsonl fsdp2.jsonl     how frameworks reacted to bugs\n"
        "  deadrank report parity                               the simulator beside real processes\n"
        "  deadrank report promises --list                      which framework promises what\n"
        "  deadrank report releases                             bugs of published releases");
    command.callback([&session] {
        session.complain({scenarios::ErrorCode::usage, "report has no verb",
                          "add resilience, parity, promises or releases; see deadrank report --help"});
    });
}

}  // namespace

extern const CommandRow report_row{"report", "Makes a table of many runs", add_report};

}  // namespace deadrank::runners::commands

// runners/commands/judge.h — deadrank judge: enters the line at the evidence: detects and judges again from
// files, or reads a stranger's evidence.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_judge(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands

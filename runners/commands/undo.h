// runners/commands/undo.h — `deadrank undo`: what a killed run left on this machine is taken back.
#pragma once

namespace CLI {
class App;
}

namespace deadrank::runners::commands {

struct Session;

void add_undo(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands

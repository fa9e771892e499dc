// runners/commands/doctor.h — `deadrank doctor`: what would go wrong, before the job begins.
#pragma once

namespace CLI {
class App;
}

namespace deadrank::runners::commands {

struct Session;

void add_doctor(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands

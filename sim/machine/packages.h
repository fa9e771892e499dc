// sim/machine/packages.h — What a process imports before its script runs: packages that are missing, broken
// or of the wrong kind end it there.
#pragma once

namespace deadrank::sim {

struct Machine;
struct Process;

// Throws RankFailure with the traceback's last line; a package.load event says what was looked for.
void load_packages(Machine& machine, Process& process);

}  // namespace deadrank::sim

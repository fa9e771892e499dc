// runners/commands/interrupt.h — Ctrl-C once: stop soon and keep the evidence. Twice: end at once.
#pragma once

#include <atomic>

namespace deadrank::runners::commands {

// Listens from now on until the program ends. The flag becomes true with the first SIGINT or SIGTERM; the
// second one has its usual effect.
std::atomic<bool>& stop_on_interrupt();

// The same for a dialogue: who waits for a line of input gets none.
std::atomic<bool>& stop_while_reading();

}  // namespace deadrank::runners::commands

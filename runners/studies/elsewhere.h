// runners/studies/elsewhere.h — This program once more, in a process of its own: other addresses, another
// history.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::runners {

// Runs the command to its end and gives back what it wrote on standard output. When `stop` is set it is ended
// within seconds, and what it wrote until then is given back. Errors: environment, when it cannot be started
// or ends in trouble, with its last words.
scenarios::Result<std::string> output_of(const std::vector<std::string>& command,
                                         const std::atomic<bool>& stop);

}  // namespace deadrank::runners

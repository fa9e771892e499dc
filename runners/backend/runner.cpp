// runners/backend/runner.cpp — The one definition of the interface's table of functions.
#include "runners/backend/runner.h"

namespace deadrank::runners {

Runner::~Runner() = default;

}  // namespace deadrank::runners

// tests/fuzz/launcher_log_fuzz.cpp — mpirun, srun, DeepSpeed, Lightning and Ray. Promise: any bytes become
// evidence.
#include "tests/fuzz/log_text.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(launcher_log) { return read_log_text(text, {.year = 2026}).kind != "text"; }

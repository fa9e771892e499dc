// tests/fuzz/scheduler_log_fuzz.cpp — sacct, scontrol, and lines of Slurm and Kubernetes. Promise: any bytes
// become evidence.
#include "tests/fuzz/log_text.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(scheduler_log) { return read_log_text(text, {.year = 2026}).kind != "text"; }

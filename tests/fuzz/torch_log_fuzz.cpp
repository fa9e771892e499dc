// tests/fuzz/torch_log_fuzz.cpp — Tracebacks, c10d and torchrun's report. Promise: any bytes become evidence.
#include "tests/fuzz/log_text.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(torch_log) { return read_log_text(text, {.rank = 3, .year = 2026}).kind != "text"; }

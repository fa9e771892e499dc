// tests/fuzz/kernel_log_fuzz.cpp — dmesg, journalctl and raw kmsg. Promise: any bytes become evidence.
#include "tests/fuzz/log_text.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(kernel_log) { return read_log_text(text, {.host = "node1", .year = 2026}).kind != "text"; }

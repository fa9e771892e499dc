// tests/fuzz/nccl_log_fuzz.cpp — NCCL's lines and its warnings. Promise: any bytes become evidence.
#include "tests/fuzz/log_text.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(nccl_log) {
    return read_log_text(text, {.rank = 3, .host = "node1", .year = 2026}).kind != "text";
}

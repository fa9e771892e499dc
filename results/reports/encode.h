// results/reports/encode.h — Rows as few bytes: what was done is told once for all rows that did it,
// when it was done follows as differences of microseconds. results/reports/html/decode.js reads it back.
#pragma once

#include <string>

#include "results/reports/fold.h"

namespace deadrank::results::reports {

// Both in base64 over variable-length integers (7 bits a byte, lowest first; "zigzag" where negative).
struct EncodedRows {
    // number of shapes, then each: number of slices, then of each slice the kind, and zigzag of its number
    // less that of the slice before in the same series
    std::string shapes;
    // for each row: shape, then of each slice its begin less the begin before, and 0 where it never ended,
    // else its length + 1
    std::string times;
};
EncodedRows encode(const Timeline& timeline, const std::vector<Row>& rows);

std::string base64(std::string_view bytes);

}  // namespace deadrank::results::reports

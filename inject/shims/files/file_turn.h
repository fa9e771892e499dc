// inject/shims/files/file_turn.h — Ranks of a simulation compute at the same time, but use files one after the
// other, in the order of the simulation: a rank asks for its turn before it first uses a file, and keeps it
// until its next request. While copies of their run are played, whose files are layers over those of the run, ranks
// change nothing.
#pragma once

namespace deadrank::inject::shims {

// Before a call that opens `path` or changes what it names: returns when it is this thread's turn. Returns at once
// within another wrapped call, for no path, and for reads of what no rank changes: devices, Python's own files, source
// text. `writes`: the call may change a file.
void take_file_turn(const char* path, bool writes);

}  // namespace deadrank::inject::shims

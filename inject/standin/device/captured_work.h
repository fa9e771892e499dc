// inject/standin/device/captured_work.h — Work of a captured stream (capture.h), for operators/ and Python. Plain C.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// `stream` is a cudaStream_t: null is the current device's default stream.
int deadrank_captures_open(void);  // whether any stream is captured
int deadrank_stream_is_captured(void* stream);

// Each takes `data`, and gives it to `drop` when nothing needs it any more, which is at once where the stream is not
// captured (-1). `play` runs as the work of a stream and costs `ns` of virtual time; `call` runs on the thread that
// launches the graph, and may enqueue work itself.
int deadrank_graph_add(void* stream, void (*play)(void* data), void (*drop)(void* data), void* data, int64_t ns);
int deadrank_graph_add_call(void* stream, void (*call)(void* data), void (*drop)(void* data), void* data);
// `action` runs once, when the capture ends in whatever way.
int deadrank_capture_at_end(void* stream, void (*action)(void* data), void* data);

#ifdef __cplusplus
}
#endif

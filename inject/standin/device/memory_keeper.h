// inject/standin/device/memory_keeper.h — Device memory in a process whose node is simulated. Plain C, so that Python can use
// it. A device may be shared by several processes, each of which knows its own memory alone; the keeper knows all of it.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// `device`: as this process numbers its devices. Bytes are those of one block, which is given back whole.
struct deadrank_memory_keeper {
    int (*take)(int device, int64_t bytes);  // 0: the device has room, and they are taken
    void (*give_back)(int device, int64_t bytes);
    int64_t (*left)(int device);  // bytes; -1: not known here
};

// The keeper is copied. Call once, before the first block is taken, in a forked child rather than in its parent.
void deadrank_keep_memory(const struct deadrank_memory_keeper* keeper);

#ifdef __cplusplus
}
#endif

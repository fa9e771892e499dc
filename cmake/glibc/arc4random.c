// cmake/glibc/arc4random.c — Since glibc 2.36. std::random_device calls it.
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

uint32_t arc4random(void) {
    uint32_t number;
    while (getrandom(&number, sizeof number, 0) != sizeof number) {
    }
    return number;
}

// cmake/glibc/start.c — The start of a program under glibc before 2.34. The start files of later versions
// pass no `init` and leave static constructors to glibc. An earlier glibc expects `init` to run them.
typedef void function(void);
typedef void constructor(int, char**, char**);

extern function _init;
extern constructor* __init_array_start[];
extern constructor* __init_array_end[];

int start_of_old(int (*)(int, char**, char**), int, char**, constructor*, function*, function*, void*);
__asm__(".symver start_of_old, __libc_start_main@GLIBC_2.2.5");

static void run_constructors(int argc, char** argv, char** environment) {
    _init();
    for (constructor** at = __init_array_start; at != __init_array_end; ++at) (*at)(argc, argv, environment);
}

// The loader runs .preinit_array and the destructors in every version.
int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, constructor* init,
                      function* fini, function* loader_fini, void* stack_end) {
    (void)init;
    return start_of_old(main, argc, argv, run_constructors, fini, loader_fini, stack_end);
}

// cmake/glibc/dl_find_object.c — Since glibc 2.35. GCC's unwinder asks it for the unwind table of the library
// at an address, and ends the program if it finds none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

struct search {
    char* address;
    struct dl_find_object* found;
};

static int look(struct dl_phdr_info* library, size_t size, void* data) {
    (void)size;
    const struct search* search = data;
    void* unwind_table = NULL;
    int inside = 0;
    for (const ElfW(Phdr)* part = library->dlpi_phdr; part != library->dlpi_phdr + library->dlpi_phnum;
         ++part) {
        char* begin = (char*)library->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_EH_FRAME) unwind_table = begin;
        if (part->p_type != PT_LOAD || search->address < begin || search->address >= begin + part->p_memsz)
            continue;
        inside = 1;
        search->found->dlfo_map_start = begin;
        search->found->dlfo_map_end = begin + part->p_memsz;
    }
    search->found->dlfo_eh_frame = unwind_table;
    return inside && unwind_table;
}

int _dl_find_object(void* address, struct dl_find_object* found) {
    struct search search = {address, found};
    return dl_iterate_phdr(look, &search) ? 0 : -1;
}

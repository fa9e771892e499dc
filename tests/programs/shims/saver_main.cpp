// tests/programs/shims/saver_main.cpp — Saves checkpoints in every way that programs do it: beside and
// renamed, exchanged, linked, without a name at first, in place, a whole directory at once. It knows of no
// faults.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace {

void check(bool well, const char* what) {
    if (well) return;
    std::perror(what);
    std::exit(1);
}

void fill(int file, char letter) {
    const std::string content(2000, letter);
    check(::write(file, content.data(), content.size()) == 2000 && ::fsync(file) == 0, "write");
    ::close(file);
}

void save(int directory, const char* name, char letter) {
    fill(::openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0644), letter);
}

void save_nameless(int directory, const char* name) {
    const int file = ::openat(directory, ".", O_TMPFILE | O_RDWR, 0600);
    check(file >= 0 && ::write(file, "nameless", 8) == 8, "O_TMPFILE");
    const std::string self = "/proc/self/fd/" + std::to_string(file);
    check(::linkat(AT_FDCWD, self.c_str(), directory, name, AT_SYMLINK_FOLLOW) == 0, "linkat");
    ::close(file);
}

// libc opens this one inside itself.
void save_under_a_drawn_name() {
    char name[] = "drawn-XXXXXX";
    fill(::mkstemp(name), 'e');
    check(::rename(name, "drawn.pt") == 0, "rename of a drawn name");
}

void save_directory() {
    check(::mkdir("step2.part", 0755) == 0, "mkdir");
    save(AT_FDCWD, "step2.part/model.pt", 'd');
    check(::rename("step2.part", "step2") == 0, "rename of a directory");
    check(::symlink("step2", "latest.part") == 0 && ::rename("latest.part", "latest") == 0, "symlink");
    check(::unlink("step1/model.pt") == 0 && ::rmdir("step1") == 0, "rmdir");
}

}  // namespace

// DIRECTORY, which may have config.txt and has last.pt, best.pt and twin.pt (one file), log.txt,
// step1/model.pt, latest → step1.
int main(int count, char** words) {
    check(count == 2 && ::chdir(words[1]) == 0, "a directory");
    const int here = ::open(".", O_RDONLY | O_DIRECTORY);
    save(AT_FDCWD, "last.pt.part", 'a');
    check(::rename("last.pt.part", "last.pt") == 0, "rename");
    save_nameless(here, "fresh.pt");
    check(::link("last.pt", "last.pt.old") == 0 && ::unlink("last.pt") == 0, "link");
    save(here, "last.pt", 'b');
    check(::renameat2(here, "last.pt", here, "fresh.pt", RENAME_EXCHANGE) == 0, "renameat2");
    save(here, "best.pt", 'c');
    check(::truncate("twin.pt", 5) == 0, "truncate");
    check(::chmod("config.txt", 0400) == 0 || errno == ENOENT, "chmod");
    save_under_a_drawn_name();
    save_directory();
    std::FILE* log = std::fopen("log.txt", "a");
    check(log && std::fputs("saved\n", log) > 0 && std::fclose(log) == 0, "fopen");
    return 0;
}

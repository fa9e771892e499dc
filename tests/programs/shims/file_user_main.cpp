// tests/programs/shims/file_user_main.cpp — Uses one file as programs do, by system calls or by streams, and
// prints what each call answered. It knows of no faults.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

std::string letters(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('a' + i % 26);
    return text;
}

void say(const std::string& word, long answer) {
    std::printf("%s %ld %s\n", word.c_str(), answer, answer < 0 ? std::strerror(errno) : "");
}

// In two parts, as those do who write a header and a payload.
long by_vector(int file, const std::string& text) {
    const std::size_t half = text.size() / 2;
    auto* data = const_cast<char*>(text.data());
    const iovec parts[] = {{data, half}, {data + half, text.size() - half}};
    return ::writev(file, parts, 2);
}

void use(const std::string& path, const std::string& word, std::size_t bytes) {
    const std::string text = letters(bytes);
    if (word == "stream") {
        std::ofstream out(path);
        out << text;
        out.close();
        return say(word, out ? static_cast<long>(bytes) : -1);
    }
    if (word == "replace") {
        const std::string beside = path.substr(0, path.rfind('/')) + "/.written";
        std::ofstream(beside) << text;
        return say(word, std::rename(beside.c_str(), path.c_str()));
    }
    if (word == "arm") {  // as the hook of a rank does
        using Set = int (*)(const char*, const char*, long long, int);
        auto* set = reinterpret_cast<Set>(::dlsym(RTLD_DEFAULT, "deadrank_storage"));
        return say(word, set ? set("read_only", path.c_str(), 0, bytes == 0) : -1);
    }
    const bool reads = word == "read";
    const int file = ::open(path.c_str(), reads ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0) return say("open", -1);
    if (reads) {
        std::string got(bytes, ' ');
        say(word, ::read(file, got.data(), got.size()));
        std::printf("got %s\n", got.c_str());
    } else if (word == "writev") {
        say(word, by_vector(file, text));
    } else if (word == "sync") {
        say(word, ::fsync(file));
    } else {
        say(word, ::write(file, text.data(), text.size()));
    }
    ::close(file);
}

// Prints nanoseconds a call.
int time_calls(const std::string& path, long calls) {
    const int file = ::open(path.c_str(), O_WRONLY);
    const std::string text = letters(64);
    const auto begin = std::chrono::steady_clock::now();
    for (long i = 0; i < calls; ++i) {
        if (by_vector(file, text) < 0) return 1;
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    std::printf("%f\n", took.count() / static_cast<double>(calls));
    return 0;
}

}  // namespace

// PATH and words such as write:26; or PATH time CALLS.
int main(int count, char** words) {
    if (count == 4 && std::strcmp(words[2], "time") == 0)
        return time_calls(words[1], std::strtol(words[3], nullptr, 10));
    for (int i = 2; i < count; ++i) {
        const std::string word = words[i];
        const std::size_t colon = word.find(':');
        const bool sized = colon != std::string::npos;
        use(words[1], word.substr(0, colon), sized ? std::strtoul(word.c_str() + colon + 1, nullptr, 10) : 0);
    }
    struct stat seen {};
    std::printf("size %ld\n", ::stat(words[1], &seen) == 0 ? static_cast<long>(seen.st_size) : -1L);
    return 0;
}

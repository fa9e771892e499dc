// results/processes/child.h — A child process: started without a shell, read, awaited and ended.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::results::processes {

// The environment of this process, as NAME=value.
std::vector<std::string> own_environment();

// `given`, and this process's variables of other names. Where a name occurs twice, shells take the last value
// and other programs the first.
std::vector<std::string> with_own_environment(std::vector<std::string> given);

// Returns the path of a program, or an empty text. A name without a slash is looked up in PATH.
std::string find_program(const std::string& name);

struct Command {
    enum class Group { own_session, own_group, ours };
    enum class Streams { pipes, log, inherited };

    std::vector<std::string> argv;  // argv[0] is looked up in the PATH of `environment`, not of this process
    std::vector<std::string> environment = own_environment();  // all of it, as NAME=value
    std::filesystem::path directory = {};                      // its working directory; empty = ours
    std::filesystem::path input = {};                          // its standard input; empty = /dev/null
    Group group = Group::own_session;  // Ctrl-C in our terminal reaches it in `ours` alone
    // inherited: our terminal and all our descriptors, as if the user had started the program directly.
    // Otherwise it inherits no descriptor.
    Streams streams = Streams::pipes;
    std::filesystem::path log = {};      // of Streams::log
    bool ends_with_us = false;           // the kernel kills it when the thread that started it ends
    std::chrono::milliseconds grace{0};  // from SIGTERM to SIGKILL when it is ended; 0 = SIGKILL at once
};

struct Exit {
    int code = 0;            // 0 if a signal ended it
    int signal = 0;          // 0 if it exited by itself
    double cpu_seconds = 0;  // of the process and its awaited children

    bool well() const { return code == 0 && signal == 0; }
};

// The read end of a child's pipe.
class Stream {
public:
    explicit Stream(int descriptor = -1) : descriptor_(descriptor) {}
    Stream(Stream&& other) noexcept : descriptor_(other.release()) {}
    Stream& operator=(Stream&& other) noexcept;
    ~Stream() { close(); }

    int descriptor() const { return descriptor_; }  // -1 once the stream has ended
    int release();                                  // the caller closes it
    void close();
    void never_block();
    // Appends one block to `text`. Returns false if there is nothing to read now, or nothing more at all.
    bool read(std::string& text);

private:
    int descriptor_;
};

class Child {
public:
    // Errors: environment, if the program cannot be executed; io, if no pipe is left; usage, if argv is
    // empty.
    static scenarios::Result<Child> start(const Command& command);
    // Runs `work` in a copy of this process, which exits with the code that `work` returns. `work` writes to
    // the descriptor that it gets, whose other end is `output`. The kernel kills the copy when this thread
    // ends. Errors: environment.
    static scenarios::Result<Child> fork(const std::function<int(int output)>& work);

    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    ~Child() { end(); }

    int pid() const { return pid_; }
    // Returns the exit if the child has exited.
    const std::optional<Exit>& poll();
    const Exit& wait();
    // The same as poll(), at the latest after this time.
    const std::optional<Exit>& wait_within(std::chrono::milliseconds limit);
    // Sends the signal to the child's group if the child leads one, also after the child's own exit.
    void send(int signal) const;
    // Sends SIGTERM, after the command's grace SIGKILL, and waits for the exit.
    void end();
    // Processor time so far, without its children.
    double cpu_seconds() const;

    Stream output, errors;

private:
    Child() = default;
    bool reap(int options);

    int pid_ = -1;
    bool leads_group_ = false;
    std::chrono::milliseconds grace_{0};
    std::optional<Exit> exit_;
};

// Starts another project's server, which ends with us: SIGTERM, and SIGKILL after five seconds. Its output
// goes to `log`. `environment`: NAME=value, instead of ours. Errors: those of Child::start.
scenarios::Result<Child> start_daemon(const std::vector<std::string>& argv, const std::filesystem::path& log,
                                      std::vector<std::string> environment = {});

// Replaces this process by the program, which argv[0] names or PATH has, with its terminal, descriptors and
// environment. Returns only where that failed: errno.
int replace_process(const std::vector<std::string>& argv);

// A descriptor that becomes readable when the process exits, whoever its parent is; -1 if there is none.
int open_pidfd(int pid);

}  // namespace deadrank::results::processes

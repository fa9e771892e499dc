// results/processes/child.cpp — fork and execve. Between the two, the child calls only functions that are
// safe in a copy of a process with several threads, so its memory is prepared before the fork.
#include "results/processes/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "scenarios/model/document.h"
#include "scenarios/model/text.h"

extern char** environ;

namespace deadrank::results::processes {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

constexpr int code_not_started = 127;

std::string_view name_of(std::string_view setting) { return setting.substr(0, setting.find('=') + 1); }

std::string find_in(const std::string& name, std::string_view path) {
    const auto executable = [](const std::string& file) {
        std::error_code ignored;  // a directory of PATH that this user may not enter
        return std::filesystem::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
    };
    if (name.find('/') != std::string::npos) return executable(name) ? name : "";
    for (const std::string_view directory : scenarios::parts_of(path, ':')) {
        std::string candidate = std::string(directory) + "/" + name;
        if (executable(candidate)) return candidate;
    }
    return {};
}

std::string_view path_in(const std::vector<std::string>& environment) {
    for (const std::string_view setting : environment) {
        if (setting.starts_with("PATH=")) return setting.substr(5);
    }
    return "/usr/bin:/bin";
}

class Pipe {
public:
    Pipe() { opened_ = pipe2(ends_.data(), O_CLOEXEC) == 0; }
    ~Pipe() {
        close_write();
        if (ends_[0] >= 0) ::close(ends_[0]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    bool opened() const { return opened_; }
    int write_end() const { return ends_[1]; }
    int take_read_end() { return std::exchange(ends_[0], -1); }
    void close_write() {
        if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
    }

private:
    std::array<int, 2> ends_{-1, -1};
    bool opened_ = false;
};

// What the child needs between fork and execve.
struct Prepared {
    const Command& command;
    std::string program, input;
    std::vector<char*> argv, environment;
    int parent = getpid(), output = -1, errors = -1, report = -1;

    Prepared(const Command& of, std::string found)
        : command(of),
          program(std::move(found)),
          input(of.input.empty() ? "/dev/null" : of.input.string()),
          argv(pointers(of.argv)),
          environment(pointers(of.environment)) {}

    static std::vector<char*> pointers(const std::vector<std::string>& texts) {
        std::vector<char*> list;
        for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
        list.push_back(nullptr);
        return list;
    }
};

// False if a file cannot be opened.
bool place_streams(const Prepared& prepared) {
    const Command& command = prepared.command;
    if (command.streams == Command::Streams::inherited) return true;
    const int input = open(prepared.input.c_str(), O_RDONLY | O_CLOEXEC);
    if (input < 0) return false;
    int output = prepared.output, errors = prepared.errors;
    if (command.streams == Command::Streams::log)
        output = errors = open(command.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (output < 0 || errors < 0) return false;
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    // A socket that the program kept open would stay open after we close it.
    syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
    return true;
}

// A handler of ours would run in the child until execve, and what we ignore the program would ignore too.
void reset_signals() {
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGHUP, SIGUSR1, SIGUSR2, SIGXFSZ})
        std::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become(const Prepared& prepared) {
    const Command& command = prepared.command;
    if (command.group == Command::Group::own_session) setsid();
    if (command.group == Command::Group::own_group) setpgid(0, 0);
    if (command.ends_with_us) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != prepared.parent) _exit(code_not_started);
    }
    const bool moved = command.directory.empty() || chdir(command.directory.c_str()) == 0;
    if (moved && place_streams(prepared)) {
        reset_signals();
        execve(prepared.program.c_str(), prepared.argv.data(), prepared.environment.data());
    }
    const int why = errno;
    [[maybe_unused]] const auto told = write(prepared.report, &why, sizeof why);
    _exit(code_not_started);
}

// No signal is handled in the child: its handlers are ours until execve.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_;
};

tl::unexpected<scenarios::Error> not_started(const std::string& program, int why) {
    if (why == EAGAIN || why == ENOMEM || why == EMFILE || why == ENFILE)
        return refuse(ErrorCode::io, fmt::format("cannot start '{}': {}", program, std::strerror(why)),
                      "free memory, or raise the limits on processes and open files");
    return refuse(ErrorCode::environment, fmt::format("cannot start '{}': {}", program, std::strerror(why)),
                  "name a program that exists and may be executed");
}

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

std::vector<std::string> own_environment() {
    std::vector<std::string> settings;
    for (char** one = environ; one && *one; ++one) settings.emplace_back(*one);
    return settings;
}

std::vector<std::string> with_own_environment(std::vector<std::string> given) {
    const std::size_t count = given.size();
    for (std::string& own : own_environment()) {
        const std::string_view name = name_of(own);
        const bool replaced = std::any_of(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(count),
                                          [&](const std::string& one) { return name_of(one) == name; });
        if (!replaced) given.push_back(std::move(own));
    }
    return given;
}

std::string find_program(const std::string& name) {
    const char* path = std::getenv("PATH");
    return find_in(name, path != nullptr ? path : "/usr/bin:/bin");
}

Stream& Stream::operator=(Stream&& other) noexcept {
    if (this != &other) {
        close();
        descriptor_ = other.release();
    }
    return *this;
}

int Stream::release() { return std::exchange(descriptor_, -1); }

void Stream::close() {
    if (descriptor_ >= 0) ::close(release());
}

void Stream::never_block() { fcntl(descriptor_, F_SETFL, O_NONBLOCK); }

bool Stream::read(std::string& text) {
    if (descriptor_ < 0) return false;
    std::array<char, 65536> block;
    const ssize_t count = ::read(descriptor_, block.data(), block.size());
    if (count > 0) text.append(block.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) close();
    return count > 0;
}

Child::Child(Child&& other) noexcept
    : output(std::move(other.output)),
      errors(std::move(other.errors)),
      pid_(std::exchange(other.pid_, -1)),
      leads_group_(other.leads_group_),
      grace_(other.grace_),
      exit_(other.exit_) {}

Child& Child::operator=(Child&& other) noexcept {
    if (this == &other) return *this;
    end();
    output = std::move(other.output);
    errors = std::move(other.errors);
    pid_ = std::exchange(other.pid_, -1);
    leads_group_ = other.leads_group_;
    grace_ = other.grace_;
    exit_ = other.exit_;
    return *this;
}

Result<Child> Child::start(const Command& command) {
    if (command.argv.empty()) return refuse(ErrorCode::usage, "an empty command", "name a program");
    const std::string& name = command.argv.front();
    const bool is_path = name.find('/') != std::string::npos;
    Prepared prepared(command, is_path ? name : find_in(name, path_in(command.environment)));
    if (prepared.program.empty()) return not_started(name, ENOENT);
    const bool piped = command.streams == Command::Streams::pipes;
    Pipe report;
    std::optional<Pipe> output, errors;
    if (piped) output.emplace(), errors.emplace();
    if (!report.opened() || (piped && (!output->opened() || !errors->opened()))) {
        return refuse(ErrorCode::io, fmt::format("no pipe could be opened: {}", std::strerror(errno)),
                      "raise the limit on open files");
    }
    prepared.report = report.write_end();
    if (piped) prepared.output = output->write_end(), prepared.errors = errors->write_end();
    Child child;
    int why = 0;
    {
        const SignalsBlocked blocked;
        child.pid_ = ::fork();
        if (child.pid_ == 0) become(prepared);
        why = child.pid_ < 0 ? errno : 0;
    }
    if (child.pid_ < 0) return not_started(name, why);
    report.close_write();
    Stream reported(report.take_read_end());
    ssize_t got = 0;
    do got = ::read(reported.descriptor(), &why, sizeof why);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        child.wait();
        return not_started(name, why);
    }
    child.leads_group_ = command.group != Command::Group::ours;
    child.grace_ = command.grace;
    if (piped) child.output = Stream(output->take_read_end()), child.errors = Stream(errors->take_read_end());
    return child;
}

Result<Child> Child::fork(const std::function<int(int output)>& work) {
    Pipe pipe;
    if (!pipe.opened()) {
        return refuse(ErrorCode::io, fmt::format("no pipe could be opened: {}", std::strerror(errno)),
                      "raise the limit on open files");
    }
    Child child;
    const int parent = getpid();
    child.pid_ = ::fork();
    if (child.pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() == parent ? work(pipe.write_end()) : code_not_started);
    }
    if (child.pid_ < 0) {
        return refuse(ErrorCode::io, fmt::format("no process could be created: {}", std::strerror(errno)),
                      "raise the limit on processes");
    }
    child.output = Stream(pipe.take_read_end());
    return child;
}

bool Child::reap(int options) {
    int status = 0;
    rusage usage{};
    pid_t found = 0;
    do found = wait4(pid_, &status, options, &usage);
    while (found < 0 && errno == EINTR);
    if (found == 0) return false;
    exit_ = Exit{};
    if (found < 0) return true;  // somebody else has awaited it
    exit_->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    exit_->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exit_->cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    return true;
}

const std::optional<Exit>& Child::poll() {
    if (pid_ > 0 && !exit_) reap(WNOHANG);
    return exit_;
}

const Exit& Child::wait() {
    if (!exit_) reap(0);
    return *exit_;
}

const std::optional<Exit>& Child::wait_within(std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!poll() && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return exit_;
}

void Child::send(int signal) const {
    if (pid_ > 0 && (leads_group_ || !exit_)) kill(leads_group_ ? -pid_ : pid_, signal);
}

void Child::end() {
    if (pid_ <= 0 || poll()) return;
    if (grace_.count() > 0) {
        send(SIGTERM);
        if (wait_within(grace_)) return;
    }
    send(SIGKILL);
    wait();
}

double Child::cpu_seconds() const {
    const std::string text = scenarios::read_text(fmt::format("/proc/{}/stat", pid_)).value_or("");
    std::istringstream fields(text.substr(std::min(text.rfind(')') + 2, text.size())));
    std::string skipped;
    double user = 0, system = 0;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Result<Child> start_daemon(const std::vector<std::string>& argv, const std::filesystem::path& log,
                           std::vector<std::string> environment) {
    return Child::start({.argv = argv,
                         .environment = with_own_environment(std::move(environment)),
                         .group = Command::Group::ours,
                         .streams = Command::Streams::log,
                         .log = log,
                         .ends_with_us = true,
                         .grace = std::chrono::seconds(5)});
}

int replace_process(const std::vector<std::string>& argv) {
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words.front(), words.data());
    return errno;
}

int open_pidfd(int pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace deadrank::results::processes

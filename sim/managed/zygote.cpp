// sim/managed/zygote.cpp — A warm Python with torch in it, of which each rank is a fork.
#include "sim/managed/zygote.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim/managed/trouble.h"
#include "sim/managed/wire.h"

namespace deadrank::sim::managed {

using nlohmann::json;
using results::processes::Child;
using results::processes::Command;

namespace {

// Imports of a cold disk on a busy machine take longest. A process that ends closes its end, which is noticed
// at once.
constexpr int answer_limit_ms = 600'000;
constexpr std::chrono::seconds end_limit{2};

[[noreturn]] void fail(std::string what, std::string help) {
    throw HostTrouble(std::move(what), std::move(help));
}

std::vector<std::string> environment_of(const ZygoteSettings& settings) {
    std::map<std::string, std::string> variables;
    for (const std::string& text : results::processes::own_environment()) {
        const std::size_t equals = text.find('=');
        if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
    variables["PYTHONHASHSEED"] = "0";  // the order of sets is that of every run
    variables["PYTHONDONTWRITEBYTECODE"] = "1";
    variables["OMP_NUM_THREADS"] = "1";
    variables["MKL_NUM_THREADS"] = "1";
    for (const auto& [name, value] : settings.environment) variables[name] = value;
    std::string path = settings.package.string();
    if (const auto found = variables.find("PYTHONPATH"); found != variables.end() && !found->second.empty())
        path += ":" + found->second;
    variables["PYTHONPATH"] = path;
    std::vector<std::string> lines;
    for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
    return lines;
}

// Inherited, at its begin.
Descriptor memory_with(const std::string& text) {
    Descriptor memory(::memfd_create("patched", 0));
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t wrote = ::write(memory.get(), text.data() + at, text.size() - at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) fail(fmt::format("cannot pass on a patch: {}", std::strerror(errno)), "free memory");
        at += static_cast<std::size_t>(wrote);
    }
    ::lseek(memory.get(), 0, SEEK_SET);
    return memory;
}

}  // namespace

Zygote::Zygote(const ZygoteSettings& settings) : holds_(settings.holds) {
    auto [ours, theirs] = packet_sockets();
    const int number = ::fcntl(theirs.get(), F_DUPFD, 100);  // inherited: without close-on-exec
    if (number < 0)
        fail(fmt::format("no descriptor for the warm Python: {}", std::strerror(errno)),
             "raise the limit on open files (`ulimit -n`) to 1024");
    Descriptor inherited(number);
    std::vector<std::string> words{settings.python.string(), "-m", "deadrank.zygote", "--control",
                                   std::to_string(number)};
    if (!settings.hook.empty()) words.insert(words.end(), {"--hook", settings.hook.string()});
    if (!settings.program.empty()) words.insert(words.end(), {"--program", settings.program.string()});
    const Descriptor patched =
        settings.patched.empty() ? Descriptor() : memory_with(json(settings.patched).dump());
    if (patched) words.insert(words.end(), {"--patched", std::to_string(patched.get())});
    words.emplace_back("--preload");
    words.insert(words.end(), settings.preload.begin(), settings.preload.end());
    auto started =
        Child::start({.argv = std::move(words),
                      .environment = environment_of(settings),
                      .group = Command::Group::own_group,  // Ctrl-C is for deadrank, which then ends it
                      .streams = Command::Streams::inherited});
    if (!started) fail(started.error().what, "name a Python that has torch with DEADRANK_PYTHON");
    interpreter_ = std::move(*started);
    control_ = std::move(ours);
    theirs.close();
    inherited.close();
    try {
        const json ready = json::parse(receive(), nullptr, false);
        if (!ready.is_object() || !ready.contains("ready"))
            fail("the warm Python did not begin as expected", "internal error: report it");
        description_ =
            fmt::format("Python {}, torch {}", ready.value("python", "?"), ready.value("torch", "?"));
    } catch (...) {
        stop();
        throw;
    }
}

Zygote::~Zygote() { stop(); }

void Zygote::stop() {
    control_.close();  // it ends its children, then itself
    if (interpreter_ && !interpreter_->wait_within(end_limit)) interpreter_->end();
}

// The mutex is held, or nobody else knows this object yet.
std::string Zygote::receive() { return receive_over(control_.get()); }

std::string Zygote::receive_over(int control) {
    pollfd ready{control, POLLIN, 0};
    int came = 0;
    while ((came = ::poll(&ready, 1, answer_limit_ms)) < 0 && errno == EINTR) {
    }
    if (came == 0)
        fail(fmt::format("the warm Python did not answer within {} s", answer_limit_ms / 1000),
             "the machine may be overloaded: run it again");
    std::vector<char> buffer(message_max);
    const ssize_t size = ::recv(control, buffer.data(), buffer.size(), 0);
    if (size <= 0)
        fail("the warm Python ended; what it said stands above",
             "see that `python -c 'import torch'` works with this interpreter, or name another with "
             "DEADRANK_PYTHON");
    return {buffer.data(), static_cast<std::size_t>(size)};
}

void Zygote::read_one() {
    const json line = json::parse(receive(), nullptr, false);
    if (!line.is_object()) fail("the warm Python sent no JSON", "internal error: report it");
    if (line.contains("spawned")) {
        answers_[line["spawned"].get<std::uint64_t>()] = {line["pid"].get<pid_t>(), ""};
    } else if (line.contains("refused")) {
        answers_[line["refused"].get<std::uint64_t>()] = {-1, line.value("why", "no reason")};
    } else if (line.contains("ended")) {
        ended_[line["ended"].get<pid_t>()] = line.value("status", 0);
    }
}

void Zygote::expect(int ranks) {
    const std::lock_guard lock(mutex_);
    const std::string text = json{{"expect", ranks}}.dump();
    while (::send(control_.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

pid_t Zygote::spawn(const RankSpec& spec) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t id = ++spawned_;
    json options = json::object();
    for (const auto& [name, value] : spec.options) options[name] = json::parse(value);
    const std::string text = fmt::format("{}:{}", id,
                                         json{{"argv", spec.argv},
                                              {"cwd", spec.cwd},
                                              {"environment", spec.environment},
                                              {"process", spec.process},
                                              {"seed", spec.seed},
                                              {"options", options}}
                                             .dump(-1, ' ', false, json::error_handler_t::replace));
    if (!send_with(control_.get(), text, {spec.channel, spec.out, spec.err, spec.arena}))
        fail(fmt::format("cannot start a rank: {}", std::strerror(errno)),
             "see that the arguments and the environment of the program are below 1 MB");
    return await_child(id, "a rank", "free memory, or play fewer ranks");
}

// The mutex is held.
pid_t Zygote::await_child(std::uint64_t id, std::string_view what, std::string help) {
    while (!answers_.contains(id)) read_one();
    const auto [pid, why] = answers_.extract(id).mapped();
    if (pid < 0) fail(fmt::format("cannot fork {}: {}", what, why), std::move(help));
    ended_.erase(pid);  // of an earlier process with this number
    return pid;
}

void Zygote::examine(const std::filesystem::path& request, pid_t within) {
    pid_t child = -1;
    {
        const std::lock_guard lock(mutex_);
        const std::uint64_t id = ++spawned_;
        const std::string text =
            json{{"examine", id}, {"request", request.string()}, {"within", within}}.dump();
        while (::send(control_.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
        }
        child = await_child(id, "a reader of files", "free memory");
    }
    wait_for(child);
}

Descriptor Zygote::connect() {
    const std::lock_guard lock(mutex_);
    auto [ours, theirs] = packet_sockets();
    if (!send_with(control_.get(), json{{"copy", true}}.dump(), {theirs.get()}))
        fail(fmt::format("the warm Python takes no connection: {}", std::strerror(errno)), "run it again");
    theirs.close();
    receive_over(ours.get());  // from now on it lets live what it does not know
    return std::move(ours);
}

void Zygote::adopt(const Descriptor& connection, const std::vector<pid_t>& copies) {
    const std::string text = json{{"adopt", copies}}.dump();
    while (::send(connection.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

int Zygote::wait_for(pid_t child) {
    const std::lock_guard lock(mutex_);
    while (!ended_.contains(child)) read_one();
    return ended_.extract(child).mapped();
}

}  // namespace deadrank::sim::managed

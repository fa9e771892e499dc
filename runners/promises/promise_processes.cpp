// runners/promises/promise_processes.cpp — Restarts a failed process if the documentation tells a scheduler
// to do so, six times at most.
#include "runners/promises/promise_processes.h"

#include <chrono>
#include <fmt/format.h>
#include <signal.h>
#include <thread>
#include <utility>

#include "runners/backends/process/job_processes.h"

namespace deadrank::runners::promises {

namespace {

constexpr int lives_most = 7;
constexpr std::size_t log_most = 8u << 20, tail_most = 4096;

// The last line that mentions an error, to quote in a sentence.
std::string last_line(const std::string& tail) {
    std::string last;
    for (std::size_t at = 0; at < tail.size();) {
        const std::size_t end = std::min(tail.find('\n', at), tail.size());
        const std::string line = tail.substr(at, end - at);
        if (line.find("Error") != std::string::npos || line.find("error") != std::string::npos) last = line;
        at = end + 1;
    }
    return last.size() > 240 ? last.substr(0, 240) + " …" : last;
}

Moment nanoseconds_of(double seconds) { return static_cast<Moment>(seconds * 1e9); }

}  // namespace

Processes::Processes(const std::vector<SubjectProcess>& rows, ProcessPlace place) : place_(std::move(place)) {
    for (const SubjectProcess& row : rows) {
        Child child;
        child.row = &row;
        child.log.open(place_.logs / (row.name + ".log"), std::ios::app);
        children_.push_back(std::move(child));
    }
}

std::string Processes::node_mark(int node, const std::filesystem::path& logs) {
    return fmt::format("DEADRANK_PROMISE_NODE={}#{}", logs.string(), node);
}

scenarios::Result<int> Processes::start_all() {
    for (Child& child : children_) {
        if (auto started = start_one(child); !started) return started;
    }
    return 0;
}

scenarios::Result<int> Processes::start_one(Child& child) {
    const int node = child.row->node;
    std::vector<std::string> command;
    for (const std::string& word : child.row->command) command.push_back(place_.fill(word, node));
    command = place_.inside(node, std::move(command));
    std::vector<std::string> environment = place_.environment;
    environment.push_back(node_mark(node, place_.logs));
    for (const auto& [name, value] : child.row->environment) {
        const auto same = [begin = name + "="](const std::string& line) { return line.starts_with(begin); };
        std::erase_if(environment, same);
        environment.push_back(name + "=" + place_.fill(value, node));
    }
    auto started = results::processes::Child::start({.argv = command, .environment = environment});
    if (!started) return tl::unexpected(started.error());
    started->output.never_block();
    started->errors.never_block();
    child.process = std::move(*started);
    child.hit = false;
    child.due.reset();
    ++child.lives;
    return 0;
}

void Processes::drain(Child& child) {
    if (!child.process) return;
    for (auto* stream : {&child.process->output, &child.process->errors}) {
        for (std::string text; stream->read(text); text.clear()) {
            if (child.log.tellp() < static_cast<std::streamoff>(log_most)) child.log << text << std::flush;
            child.tail += text;
            if (child.tail.size() > tail_most) child.tail.erase(0, child.tail.size() - tail_most);
        }
    }
}

void Processes::gone(Child& child, Moment now, const std::set<int>& hit) {
    const bool well = child.process->wait().well();
    const bool was_hit = child.hit || hit.contains(child.process->pid());
    drain(child);
    child.process.reset();
    const bool again = (child.row->service && was_hit) || (!well && child.row->again == StartAgain::failure);
    if (again && child.lives < lives_most) {
        child.due = now + nanoseconds_of(child.back);
        child.back = 0.5;
        return;
    }
    if (well || was_hit || child.row->service) return;
    if (!failure_) {
        failure_ = now;
        last_output_ = fmt::format("{}: {}", child.row->name, last_line(child.tail));
    }
}

void Processes::look(Moment now, const std::set<int>& hit) {
    for (Child& child : children_) {
        drain(child);
        if (child.process && child.process->poll()) gone(child, now, hit);
        if (child.due && now >= *child.due) {
            child.due.reset();
            if (const auto started = start_one(child); !started) trouble_ = started.error().text();
        }
    }
}

bool Processes::all_over() const {
    for (const Child& child : children_) {
        if (!child.row->service && (child.process || child.due)) return false;
    }
    return true;
}

std::vector<int> Processes::alive() const {
    std::vector<int> pids;
    for (const Child& child : children_) {
        if (child.process) pids.push_back(child.process->pid());
    }
    return pids;
}

bool Processes::kill_role(Role role, int number, Moment now, double back) {
    int at = 0;
    for (Child& child : children_) {
        if (child.row->role != role || at++ != number) continue;
        child.hit = true;
        child.back = back;
        if (!child.process) return false;
        kill(child.process->pid(), SIGKILL);
        kill(child.process->pid(), SIGCONT);
        look(now, {});
        return true;
    }
    return false;
}

int Processes::lose_node(int node, Moment, double back) {
    for (Child& child : children_) {
        if (child.row->node != node) continue;
        child.hit = true;
        child.back = back;
    }
    return end_all_marked(node_mark(node, place_.logs));
}

void Processes::end_services() {
    for (Child& child : children_) {
        if (child.process) kill(child.process->pid(), SIGTERM);
    }
    for (int look_again = 0; look_again < 40; ++look_again) {
        bool alive = false;
        for (Child& child : children_) {
            drain(child);
            if (child.process && child.process->poll()) child.process.reset();
            alive = alive || child.process;
        }
        if (!alive) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

}  // namespace deadrank::runners::promises

// runners/promises/promise_processes.h — The processes of a promised run: started and restarted as a
// scheduler would, with their output kept in files, and always ended.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/processes/child.h"
#include "runners/promises/promise_file.h"
#include "runners/promises/promise_history.h"

namespace deadrank::runners::promises {

// What fills the {names} of a command, and the prefix that runs it in its node's network.
struct ProcessPlace {
    std::vector<std::string> environment;
    std::function<std::string(std::string, int node)> fill;
    std::function<std::vector<std::string>(int node, std::vector<std::string>)> inside;
    std::filesystem::path logs;
};

class Processes {
public:
    Processes(const std::vector<SubjectProcess>& rows, ProcessPlace place);
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;

    scenarios::Result<int> start_all();
    // Reads their output, notices which have ended, restarts those that are due. `hit`: pids ended by faults.
    void look(Moment now, const std::set<int>& hit);
    bool all_over() const;  // without services
    std::vector<int> alive() const;

    // Kills the process of that role and number; it is restarted after `back` seconds if a scheduler would do
    // so.
    bool kill_role(Role role, int number, Moment now, double back);
    // Kills all processes of a node, whoever started them. Returns how many there were.
    int lose_node(int node, Moment now, double back);
    void end_services();

    bool failed() const { return failure_.has_value(); }
    std::optional<Moment> failure() const { return failure_; }
    std::string last_output() const { return last_output_; }
    std::string trouble() const { return trouble_; }  // in restarting a process
    static std::string node_mark(int node, const std::filesystem::path& logs);

private:
    struct Child {
        const SubjectProcess* row = nullptr;
        std::optional<results::processes::Child> process;
        int lives = 0;
        bool hit = false;
        std::optional<Moment> due;  // when to restart it
        double back = 0.5;
        std::string tail;
        std::ofstream log;
    };

    scenarios::Result<int> start_one(Child& child);
    void drain(Child& child);
    void gone(Child& child, Moment now, const std::set<int>& hit);

    ProcessPlace place_;
    std::vector<Child> children_;
    std::optional<Moment> failure_;
    std::string last_output_, trouble_;
};

}  // namespace deadrank::runners::promises

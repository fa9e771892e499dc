// results/record/payloads_job.h — What the launcher and the ranks themselves show: start, configuration,
// output, exit. Trivially copyable; fields are visited in the order written. Units: nanoseconds, bytes,
// elements, degrees Celsius, watts.
#pragma once

#include <cstdint>
#include <string_view>

#include "results/record/codes.h"

namespace deadrank::results {

// The launcher starts the job.
struct JobStart {
    static constexpr std::string_view kind = "job.start";
    std::int32_t world_size = 0;
    std::int32_t nodes = 1;
    std::int32_t gpus_per_node = 1;
    TextId what = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("world_size", self.world_size);
        visit("nodes", self.nodes);
        visit("gpus_per_node", self.gpus_per_node);
        visit("what", self.what);
    }
};

// The launcher saw the job end. code is its exit status.
struct JobStop {
    static constexpr std::string_view kind = "job.stop";
    std::int32_t code = 0;
    TextId reason = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("code", self.code);
        visit("reason", self.reason);
    }
};

// The launcher starts the ranks again.
struct Restart {
    static constexpr std::string_view kind = "restart";
    std::int32_t attempt = 0;
    TextId reason = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("attempt", self.attempt);
        visit("reason", self.reason);
    }
};

// versions: "name=version" lines; environment: "NAME=value" lines, as the process saw them.
struct RankStart {
    static constexpr std::string_view kind = "rank.start";
    std::int32_t pid = 0;
    std::int32_t node = 0;
    std::int32_t gpu = 0;
    TextId host = TextId::none;
    TextId versions = TextId::none;
    TextId environment = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("pid", self.pid);
        visit("node", self.node);
        visit("gpu", self.gpu);
        visit("host", self.host);
        visit("versions", self.versions);
        visit("environment", self.environment);
    }
};

// One setting as this rank read it: tp_size, micro_batch, learning_rate, …
struct RankConfig {
    static constexpr std::string_view kind = "rank.config";
    TextId name = TextId::none;
    TextId value = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("name", self.name);
        visit("value", self.value);
    }
};

// code as waitpid gives it; signal 0 = exited by itself.
struct RankExit {
    static constexpr std::string_view kind = "rank.exit";
    std::int32_t code = 0;
    std::int32_t signal = 0;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("code", self.code);
        visit("signal", self.signal);
    }
};

// From here on nothing more is recorded of this rank, on a full disk for example: what it did not write is
// not what it did not do.
struct EvidenceLost {
    static constexpr std::string_view kind = "evidence.lost";
    TextId why = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("why", self.why);
    }
};

// One line of the rank's output. level: 0 info, 1 warning, 2 error.
struct RankLog {
    static constexpr std::string_view kind = "rank.log";
    std::int32_t level = 0;
    TextId line = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("level", self.level);
        visit("line", self.line);
    }
};

// A package, extension or symbol was looked for: built, imported or bound.
struct PackageLoad {
    static constexpr std::string_view kind = "package.load";
    TextId name = TextId::none;
    TextId version = TextId::none;
    TextId problem = TextId::none;
    Code result = Code::ok;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("name", self.name);
        visit("version", self.version);
        visit("problem", self.problem);
        visit("result", self.result);
    }
};

// A project's own check ran: one line of its test report.
struct TestResult {
    static constexpr std::string_view kind = "test.result";
    TextId name = TextId::none;
    TextId problem = TextId::none;
    std::int32_t passed = 1;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("name", self.name);
        visit("problem", self.problem);
        visit("passed", self.passed);
    }
};

}  // namespace deadrank::results

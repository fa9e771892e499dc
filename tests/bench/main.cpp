// tests/bench/main.cpp — Runs the benchmarks and prints one table: least and median of several runs, per CPU
// second, and how far the same work in SimGrid lies behind.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr int usual_repetitions = 3;

struct Row {
    std::string name, label, trouble;
    std::map<std::string, std::vector<double>> columns;  // by counter: a value a run
};

std::string quantity(double value) {
    if (value >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
    if (value >= 1e4) return fmt::format("{:.1f} k", value / 1e3);
    return fmt::format("{:.4g}", value);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

class Table final : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context& context) override {
        std::string load;
        for (const double one : context.cpu_info.load_avg) load += fmt::format(" {:.1f}", one);
        fmt::print("{} processors at {:.0f} MHz, load{}\n\n", context.cpu_info.num_cpus,
                   context.cpu_info.cycles_per_second / 1e6, load);
        fmt::print("{:<46} {:<10} {:>11} {:>11}\n", "per CPU second", "what", "least", "median");
        return true;
    }

    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            if (run.run_type != Run::RT_Iteration) continue;
            if (rows_.empty() || rows_.back().name != run.run_name.str()) {
                if (!rows_.empty()) print(rows_.back());
                rows_.push_back({run.run_name.str(), run.report_label, {}, {}});
            }
            Row& row = rows_.back();
            if (run.error_occurred) row.trouble = run.error_message;
            for (const auto& [counter, value] : run.counters) row.columns[counter].push_back(value);
            if (run.counters.empty()) row.columns["ms"].push_back(run.GetAdjustedRealTime());
        }
    }

    void Finalize() override {
        if (!rows_.empty()) print(rows_.back());
        fmt::print("\n");
        compare("RingOfFibers/ranks:1000/queue:0", "RingOfSimGrid/ranks:1000", "messages");
        compare("RingOfFibers/ranks:10000/queue:0", "RingOfSimGrid/ranks:10000", "messages");
        compare("AllReduceSteps/ranks:64", "AllReduceStepsOfSimGrid/ranks:64", "steps");
        compare("AllReduceSteps/ranks:64", "AllReduceStepsOfSmpi/ranks:64", "steps");
        compare("AllReduceSteps/ranks:1024", "AllReduceStepsOfSmpi/ranks:1024", "steps");
        fmt::print(
            "SimGrid shares bandwidth and matches rendezvous, SMPI runs MPI's own algorithms message by "
            "message; "
            "ours\ncosts an undisturbed all-reduce in closed form. The ratios are not of equal work.\n");
    }

private:
    // Google Benchmark appends how a benchmark was run.
    static std::string short_name(std::string name) {
        for (const char* tail : {"/iterations:1", "/repeats:1", "/manual_time"}) {
            const std::size_t at = name.find(tail);
            if (at != std::string::npos) name.erase(at, std::strlen(tail));
        }
        return name;
    }

    static void print(const Row& row) {
        const std::string name = short_name(row.name);
        if (!row.trouble.empty()) return fmt::print("{:<46} {}\n", name, row.trouble);
        for (const auto& [counter, values] : row.columns) {
            const double least = *std::min_element(values.begin(), values.end());
            fmt::print("{:<46} {:<10} {:>11} {:>11} {}\n", name, counter, quantity(least),
                       quantity(median(values)), row.label);
        }
        std::fflush(stdout);
    }

    const Row* find(const std::string& name) const {
        for (const Row& row : rows_) {
            if (short_name(row.name) == name && row.trouble.empty()) return &row;
        }
        return nullptr;
    }

    void compare(const std::string& ours, const std::string& theirs, const std::string& counter) const {
        const Row* one = find(ours);
        const Row* other = find(theirs);
        if (!one || !other) return;
        fmt::print("{} is {:.0f} times {}\n", ours,
                   median(one->columns.at(counter)) / median(other->columns.at(counter)), theirs);
    }

    std::vector<Row> rows_;
};

}  // namespace

int main(int argc, char** argv) {
    std::vector<char*> arguments(argv, argv + argc);
    std::string repetitions = fmt::format("--benchmark_repetitions={}", usual_repetitions);
    const bool said = std::any_of(arguments.begin(), arguments.end(), [](const char* word) {
        return std::strstr(word, "--benchmark_repetitions") != nullptr;
    });
    if (!said) arguments.push_back(repetitions.data());
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 64;
    Table table;
    benchmark::RunSpecifiedBenchmarks(&table);
    benchmark::Shutdown();
    return 0;
}

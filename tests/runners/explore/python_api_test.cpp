// tests/runners/explore/python_api_test.cpp — `import deadrank`: a constructor for each fault that a line of
// inject names, options that have an effect, results as tables, and a page that names all of it.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <set>
#include <sstream>

#include "runners/backends/process/mpirun.h"
#include "runners/extension/extension.h"
#include "scenarios/format/fault_expression.h"
#include "scenarios/model/kind_ids.h"
#include "tests/support/shell.h"

namespace deadrank::runners::explore {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path api_source = DEADRANK_SOURCE_DIRECTORY;

tests::Answer run_python(const fs::path& directory, const std::string& text) {
    std::ofstream(directory / "said.py") << text;
    return tests::shell("cd '" + directory.string() + "' && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" +
                        (api_source / "sim/managed/python").string() +
                        "' PATH='" DEADRANK_BINARY_DIRECTORY "':$PATH /usr/bin/python3 said.py 2>&1");
}

class PythonApi : public testing::Test {
protected:
    void SetUp() override {
        fs::remove_all(directory_);
        fs::create_directories(directory_);
    }
    void TearDown() override { fs::remove_all(directory_); }

    const fs::path directory_ = fs::path(testing::TempDir()) / "deadrank_python_api";
};
using DevicePythonApi = PythonApi;

// Each function that returns a Fault, once with the arguments that it needs, and once with a moment.
constexpr const char* all_constructors = R"(
import inspect
from deadrank import api
needed = {"call": "all_reduce", "node": 1, "one": 0, "other": 1, "name": "NAME", "value": "two words", "bytes": "1GiB"}
for name in api.__all__:
    function = getattr(api, name)
    if not inspect.isfunction(function) or function.__annotations__["return"] != "Fault" or name == "fault":
        continue
    parameters = inspect.signature(function).parameters.values()
    given = {one.name: needed[one.name] for one in parameters
             if one.default is one.empty and one.kind is not one.VAR_KEYWORD}
    print(function(**given).line)
    if "moment" in inspect.signature(function).parameters:
        print(function(**given, step=3, phase="backward", nth=2).line)
        print(function(**given, before="all_reduce", nth=7, comm="world").line)
    if function.__annotations__.get("moment") == "Unpack[Span]":
        print(function(**given, step=3, until_step=5).line)
        print(function(**given, at="90s", lasts="20s").line)
)";

TEST_F(PythonApi, HasAConstructorForEachFaultOfALine) {
    const auto lines = run_python(directory_, all_constructors);
    ASSERT_EQ(lines.code, 0) << lines.out;
    const scenarios::Vocabulary words = vocabulary();
    std::set<std::string> kinds;
    std::istringstream all(lines.out);
    for (std::string line; std::getline(all, line);) {
        const auto fault = scenarios::read_fault_expression(line, words);
        ASSERT_TRUE(fault) << line << ": " << fault.error().text();
        kinds.insert(fault->kind);
    }
    for (const scenarios::FaultVerb& verb : scenarios::fault_verbs())
        EXPECT_TRUE(kinds.contains(scenarios::id_of(verb.kind))) << verb.example;
}

TEST_F(PythonApi, IsDescribedOnAPageAndForTypeCheckers) {
    const auto names = run_python(directory_,
                              "import deadrank\n"
                              "from deadrank import api\n"
                              "assert list(deadrank.API) == api.__all__\n"
                              "print('\\n'.join(deadrank.__all__))\n");
    ASSERT_EQ(names.code, 0) << names.out;
    std::ifstream file(api_source / "docs/guides/python_api.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    std::istringstream all(names.out);
    for (std::string name; std::getline(all, name);)
        EXPECT_TRUE(page.find("`" + name + "`") != std::string::npos ||
                    page.find("`" + name + "(") != std::string::npos)
            << name;
    EXPECT_TRUE(fs::exists(api_source / "sim/managed/python/deadrank/py.typed"));
}

constexpr const char* api_trainer = R"(
import torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.full((4, 8), dist.get_rank() + 1.0)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
)";

// pandas stands in as the one class that is asked for.
TEST_F(DevicePythonApi, PlaysWithItsOptionsAndShowsATable) {
    if (const auto torch = best_python(); !torch) GTEST_SKIP() << torch.error().text();
    std::ofstream(directory_ / "train.py") << api_trainer;
    std::ofstream(directory_ / "pandas.py") << "class DataFrame:\n"
                                               "    def __init__(self, rows):\n"
                                               "        self.rows = rows\n";
    const auto ended = run_python(directory_, R"(
from deadrank import Trouble, run, slow
command = ["torchrun", "--nproc-per-node", "4", "train.py"]
result = run(command, faults=[slow(1, factor=4, step=1)], compute="20ms", ranks=2, nodes=2, seed=7, real_limit=60)
print(result.outcome, "|", result.again)
table = result.to_pandas()
events = list(result.evidence)
assert table.rows == events
assert {row["rank"] for row in table.rows if row["kind"] == "step.end"} == {0, 1}
try:
    run(command, faults=[slow(1, factor=4, step=1)])
except Trouble as refused:
    print(refused)
)");
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_THAT(ended.out,
                HasSubstr("unaffected | deadrank inject --seed 7 --ranks 2 --nodes 2 --compute 20ms "
                          "--real-limit 60 'slow rank 1 x4 at step 1' -- torchrun"));
    EXPECT_THAT(ended.out, HasSubstr("add --compute 20ms, or --gpus"));
}

}  // namespace
}  // namespace deadrank::runners::explore

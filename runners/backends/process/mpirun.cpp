// runners/backends/process/mpirun.cpp — What Open MPI writes (sessions, shared memory) goes to the run's own
// directory, so that nothing stays when it is removed.
#include "runners/backends/process/mpirun.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "results/processes/bounded.h"
#include "runners/backends/process/scratch.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

constexpr const char* rank_program_name = "deadrank-mpi-rank";

std::vector<std::string> environment_for(const MpiJob& job) {
    auto lines = environment_of_ranks(job.directory, {"OMPI_", "PMIX_", "PMI_", "ORTE_"});
    lines.emplace_back("OMPI_ALLOW_RUN_AS_ROOT=1");
    lines.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
    return lines;
}

}  // namespace

scenarios::Result<fs::path> mpi_rank_program() {
    const fs::path program = program_beside(rank_program_name);
    if (!program.empty()) return program;
    return refuse(ErrorCode::unsupported, "this build has no program for the ranks of an MPI job",
                  "install Open MPI (Debian: libopenmpi-dev, openmpi-bin), configure and build again");
}

scenarios::Result<fs::path> mpirun_program() {
    if (const std::string program = results::processes::find_program("mpirun"); !program.empty())
        return fs::path(program);
    return refuse(ErrorCode::environment, "there is no mpirun on PATH",
                  "install Open MPI (Debian: openmpi-bin), or name its directory in PATH");
}

std::vector<std::string> mpirun_words(const MpiJob& job) {
    std::vector<std::string> words = {job.mpirun.string(), "--oversubscribe", "--bind-to", "none"};
    const auto parameter = [&](const char* name, const std::string& value) {
        words.insert(words.end(), {"--mca", name, value});
    };
    parameter("plm", "isolated");  // all on this machine: no ssh is looked for
    parameter("btl", "self,vader");
    parameter("btl_vader_single_copy_mechanism", "none");  // a container may not read its neighbour's memory
    parameter("btl_vader_backing_directory", (job.directory / "sessions").string());
    parameter("orte_tmpdir_base", (job.directory / "sessions").string());
    parameter("mpi_yield_when_idle", "1");
    return words;
}

ChildSpec mpirun_child(const MpiJob& job) {
    ChildSpec child;
    child.command = mpirun_words(job);
    child.command.insert(child.command.end(), {"-np", std::to_string(job.ranks)});
    child.command.push_back(job.rank_program.string());
    child.command.push_back(job.directory.string());
    if (job.bare) child.command.emplace_back("bare");
    child.environment = environment_for(job);
    return child;
}

namespace fs = std::filesystem;

namespace {

constexpr std::string_view question =
    "import torch, torch.distributed as d; "
    "print('torch', torch.__version__.split('+')[0] if d.is_available() and d.is_gloo_available() else "
    "'without gloo')";

// Without an import of torch, which takes seconds.
constexpr std::string_view short_question =
    "import importlib.util as u, os; s = u.find_spec('torch'); w = {}; "
    "exec(open(os.path.join(os.path.dirname(s.origin), 'version.py')).read(), w); "
    "print('torch', w['__version__'].split('+')[0])";

// The last line that this Python prints when it runs `asked`. `refused`: why this machine could not start it,
// which says nothing of that Python.
std::string last_answer(const fs::path& program, std::string_view asked,
                        std::optional<scenarios::Error>* refused = nullptr) {
    const auto said = results::processes::run_bounded({program.string(), "-c", std::string(asked)},
                                                      results::processes::Bounds::none());
    if (!said && refused && said.error().code == ErrorCode::io) *refused = said.error();
    std::string answer = said ? said->out : std::string();
    while (!answer.empty() && answer.back() == '\n') answer.pop_back();
    return answer.substr(answer.rfind('\n') + 1);
}

// The same of a question about installed packages, asked once per process.
const std::string& known_answer(const fs::path& program, const std::string& asked) {
    static std::mutex mutex;
    static std::map<std::pair<fs::path, std::string>, std::string> known;
    const std::lock_guard lock(mutex);
    const auto [answer, fresh] = known.try_emplace({program, asked});
    if (fresh) answer->second = last_answer(program, asked);
    return answer->second;
}

std::string answer_of(const fs::path& program) {
    const std::string answer = last_answer(program, question);
    return answer.starts_with("torch ") ? answer.substr(6) : std::string();
}

// The Python of the environment that pip installed deadrank into; empty if it is installed elsewhere.
fs::path python_around_us() {
    std::error_code ignored;
    const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    return fs::exists(here.parent_path() / "pyvenv.cfg", ignored) ? here / "python3" : fs::path();
}

std::vector<std::pair<fs::path, std::string>> candidates() {
    std::vector<std::pair<fs::path, std::string>> found;
    if (const char* stated = std::getenv("DEADRANK_PYTHON")) found.emplace_back(stated, "$DEADRANK_PYTHON");
    if (const fs::path around = python_around_us(); !around.empty())
        found.emplace_back(around, "the environment that deadrank is installed in");
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    fs::path directory = cache ? fs::path(cache) : home ? fs::path(home) / ".cache" : fs::path();
    if (!directory.empty())
        found.emplace_back(directory / "deadrank" / "venv" / "bin" / "python", "deadrank's own environment");
    const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t end = std::min(path.find(':', at), path.size());
        found.emplace_back(fs::path(path.substr(at, end - at)) / "python3", "python3 on PATH");
        at = end + 1;
    }
    found.emplace_back("/usr/bin/python3", "the system's python3");
    return found;
}

std::vector<Python> probe_pythons() {
    std::vector<Python> answers;
    std::vector<fs::path> asked;
    for (const auto& [program, origin] : candidates()) {
        std::error_code ignored;
        if (!fs::exists(program, ignored)) continue;
        // An environment's python is a link to the system's but means another set of packages: compare names,
        // not targets.
        const fs::path name = fs::weakly_canonical(program.parent_path(), ignored) / program.filename();
        if (std::find(asked.begin(), asked.end(), name) != asked.end()) continue;
        asked.push_back(name);
        std::string torch = answer_of(program);
        if (!torch.empty() && torch != "without gloo") answers.push_back({program, std::move(torch), origin});
    }
    return answers;
}

// "1.13" of "1.13.1": distributors name their builds of one release differently.
std::string_view release_of(std::string_view version) {
    const std::size_t minor = version.find('.');
    return minor == std::string_view::npos ? version : version.substr(0, version.find('.', minor + 1));
}

}  // namespace

int Python::major() const { return std::atoi(torch.c_str()); }

std::string Python::text() const {
    return fmt::format("torch {} of {} ({})", torch, origin, program.string());
}

const std::vector<Python>& pythons() {
    static const std::vector<Python> all = probe_pythons();
    return all;
}

std::string version_of(const Python& python, const std::string& module) {
    if (module.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") !=
        std::string::npos)
        return {};  // never handed to a shell
    // The package's own record first: importing a framework takes seconds and may print.
    const std::string asked = fmt::format(
        "import importlib.metadata as m, importlib.util as u; "
        "print('version', m.version('{0}') if any((d.metadata['Name'] or '').lower() == '{0}'.lower() for d "
        "in "
        "m.distributions()) else ('0' if u.find_spec('{0}') else ''))",
        module);
    const std::string& said = known_answer(python.program, asked);
    return said.starts_with("version ") ? said.substr(8) : std::string();
}

namespace {

// The first candidate that answers; without one, why this machine could not ask.
scenarios::Result<Python> probe_first_python(std::string_view asked) {
    std::optional<scenarios::Error> refused;
    for (const auto& [program, origin] : candidates()) {
        std::error_code ignored;
        if (!fs::exists(program, ignored)) continue;
        const std::string answer = last_answer(program, asked, &refused);
        if (answer.starts_with("torch ") && answer != "torch without gloo")
            return Python{program, answer.substr(6), origin};
    }
    if (refused) return tl::unexpected(*refused);
    return refuse(
        ErrorCode::environment, "no Python on this machine can import torch with gloo",
        "`pip install torch` beside deadrank, or in a checkout `./dev tools`; or set DEADRANK_PYTHON to a "
        "Python that has torch");
}

// Looked for once per process, unless nothing was found.
class FoundPython {
public:
    explicit FoundPython(std::string_view asked) : asked_(asked) {}

    scenarios::Result<Python> find() {
        const std::lock_guard lock(mutex_);
        if (found_) return *found_;
        auto found = probe_first_python(asked_);
        if (found) found_ = *found;
        return found;
    }

private:
    std::string_view asked_;
    std::mutex mutex_;
    std::optional<Python> found_;
};

}  // namespace

scenarios::Result<Python> best_python() {
    static FoundPython best(question);
    return best.find();
}

scenarios::Result<Python> python_with_torch_installed() {
    static FoundPython installed(short_question);
    return installed.find();
}

scenarios::Result<fs::path> python_with(const std::string& module) {
    // A directory of the user's that is named like the module is none.
    const std::string asked = fmt::format(
        "import sys; sys.path = [p for p in sys.path if p]; import importlib.util as u; "
        "s = u.find_spec('{}'); print('found' if s and s.origin else '')",
        module);
    for (const auto& [program, origin] : candidates()) {
        std::error_code ignored;
        if (fs::exists(program, ignored) && last_answer(program, asked) == "found") return program;
    }
    return scenarios::refuse(
        scenarios::ErrorCode::environment,
        fmt::format("no Python on this machine has the package {}", module),
        fmt::format(
            "`pip install {}` beside deadrank, or in an environment whose Python DEADRANK_PYTHON names",
            module));
}

fs::path package_file(const fs::path& python, const std::string& file) {
    const std::size_t slash = file.find('/');
    const std::string asked = fmt::format(
        "import sys; sys.path = [p for p in sys.path if p]; import importlib.util as u, os; s = "
        "u.find_spec('{}'); "
        "print(next((f for d in (s.submodule_search_locations or ()) for f in [os.path.join(d, '{}')] "
        "if os.path.isfile(f)), '') if s else '')",
        file.substr(0, slash), file.substr(slash + 1));
    return known_answer(python, asked);
}

scenarios::Result<Python> python_with_torch(std::string_view version) {
    std::string known;
    for (const Python& python : pythons()) {
        if (release_of(python.torch) == release_of(version)) return python;
        known += (known.empty() ? "" : ", ") + python.torch;
    }
    return scenarios::refuse(
        scenarios::ErrorCode::unsupported,
        fmt::format("no torch {} on this machine (there is {})", version, known.empty() ? "none" : known),
        "install one (Debian's python3-torch is 1.13) and let DEADRANK_PYTHON or PATH find its Python");
}

}  // namespace deadrank::runners

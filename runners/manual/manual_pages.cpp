// runners/manual/manual_pages.cpp — One function per page. None states facts of its own: it prints the
// program's tables, and plays a run for what only a run can show.
#include "runners/manual/manual_pages.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runners/manual/markdown.h"
#include "runners/manual/meanings.h"
#include "runners/manual/output_words.h"
#include "scenarios/format/file_words.h"
#include "scenarios/model/plan.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners::manual {

namespace {

using scenarios::FileKey;
using scenarios::FileTable;
using scenarios::Kind;
using scenarios::TaxonomyEntry;

std::string key_type(const FileKey& key) {
    if (key.words.empty()) return std::string(scenarios::form_name(key.form));
    const bool several = key.form == FileKey::Form::words;
    return fmt::format("{}{}", several ? "some of " : "one of ",
                       key.list.empty() ? quoted(key.words) : fmt::format("the {}", key.list));
}

std::string table_section(const FileTable& table) {
    std::string text = fmt::format("## {}\n\n{}.\n\n",
                                   table.name.empty() ? "The top of the file" : table.name, cell(table.what));
    text += heading_row({"key", "type", "", "meaning"});
    for (const FileKey& key : table.keys)
        text += row(
            {fmt::format("`{}`", key.name), key_type(key), key.required ? "required" : "", cell(key.what)});
    return text + "\n";
}

std::string list_section(const char* title, const char* list) {
    std::string text = fmt::format("## {}\n\n", title) + heading_row({"word", "meaning"});
    for (const scenarios::ListedWord& word : scenarios::listed_words()) {
        if (word.list == list) text += row({fmt::format("`{}`", word.word), cell(word.says)});
    }
    return text + "\n";
}

Page scenario_page(const Library& library) {
    std::string text =
        "# A scenario file\n\nTOML. A key that no table here has is refused with its line. A value may be a "
        "list, from "
        "which the seed draws one, and a number or a quantity may be a range: `steps = \"8..16\"`.\n\n";
    const auto tables = scenarios::file_tables(library.taxonomy);
    text += table_section(tables[0]) + table_section(tables[1]);
    text += "## [cluster]\n\nThe machines, and what keeps an eye on the job.\n\n" +
            parameter_table(scenarios::cluster_parameters());
    text += "## [workload]\n\n`kind` is required and names one of these; its page has the settings.\n\n" +
            heading_row({"kind", "meaning"});
    for (const Kind& kind : library.vocabulary.workloads)
        text += row({fmt::format("[`{0}`](workloads/{0}.md)", kind.name), cell(kind.what)});
    text +=
        "\n## [[fault]]\n\n`kind` is required and names one of [these](faults.md); `when` says at which "
        "moment.\n\n" +
        heading_row({"key", "meaning"}) +
        row({"`provokes`",
             "true: no part of the bug. It only brings about what shows it, and is not to be "
             "named. Where it ends a process or loses a node, a finding within a second that this process "
             "raised an error or "
             "crashed, or that its peers lost it, is no false alarm, in the faulty and in the healed run; "
             "the bug's own symptom is"}) +
        row({"`hardware`",
             "true: a defect of the machine. Restarts meet it again, and a spare node is "
             "without it"}) +
        "\n";
    text +=
        "### when\n\nOn each of the fault's ranks, in logical time. What is left out matches "
        "everything.\n\n" +
        parameter_table(scenarios::trigger_parameters());
    for (std::size_t i = 2; i < tables.size(); ++i) {
        text += table_section(tables[i]);
        if (tables[i].name == "[expect]")
            text +=
                "[What to expect](expect.md) has for each symptom what it is told of, which ranks are named, "
                "and how soon.\n\n";
    }
    return {"scenario.md", "A scenario file", text + list_section("Values", "value")};
}

std::string output_section() {
    std::string text, where;
    for (const OutputWord& word : output_words()) {
        if (word.where != where) {
            where = word.where;
            text +=
                fmt::format("\n### {}{}\n\n", static_cast<char>(std::toupper(where[0])), where.substr(1)) +
                heading_row({"word", "meaning"});
        }
        text += row({fmt::format("`{}`", word.word), cell(word.says)});
    }
    return "## Words of output\n" + text + "\n";
}

Page words_page() {
    return {"words.md", "Launchers, phases, calls and other closed lists; the words of output",
            "# Words\n\n" + list_section("Launchers", "launcher") + list_section("Phases", "phase") +
                list_section("Reactions", "reaction") +
                "What a job did is graded by evidence, its control run and the culprit; the rules stand in "
                "results/judging/reaction.h.\n\n" +
                list_section("Calls that `before` may name, beside collectives, seams and blocks", "call") +
                list_section("Libraries", "library") + list_section("Topologies", "topology") +
                list_section("What a finding may blame", "blame") +
                "Which ranks, for each symptom: [what to expect](expect.md).\n\n" +
                list_section("Backends", "backend") + output_section()};
}

Page faults_page(const Library& library) {
    std::string text = "# Faults\n\n" + heading_row({"kind", "meaning"});
    for (const Kind& kind : library.vocabulary.faults)
        text += row({fmt::format("[`{0}`](#{0})", kind.name), cell(kind.what)});
    text += "\n";
    for (const Kind& kind : library.vocabulary.faults) {
        text += fmt::format("## {}\n\n{}.\n\n", kind.name, unstopped(kind.what)) +
                parameter_table(kind.parameters);
        if (!kind.levers.empty()) text += fmt::format("Pulls {}.", quoted(kind.levers));
        text += kind.at_start ? " Acts before the job starts unless `when` says otherwise.\n\n" : "\n\n";
    }
    return {"faults.md", "Faults, with their parameters", text};
}

constexpr std::string_view set_by_launchers = R"(
## Set by launchers

What a rank of a simulated job, and a program's `env` and `os.environ`, finds without anybody's stating it.
`[cluster] environment` gives one value to all ranks, as `mpirun -x` does; a program's own `os.environ[name]`
goes before all.

)";

std::string launchers_table() {
    return heading_row({"launcher", "variables"}) +
           row({"all",
                "`RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `LOCAL_WORLD_SIZE`; `MASTER_ADDR`, the first node, "
                "`MASTER_PORT`, 29500, and `NCCL_DEBUG`, WARN, unless the cluster says otherwise"}) +
           row({"torchrun",
                "`TORCHELASTIC_RESTART_COUNT`; where its agents keep the store also `TORCHELASTIC_RUN_ID` "
                "and "
                "`TORCHELASTIC_USE_AGENT_STORE`; with nodes_min `PET_NNODES`"}) +
           row({"mpirun",
                "Open MPI's `OMPI_COMM_WORLD_RANK`, `_SIZE`, `_LOCAL_RANK`, `_LOCAL_SIZE` and `_NODE_RANK`, "
                "`OMPI_UNIVERSE_SIZE`, `PMIX_RANK`"}) +
           row({"any, where the cluster's environment states `SLURM_JOB_ID`",
                "as srun has it: `SLURM_PROCID`, `SLURM_LOCALID`, `SLURM_NODEID`, `SLURM_NTASKS`, "
                "`SLURM_NPROCS`, `SLURM_NNODES`, `SLURM_JOB_NUM_NODES`, `SLURM_NTASKS_PER_NODE`, "
                "`SLURM_TASKS_PER_NODE`, `SLURM_JOB_NODELIST`, `SLURM_NODELIST`, `SLURMD_NODENAME`. Each "
                "rank "
                "is a task; under torchrun each agent is one, so that all ranks of a node have the same"}) +
           "\n";
}

Page environment_page() {
    std::string text =
        "# Environment variables\n\nThose that have an effect. A scenario sets those of a simulated job for "
        "all ranks "
        "in `[cluster] environment`, and for some with the faults `set_env` and `unset_env`; other names are "
        "shown in "
        "the evidence and steer nothing there. Real jobs read what their programs read.\n\n";
    std::string_view reader;
    for (const EnvironmentWord& word : environment_words()) {
        if (word.reader != reader) {
            text += fmt::format("{}## Read by {}\n\n", reader.empty() ? "" : "\n", word.reader);
            text += heading_row({"variable", "effect"});
        }
        reader = word.reader;
        text += row({fmt::format("`{}`", word.name), cell(word.says)});
    }
    return {"environment.md", "Environment variables that have an effect",
            text + std::string(set_by_launchers) + launchers_table()};
}

std::string entries(const char* title, const std::vector<TaxonomyEntry>& all) {
    std::string text = fmt::format("## {}\n\n", title) + heading_row({"id", "meaning", "provenance"});
    for (const TaxonomyEntry& entry : all)
        text += row({fmt::format("`{}`", entry.id), cell(entry.definition), cell(entry.provenance)});
    return text + "\n";
}

Page taxonomy_page(const Library& library) {
    return {"taxonomy.md", "The taxonomy: stages, symptoms, causes, fix patterns",
            "# The taxonomy\n\n" + entries("Stages", library.taxonomy.stages) +
                entries("Symptoms", library.taxonomy.symptoms) + entries("Causes", library.taxonomy.causes) +
                entries("Fix patterns", library.taxonomy.fixes)};
}

Page index_of(const std::vector<Page>& pages) {
    std::string text =
        "# Reference\n\nThe program writes these pages from its own tables: `deadrank help manual --pages "
        "docs`. "
        "`deadrank help manual` prints all of them, and `deadrank explain WORD` prints one word.\n\n";
    for (const Page& page : pages) text += fmt::format("- [{}]({})\n", page.title, page.path);
    return {"reference.md", "Reference", text};
}

}  // namespace

std::vector<Page> pages_of(const Library& library, const std::vector<Page>& more) {
    std::vector<Page> pages = more;
    pages.push_back(scenario_page(library));
    pages.push_back({"expect.md", "What to expect: which symptom, which ranks, which step, how soon",
                     expect_page(library)});
    for (const sim::WorkloadKind& kind : sim::workload_catalog())
        pages.push_back({fmt::format("workloads/{}.md", kind.words.name),
                         fmt::format("Workload {}", kind.words.name), workload_page(kind)});
    pages.push_back({"workloads/python.md", "Workload python", python_page()});
    pages.push_back({"workloads/recording.md", "Workload recording", recording_page()});
    pages.push_back(faults_page(library));
    pages.push_back(words_page());
    pages.push_back({"detectors.md", "Detectors, the evidence that they need, and their thresholds",
                     detectors_page(library)});
    pages.push_back(environment_page());
    pages.push_back(taxonomy_page(library));
    pages.insert(pages.begin(), index_of(pages));
    return pages;
}

}  // namespace deadrank::runners::manual

// scenarios/format/file_words.cpp — Keys and words of a scenario file, one per line.
#include "scenarios/format/file_words.h"

#include <iterator>

#include "scenarios/format/scenario_tables.h"

namespace deadrank::scenarios {

namespace {

using Form = FileKey::Form;

FileKey id_of(std::string name, const std::vector<TaxonomyEntry>& entries, std::string what) {
    const std::string list = name == "fix" ? "fix patterns" : name + "s";
    return {std::move(name), Form::word, std::move(what), ids(entries), true, list + " of the taxonomy"};
}

FileTable bug_table(const Taxonomy& taxonomy) {
    return {
        "[bug]",
        "The bug, in words of the taxonomy",
        {id_of("stage", taxonomy.stages, "the stage it belongs to; the file is in its directory"),
         id_of("symptom", taxonomy.symptoms, "what an observer sees"),
         id_of("cause", taxonomy.causes, "the root cause"),
         id_of("fix", taxonomy.fixes, "the fix pattern; [heal] applies it"),
         {"replays", Form::texts,
          "public reports: \"owner/repo#123\", \"owner/repo@commit\" or \"study: …\""},
         {"patch", Form::text,
          "of the workload python: what puts the bug into the fixed program, as a unified diff whose hunks "
          "may begin with `@@` alone; the text, or a file beside the scenario that ends in .diff"},
         {"per_rank", Form::text,
          "a setting that is meant to be one for all ranks and that a fault makes differ: its seam or "
          "variable; where nothing promises to compare it, a wrong result is graded `not checked`"}}};
}

// Tables inside of others, which a schema holds where they belong.
FileTable because_table() {
    return {"[expect.because]",
            "Why the expectation asks for less than it could; nothing asks for it, and a reader will",
            {{"blames", Form::text, "why nobody or less is to be named"},
             {"within", Form::text, "why it takes so long"},
             {"reaction", Form::text, "why the job may react in any way"}}};
}

FileTable heal_expect_table(const Taxonomy& taxonomy) {
    const std::vector<std::string> symptoms = ids(taxonomy.symptoms);
    return {
        "[heal.expect]",
        "What is asked of the healed run, in the keys of [expect]; absent = no alarm, and the job "
        "completes "
        "(or restarts, where a kept fault ends a process with `provokes` and the cluster restarts it). That "
        "this process raised an error or crashed is no alarm, unless it is the bug's own symptom. A "
        "healed run that restarts, or that ends with the error which the fix is meant to give, has to "
        "say so here",
        {{"symptom", Form::texts,
          "what must still be noticed, one symptom or a list, as in [expect]; \"none\" = no alarm"},
         {"blames", Form::words, "what of the truth that finding must name", list_words<BlameField>()},
         {"rank", Form::ranks, "instead of the fault's own ranks, as in [expect]"},
         {"step", Form::integer, "instead of the fault's own step"},
         {"also", Form::words,
          "symptoms that are right to report too; without `symptom`, or with \"none\", they may be reported "
          "and "
          "need not",
          symptoms, false, "symptoms of the taxonomy"},
         {"within", Form::duration, "after the fault, in the run's own time; 60s unless stated"},
         {"reaction", Form::word, "how the job must react; complete unless stated",
          list_words<WantedReaction>()},
         {"recovers_within", Form::duration, "after the fault the job has recovered or ended"}}};
}

FileTable heal_change_table() {
    return {"[[heal.change]]",
            "What the fix lays over a fault that stays: any parameter of that kind of fault, and `when`, in "
            "place of the fault's own. One table for each fault that is changed",
            {{"fault", Form::integer,
              "which [[fault]] it changes, counted from 1 in the order of the file; may be left out if there "
              "is one"},
             {"when", Form::text, "keys of `when` that replace the fault's own"}}};
}

FileTable expect_table(const Taxonomy& taxonomy) {
    const std::vector<std::string> symptoms = ids(taxonomy.symptoms);
    std::vector<std::string> others = symptoms;
    others.insert(others.begin(), "none");
    const char* const list = "symptoms of the taxonomy";
    return {
        "[expect]",
        "What must be noticed, about whom and how soon",
        {{"symptom", Form::words,
          "what must be noticed; the bug's own where it is absent. Any symptom of a list answers; the "
          "scenario "
          "is counted under the first. A standstill is noticed too where the "
          "finding names the error that it follows from",
          symptoms, false, list},
         {"blames", Form::words,
          "what of the truth the finding must name; with \"rank\" and a fault on all ranks, all of them",
          list_words<BlameField>()},
         {"rank", Form::ranks,
          "instead of the fault's own ranks: 3, [1, 2], \"all\", \"node 1\", \"all but 0\"; nothing is drawn "
          "here. Of several faults all ranks count that are hit by one without `provokes`. What hits a whole "
          "node is better asked for by blames = [\"node\"]: where the first rank to fail ends the job, no "
          "other "
          "rank of the node shows anything"},
         {"ranks", Form::ranks, "another name for `rank`"},
         {"step", Form::integer, "instead of the fault's own step"},
         {"within", Form::duration,
          "after the fault, in the run's own time; 60s unless stated. A fault without `when` happens at the "
          "start of the job, also where the block or value that it bends is first reached much later"},
         {"others", Form::words, "\"none\", or further symptoms that are right to report", others, false,
          list},
         {"also", Form::words,
          "further symptoms that are right to report beside the symptom, never instead of it: alone they "
          "fail as `wrong_class`",
          symptoms, false, list},
         {"reaction", Form::word, "how the job must react; any unless stated", list_words<WantedReaction>()},
         {"recovers_within", Form::duration,
          "after the fault the job has recovered or ended; not asked unless stated"},
         {"unseen", Form::text, "why no evidence can show this bug; silence is then right"}}};
}

FileTable release_table() {
    return {
        "[release]",
        "A bug of published releases, instead of [workload]: real processes play it",
        {{"package", Form::text, "the package that has the bug", {}, true},
         {"bug", Form::text, "the release that has it: the faulty run's", {}, true},
         {"fixed",
          Form::text,
          "a release that no longer has it: the control's and the healed run's",
          {},
          true},
         {"with", Form::texts,
          "what else is laid over the environment: \"NAME==VERSION\", or a .txt with one a line"},
         {"program",
          Form::text,
          "the program that every rank runs: a file of Python beside this one",
          {},
          true},
         {"shows", Form::text, "pattern of a line that the release with the bug writes, and the other never"},
         {"ends", Form::word, "instead of shows: how the job ends with the bug alone", {"hang", "crash"}},
         {"rank", Form::ranks, "who has the release with the bug; all unless stated"},
         {"twin", Form::text, "the simulated scenario of the same kind of bug"}}};
}

FileTable parity_table() {
    FileTable table{"[parity]", "Where backends are known to differ", {}};
    for (const std::string& backend : list_words<BackendId>())
        table.keys.push_back({backend, Form::text, "why its findings differ from the simulator's"});
    return table;
}

constexpr ListedWord all_words[] = {
    {"launcher", "torchrun",
     "An agent starts the ranks and looks at them every monitor_interval. When one has failed it sends "
     "SIGTERM "
     "to the others, SIGKILL 30s later, and starts the job again up to restarts_max times. After the last "
     "attempt it lists the failed ranks of its node, those it ended among them; the first to fail is the "
     "root cause. The code of job.stop is 0, or 1 where a rank or a node failed for good. With "
     "nodes_min there is an agent on each node, and they go on with fewer."},
    {"launcher", "mpirun",
     "Notices at once that a rank has ended badly, names it, ends all others, and never starts again. "
     "The code of job.stop is that rank's. Beside RANK and its kin a process has OMPI_COMM_WORLD_RANK, "
     "_SIZE, "
     "_LOCAL_RANK and _LOCAL_SIZE."},
    {"launcher", "bare",
     "The ranks are started and nothing watches them, as with ssh in a loop: a rank that is gone is "
     "noticed by "
     "its peers alone, and nothing ends them. The code of job.stop is that of the first rank to end badly, "
     "whatever the others return."},
    {"launcher", "spawn",
     "A main program that calls torch.multiprocessing.spawn(…, join=True): it notices at once that a worker "
     "has ended badly, ends all others by SIGTERM, says \"-- Process 1 terminated with the following "
     "error:\" "
     "(or \"process 1 terminated with signal SIGKILL\"), and never starts again. The code of job.stop is the "
     "main program's: 1, or 0 with worker_failure = \"hidden\", where it catches that exception."},
    {"launcher", "test",
     "A unit test that starts the ranks as processes and waits for them for test_timeout, as torch's "
     "MultiProcessTestCase does; then it fails with what its processes told: the code of job.stop "
     "is 1."},

    {"launcher", "replicas",
     "Each rank has its own launcher. A rank that ends with an error is restarted after a second, up to "
     "restarts_max times, while the others continue; one of spare_nodes takes the place of a lost node. The "
     "store is a process beside the ranks (a lighthouse) and outlives them. The code of job.stop is 1 where "
     "a replica failed for good."},

    {"phase", "setup", "before the first step: start-up, groups, what is loaded"},
    {"phase", "data", "a rank draws its samples of the step"},
    {"phase", "forward", "the model is run over them"},
    {"phase", "backward", "gradients are computed"},
    {"phase", "reduce", "gradients are summed over ranks"},
    {"phase", "optimizer", "parameters are updated, and the loss is averaged for the log"},
    {"phase", "checkpoint", "state is saved, after a step whose number is due"},
    {"phase", "serve", "a request is answered (workload serving)"},
    {"phase", "evaluate", "a program runs its model over another set: no training, whose pace is looked at"},

    {"reaction", "any", "the job may end in any way"},
    {"reaction", "clear_error",
     "it ends with an error that leads to the cause: it names the culprit's rank, node, variable, part "
     "or file, "
     "or is the culprit's own sentence, and blames no other rank. A job that ends with code 0 has none"},
    {"reaction", "error", "it ends with an error, whoever it names"},
    {"reaction", "refuse_to_start", "it ends with an error, and no rank has begun a step"},
    {"reaction", "restart", "it starts again and comes to its end"},
    {"reaction", "warn_and_complete", "it says something, and comes to its end with the right result"},
    {"reaction", "complete",
     "it comes to its end with the right result: each rank's last loss, the last digest of each name, the "
     "samples of each step and every served answer are those of the control, as far as it has them"},

    {"reaction", "finish", "all ranks end well, whatever the result: nothing is compared with the control"},

    {"library", "nccl", "a peer that is gone is silence, until the watchdog's bound"},
    {"library", "gloo",
     "pairs of TCP connections: a peer that is gone closes them, and that is an error at once. Between nodes "
     "the loopback lo is refused at once, and another interface that reaches no peer is a hang"},

    {"topology", "single_switch", "all nodes at one switch"},
    {"topology", "rails", "a switch for each place in a node: devices of one place are one hop apart"},
    {"topology", "leaf_spine", "nodes_per_leaf nodes below each leaf switch, and spines above"},

    {"blame", "rank", "the finding names the ranks at fault, and no other"},
    {"blame", "node", "the machine"},
    {"blame", "step", "the training step at which it happened"},
    {"blame", "variable", "the environment variable or setting"},
    {"blame", "component", "the package, device, file or part of the program"},
    {"blame", "collective", "the operation that was not completed or not matched"},
    {"blame", "shard", "the part of a checkpoint or tensor"},

    {"backend", "sim", "the simulated cluster, in virtual time"},
    {"backend", "local", "real processes on this machine: PyTorch over gloo, or a program of yours"},
    {"backend", "mpi", "Open MPI ranks under mpirun"},
    {"backend", "gpu", "NCCL ranks on GPUs, or on the stand-in with DEADRANK_STANDIN=1"},
    {"backend", "nccl", "NCCL itself, where [parity] tells what it does otherwise"},

    {"call", "collective", "any of the collectives, from all_reduce to barrier"},
    {"call", "message", "send or recv"},
    {"call", "communication", "a collective or a message"},
    {"call", "comm_init", "a communicator is made"},
    {"call", "rendezvous", "a rank connects to the store at MASTER_ADDR:MASTER_PORT"},
    {"call", "store_set", "a key is written to the store"},
    {"call", "store_get", "a key is waited for at the store"},
    {"call", "store_add", "a counter of the store is raised"},
    {"call", "checkpoint_save", "a file of a checkpoint is written"},
    {"call", "checkpoint_load", "a file of a checkpoint is read"},
    {"call", "compute", "the device works"},
    {"call", "allocate", "device or host memory is taken"},
    {"call", "step", "a training step begins"},
    {"call", "phase", "a phase begins"},

    {"value", "boolean", "true or false"},
    {"value", "integer", "a whole number; \"3..9\" draws one of that range"},
    {"value", "text", "any text"},
    {"value", "choice", "one of the words that are named; a list of them is drawn from"},
    {"value", "duration",
     "\"5us\", \"30s\", \"2h\": a number with ns, us, ms, s, m, h or d; \"1s..5s\" is drawn from"},
    {"value", "size in bytes", "\"64KiB\", \"80GiB\": a number with B, kB … TB or KiB … TiB"},
    {"value", "rate", "\"100Gbps\", \"2GB/s\": a number with bps … Tbps or B/s … TB/s"},
    {"value", "ratio", "\"0.1%\", \"1/10000\", \"50ppm\" or a number; kept in parts per billion"},
    {"value", "factor", "\"1.5x\" or a number; kept in thousandths"},
    {"value", "list of ranks",
     "3, [1, 2], \"any\", \"any 2\", \"any but 0\", \"all\", \"node 1\", and of an earlier fault "
     "\"same\" or \"others\""},
    {"value", "list of nodes", "as a list of ranks, of machines"},
    {"value", "table", "{ NAME = \"value\" }"},
};

}  // namespace

std::vector<FileTable> file_tables(const Taxonomy& taxonomy) {
    return {
        {"",
         "Before the first table",
         {{"format", Form::integer, "version of this format: 1", {}, true},
          {"backends", Form::words, "where it can be played; absent = the simulator",
           list_words<BackendId>()}}},
        bug_table(taxonomy),
        release_table(),
        expect_table(taxonomy),
        because_table(),
        {"[heal]",
         "The fix; the healed run must be silent and complete, or be as [heal.expect] says. [heal.cluster] "
         "and "
         "[heal.workload] hold the settings that the fix changes, [[heal.change]] what it lays over a fault",
         {{"fault",
           Form::words,
           "whether the faults are gone or stay: once for all, or one by one. A block that is skipped and a "
           "value "
           "that is bent stay so in the healed run too: where that changes the result, reaction = "
           "\"finish\", or "
           "an end of the fault by `until_step`",
           {"none", "keep"}},
          {"says", Form::text, "one sentence: what the fix does"},
          {"as_control", Form::text,
           "why the healed run is the control again, event for event; also where a fault stays, and the fix "
           "leaves nothing of it to be seen"},
          {"workaround", Form::text,
           "why this is no fix but what users did for want of one; such a heal is counted apart"}}},
        heal_expect_table(taxonomy),
        heal_change_table(),
        {"[teach]",
         "The story, for `deadrank learn`",
         {{"title", Form::text, "a name for the lesson"},
          {"sees", Form::text, "what the learner sees first"},
          {"question", Form::text, "what the learner is asked"},
          {"hints", Form::texts, "one after the other, when asked for"},
          {"answer", Form::text, "what it was"},
          {"why", Form::text, "why the fix works"}}},
        parity_table()};
}

std::string_view form_name(FileKey::Form form) {
    constexpr std::string_view names[] = {
        "text",   "text or list of texts", "one word", "word or list of words", "list of ranks", "duration",
        "integer"};
    return names[static_cast<std::size_t>(form)];
}

const std::vector<ListedWord>& listed_words() {
    static const std::vector<ListedWord> words(std::begin(all_words), std::end(all_words));
    return words;
}

}  // namespace deadrank::scenarios

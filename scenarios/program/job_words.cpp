// scenarios/program/job_words.cpp — What a program calls of the job around it: files, time, memory,
// observers, chance, and where faults act.
#include "scenarios/program/program_words.h"

namespace deadrank::scenarios::program {

namespace {

constexpr BuiltinWord rows_of_jobs[] = {
    {"Files", "save(value, path, step=None)",
     "written and synced. `step`: the step whose state it is, where that is not the step under way: a save "
     "that goes on beside training holds what an earlier step left. \"node0/…\" is that node's own disk",
     "`OSError: [Errno 28] No space left on device`, and other errors of the disk; `ValueError: there is no "
     "step -1`; in a program that calls makedirs, `RuntimeError: Parent directory shared/run does not "
     "exist.`",
     "checkpoint.save"},
    {"Files", "load(path, map_location=None)",
     "what was saved there; observers learn which step it is the state of. Tensors come back where they lay "
     "when they were saved, or at map_location. The disk takes `storage.latency` and looks at the end of it; "
     "a "
     "write is there when the call is over",
     "`FileNotFoundError: [Errno 2] No such file or directory: 'path'`, `RuntimeError: "
     "PytorchStreamReader "
     "failed reading zip archive: failed finding central directory`, `RuntimeError: Attempting to "
     "deserialize "
     "object on CUDA device 3 but torch.cuda.device_count() is 2. …`",
     "checkpoint.load"},
    {"Files", "resume_at(step)", "in setup: the first step to make, as after a load",
     "`ValueError: there is no step -1`"},
    {"Files", "exists(path)", "whether there is such a file or folder, without passing time"},
    {"Files", "listdir(prefix)", "all paths that begin so, sorted; those of folders end with /"},
    {"Files", "rename(old, new)", "of a file: at once, for all that look", "`FileNotFoundError: …`"},
    {"Files", "remove(path)", "of a file; `os.unlink` is the same",
     "`FileNotFoundError: …`, `IsADirectoryError: [Errno 21] …`"},
    {"Files", "makedirs(path, exist_ok=False)",
     "a folder, and those above it. It is made a moment after the call, as every write is: of ranks that "
     "looked before it was there, one makes it. A program that calls this nowhere finds all folders there; "
     "in one that does, only `shared`, `node0`, … are there from the start. `os.` may stand before it",
     "`FileExistsError: [Errno 17] File exists: 'path'`"},
    {"Files", "isdir(path)",
     "whether there is such a folder, made or with something in it, without passing time"},
    {"Files", "rmdir(path)", "of an empty folder", "`FileNotFoundError: …`, `OSError: [Errno 39] …`"},
    {"Files", "rmtree(path, ignore_errors=False)",
     "a folder with all that is in it, one file after the other as they were found: of two ranks that do so "
     "at once, one misses what the other has removed. `shutil.` may stand before it",
     "`FileNotFoundError: [Errno 2] No such file or directory: 'path'`, `NotADirectoryError: …`"},
    {"Files", "write_text(path, text, mode=\"w\")",
     "a plain file, which no observer takes for a checkpoint. \"a\" puts it behind what is there, \"x\" "
     "makes "
     "the file or refuses, and is a lock where ranks race for it: of those at one instant the lowest comes "
     "first",
     "`FileExistsError: …`, `FileNotFoundError: …` where its folder is missing, `OSError: …` of the disk"},
    {"Files", "read_text(path)", "the text of a plain file",
     "`FileNotFoundError: [Errno 2] No such file or directory: 'path'`, `UnicodeDecodeError: …` of what was "
     "saved"},

    {"Time and memory", "compute(time)",
     "the device is busy so long: \"10ms\", or seconds as a number, in steps of 15 us: f\"{n}us\" is exact",
     "", ""},
    {"Time and memory", "sleep(time)", "the process waits so long"},
    {"Time and memory", "now()", "seconds since the job's start, by the rank's own clock"},
    {"Time and memory", "allocate(size, device=None)",
     "memory, \"1GiB\" or bytes; a handle. `device`: None or \"cuda\" is the rank's own, 1 or \"cuda:1\" "
     "another one of the node; \"cpu\" or -1 is the node's own memory, which its ranks share. Where that is "
     "full, the kernel kills the process, as it does in every workload",
     "`torch.OutOfMemoryError: CUDA out of memory. …`, `torch.AcceleratorError: CUDA error: invalid device "
     "ordinal: 9, where the node has 0 to 3`, `RuntimeError: Expected one of cpu, cuda device type at start "
     "of device string: gpu`; of the node's own memory none: exit by signal 9",
     "memory.sample, memory.oom"},
    {"Time and memory", "free(handle)", "gives it back", "`ValueError: invalid handle`"},
    {"Time and memory", "set_device(device)",
     "1 or \"cuda:1\": the device that the rank uses from now on; what it has allocated stays where it is. "
     "Call it before init_process_group(), with `start = \"own\"`, and the world is made of these devices: "
     "two ranks on one are refused by NCCL as `Duplicate GPU detected`, when a group is made. It counts as "
     "CUDA_VISIBLE_DEVICES lets the process see them. A program with `start = \"own\"` that calls it "
     "anywhere has "
     "device 0 until it does, on all ranks, as in torch; in others each rank has its own from the start",
     "as allocate", "device.bind"},
    {"Time and memory", "current_device()",
     "the number of the device that the rank uses, among those that CUDA_VISIBLE_DEVICES lets it see"},
    {"Time and memory", "device_count()",
     "how many devices it sees: those of its node, or those that CUDA_VISIBLE_DEVICES names"},

    {"Time and memory", "cuda_device(device)",
     "`with torch.cuda.device(n):` its block has that device in use", "as allocate"},
    {"Time and memory", "memory_allocated(device=None)",
     "bytes of a device that the rank's tensors take, and what allocate() has given it: see "
     "[memory](#memory-of-tensors). `torch.cuda.` may stand before it and those below"},
    {"Time and memory", "max_memory_allocated(device=None)", "the most that it was"},
    {"Time and memory", "memory_reserved(device=None)", "the same, and what is kept for the next tensor"},
    {"Time and memory", "max_memory_reserved(device=None)", "the most that it was"},
    {"Time and memory", "reset_peak_memory_stats(device=None)",
     "both of the most begin anew with what there is now"},
    {"Time and memory", "empty_cache()", "what is kept for the next tensor goes back to the devices"},
    {"Time and memory", "gc_collect()",
     "`gc.collect()`: lets go objects that hold each other and that nothing else holds; how many. It is not "
     "called by itself, as Python does now and then"},

    {"Streams", "Stream(device=None, priority=0)",
     "a stream of the device in use; `torch.cuda.` may stand before it and those below. See "
     "[streams](#streams)"},
    {"Streams", "Event(enable_timing=False, blocking=False, interprocess=False)",
     "an event, which nothing has recorded yet"},
    {"Streams", "stream(stream)",
     "`with stream(s):` what its block queues goes to s; of None, to the stream that is current"},
    {"Streams", "current_stream(device=None)", "the stream to which kernels go"},
    {"Streams", "default_stream(device=None)", "the one that is current where nothing else is said"},
    {"Streams", "synchronize(device=None)", "the host waits for all streams"},

    {"Told to observers", "phase(name)",
     "the phase of the step that begins: data, forward, backward, reduce, optimizer, checkpoint, evaluate or "
     "serve. A fault may wait for it. Evaluating and saving are no training: what a rank does meanwhile "
     "makes "
     "it no straggler, and the job no slower",
     "", "phase.begin, phase.end"},
    {"Told to observers", "log(line, level=\"info\")",
     "a line of the rank's log; also \"warning\" and \"error\", and \"debug\": to observers a line as any "
     "other",
     "", "rank.log"},
    {"Told to observers", "loss(value)", "the step's loss, on ranks that have one", "", "step.end"},
    {"Told to observers", "grad_norm(value)", "the step's gradient norm", "", "step.end"},
    {"Told to observers", "samples(ids, epoch=0, group=None)",
     "the samples that this rank takes in this step. A sample that is read twice in one epoch is an alarm, "
     "so "
     "each pass over the data has an epoch of its own, by the trainer's count and not by one that the bug "
     "holds "
     "up. Ranks that name the same group, a process group or a "
     "word, are one replica: they must read the same ones",
     "", "data.batch, rank.config"},
    {"Told to observers", "digest(name, tensor, group=\"replica\")",
     "a digest of what all ranks that name this group should hold alike", "", "parameters.digest"},
    {"Told to observers", "config(name, value)", "a setting as this rank read it", "", "rank.config"},
    {"Told to observers", "value(name, value)", "a number that is logged", "", "value.sample"},
    {"Told to observers", "check(name, value, expected)",
     "a number beside what it should be by its definition. Compute `expected` from what the rank really has, "
     "never from what a fault did",
     "", "value.sample"},
    {"Told to observers", "reference(name, value, expected)",
     "a number beside what the same training gives in another layout, for example on one rank alone", "",
     "value.sample"},
    {"Told to observers", "restored(name, value, expected)",
     "a number of what was loaded beside what had been saved", "", "value.sample"},

    {"Chance and environment", "random(purpose, index, bound)",
     "a whole number below bound that the seed, this rank, its attempt, the purpose and the index "
     "decide, and "
     "nothing else",
     "`ValueError: bound must be positive`"},
    {"Chance and environment", "env(name, default=None)",
     "a variable of the process as a text, or the default"},
    {"Chance and environment", "version(package)",
     "the installed version, \"2.11.0\"; empty = not installed"},
    {"Chance and environment", "stop_training()",
     "leaves the step at once, as `break` leaves a loop of steps: `finally` runs, and `finish` follows. "
     "Called in "
     "`setup`, no step is made. It concerns this rank alone: others go on, and wait for it"},
    {"Chance and environment", "exit(code=0)", "ends the process", "", "rank.exit"},
    {"Chance and environment", "atexit_register(function)",
     "`atexit.register`: called without arguments when the rank ends, behind `finish`, and also after exit() "
     "and "
     "an exception, whose traceback the log has by then; the last one first. A signal and _exit() leave them "
     "out"},
    {"Chance and environment", "hash(x)",
     "of a number or a tuple the same in all processes; of a text another one in each process, as Python "
     "draws "
     "it, unless PYTHONHASHSEED is set in [cluster] environment. `sorted(names, key=hash)` is the order in "
     "which "
     "a process of Python walks over a set of texts",
     "`TypeError: unhashable type: 'list'`"},
    {"Chance and environment", "getpid()", "`os.getpid()`: the number of the process"},
    {"Chance and environment", "pid_of(rank)",
     "that of the process which the launcher started as this rank, as one would read it in a log",
     "`ValueError: there is no rank 9`"},
    {"Chance and environment", "kill(pid, signal)",
     "`os.kill`: a signal to a process of the same node, itself included: kill(pid_of(2), SIGKILL). Known "
     "are "
     "SIGHUP, SIGABRT, SIGKILL, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT and SIGSTOP, also as signal.SIGTERM; 0 "
     "only "
     "asks whether it is there",
     "`ProcessLookupError: [Errno 3] No such process`, also of a process on another node", "rank.exit"},
    {"Chance and environment", "on_signal(signal, handler)",
     "`signal.signal`: from now on the signal calls handler(number, frame) and ends nothing; SIG_IGN does "
     "nothing, "
     "SIG_DFL ends the process as before. The handler is called between two statements: a call that waits, "
     "or "
     "sleeps, comes to its end first",
     "`OSError: [Errno 22] Invalid argument` of SIGKILL and SIGSTOP"},
    {"Chance and environment",
     "Popen(args, lasts=None, returncode=0, device_memory=0, host_memory=0, device=None, daemon=False, "
     "ignores_sigterm=False)",
     "`subprocess.Popen`: a process beside the rank, on its node: a loader's worker, a wrapper's program. It "
     "runs "
     "no code: it holds so much memory of the rank's device, or of another one, and of the node, and ends by "
     "itself after `lasts` with `returncode`, or when a signal ends it. It outlives the rank, and a restart "
     "of the "
     "job, unless it is a `daemon`. That it has died only poll() and wait() tell",
     "`OSError: [Errno 12] Cannot allocate memory`, where the node has too little for it. Where the device "
     "has "
     "too little, it is over at once, with 1"},
    {"Chance and environment", "abort()", "`os.abort()`: ends the process by SIGABRT", "", "rank.exit"},
    {"Chance and environment", "_exit(code)",
     "`os._exit`: ends the process at once; neither `except` nor `finally` runs, and the log says nothing",
     "", "rank.exit"},

    {"For faults", "seam(name, value)",
     "the value, unless a bend_value bends it. A whole number, a boolean, or a decimal, which is bent in "
     "65536ths: a boolean stays one, and set = 1 makes it True. It is bent from the beginning of the fault's "
     "step on. The name is a text that stands there"},
    {"For faults", "block(name)", "True, unless a skip_block skips it"},
};

}  // namespace

std::span<const BuiltinWord> job_words() { return rows_of_jobs; }

}  // namespace deadrank::scenarios::program

# sim/managed/python/deadrank/accelerate_words.py — What `accelerate launch` would start, by its own code: it reads its
# options and configuration files, and gives variables to the ranks. Prints {"words": of torchrun or Python,
# "environment": what it adds} as JSON. Usage: accelerate_words.py GPUS WORD... The exit code is 3 without accelerate.
import json
import os
import sys
import types

TORCHRUN = ("nnodes", "nproc_per_node", "max_restarts", "monitor_interval")


class Started(BaseException):
    """In place of a process. Not an Exception, so that nobody takes it."""

    def __init__(self, words, environment):
        super().__init__()
        self.words, self.environment = words, environment


def main():
    gpus, words = int(sys.argv[1]), sys.argv[2:]
    del sys.path[0]  # its modules are no packages of others
    try:
        from accelerate.commands import launch
    except ImportError as trouble:
        print(f"accelerate cannot be imported: {trouble}", file=sys.stderr)
        sys.exit(3)
    arguments = launch.launch_command_parser().parse_args(words)
    pretend_gpus(gpus or arguments.num_processes or 1)
    before = dict(os.environ)
    launch.subprocess = types.SimpleNamespace(**{**vars(launch.subprocess), "Popen": catch_process})
    launch.check_cuda_p2p_ib_support = lambda: True  # asks nvidia-smi
    import torch.distributed.run

    torch.distributed.run.run = catch_torchrun
    try:
        launch.launch_command(arguments)
    except Started as started:
        added = {name: text for name, text in started.environment.items() if before.get(name) != text}
        print(json.dumps({"words": started.words, "environment": added}))
        return
    sys.exit("accelerate starts nothing that is known here")


def pretend_gpus(count):
    """It starts several processes only where it finds several GPUs. Ranks on CPUs are counted alike."""
    import torch

    torch.cuda.is_available = lambda: True
    torch.cuda.device_count = lambda: count
    torch.cuda.is_bf16_supported = lambda *said, **more: True


def catch_torchrun(arguments):
    words = ["torchrun"]
    for name in TORCHRUN:
        value = getattr(arguments, name, None)
        words += [] if value is None else [f"--{name}", str(value)]
    words += ["--module"] if arguments.module else []
    words += ["--no-python"] if arguments.no_python else []
    raise Started([*words, "--", arguments.training_script, *arguments.training_script_args], dict(os.environ))


def catch_process(words, env=None, **more):
    raise Started([str(word) for word in words], dict(env or os.environ))


if __name__ == "__main__":
    main()

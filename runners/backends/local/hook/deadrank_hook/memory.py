# runners/backends/local/hook/deadrank_hook/memory.py — How much host memory a rank's process holds, and how
# much there is. Reports the minimum over some steps, since a peak within a step is no growth.
import os
import resource

STEPS = 8


class Memory:
    def __init__(self, hook):
        self.hook = hook
        self.page = os.sysconf("SC_PAGE_SIZE")
        self.file = -1
        self.least, self.steps = 0, 0

    def step_ended(self):
        if self.file < 0:
            self.file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
            self.hook.evidence.write("rank.config", name="host_memory", value=str(limit()))
        held = int(os.pread(self.file, 128, 0).split()[1]) * self.page
        self.least = min(self.least or held, held)
        self.steps += 1
        if self.steps % STEPS == 0:
            self.hook.training.record_value("resident_memory", self.least)
            self.least = 0


def limit():
    """The lowest memory limit on this process."""
    bounds = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
        soft = resource.getrlimit(kind)[0]
        if soft > 0:
            bounds.append(soft)
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as file:
                said = file.read().strip()
        except OSError:
            continue
        if said.isdigit() and int(said) > 0:
            bounds.append(int(said))
    return min(bounds)

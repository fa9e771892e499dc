# tests/sim/managed/python_side_test.py — What a program sees in a managed rank, by the small engine:
#   python tests/sim/managed/python_side_test.py
import importlib.util
import multiprocessing
import os
import shutil
import tempfile
import unittest

import small_engine

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../runners/backends/local/hook")
BEGIN = "import torch, torch.distributed as dist\ndist.init_process_group('gloo')\nrank = dist.get_rank()\n"


def setUpModule():
    global zygote
    zygote = small_engine.Zygote()


def tearDownModule():
    zygote.close()


def play(text, ranks=2, **said):
    engine = small_engine.Engine(zygote, ["-c", text], ranks, **said)
    try:
        engine.run()
    finally:
        engine.kill()
    return engine


class Process(unittest.TestCase):
    def test_exit_codes_and_the_last_line_of_a_traceback_are_told(self):
        engine = play("import os, sys\nr = os.environ['RANK']\nif r == '1': sys.exit(7)\nraise ValueError('no such shard')")
        self.assertEqual([rank.code for rank in engine.ranks], [1, 7])
        self.assertEqual(engine.ranks[0].error, "ValueError: no such shard")
        self.assertIn('File "<string>", line 4, in <module>', engine.output(0))
        self.assertNotIn("launch.py", engine.output(0))

    def test_functions_at_exit_and_threads_that_are_no_daemons_run_before_the_end(self):
        engine = play(
            "import atexit, threading, time\natexit.register(print, 'last')\n"
            "threading.Thread(target=lambda: (time.sleep(5), print('thread'))).start()"
        )
        self.assertEqual(engine.output(0), "thread\nlast\n")
        self.assertEqual(engine.ranks[0].now, 5_000_000_000)

    def test_a_program_is_main_and_has_its_arguments(self):
        engine = play("import sys, __main__\nprint(sys.argv, __name__, 'launch' in dir(__main__))")
        self.assertEqual(engine.output(1), "['-c'] __main__ False\n")

    def test_the_environment_is_the_one_that_was_given(self):
        os.environ["OF_THE_ENGINE"] = "1"
        engine = play("import os; print(os.environ.get('MINE'))", environment={"MINE": "yes"})
        self.assertEqual(engine.output(0), "yes\n")


class Clocks(unittest.TestCase):
    def test_sleep_takes_virtual_time_and_all_clocks_show_it(self):
        engine = play(
            "import time, datetime\na = time.time(), time.monotonic(), datetime.datetime.now()\ntime.sleep(3600)\n"
            "b = time.time(), time.monotonic(), datetime.datetime.now()\n"
            "print(b[0] - a[0], b[1] - a[1], (b[2] - a[2]).total_seconds(), time.strftime('%Y', time.gmtime()))"
        )
        self.assertEqual(engine.output(0), "3600.0 3600.0 3600.0 2023\n")

    def test_processor_time_is_no_time_of_this_machine(self):
        engine = play(
            "import os, resource, time\nsum(range(10**6)); time.sleep(2)\n"
            "print(os.times().user, os.times().system, resource.getrusage(resource.RUSAGE_SELF).ru_utime)", 1
        )
        self.assertEqual(engine.output(0), "2.0 0.0 2.0\n")

    def test_a_wait_of_less_than_a_nanosecond_takes_one(self):
        engine = play(
            "import selectors, threading, time\nbegan = time.monotonic_ns()\n"
            "time.sleep(9e-10); threading.Event().wait(9e-10); selectors.DefaultSelector().select(9e-10)\n"
            "print(time.monotonic_ns() - began, end=' '); began = time.monotonic_ns(); time.sleep(0)\n"
            "print(time.monotonic_ns() - began)", 1
        )
        self.assertEqual(engine.output(0), "3 0\n")

    def test_a_loop_that_looks_at_the_clock_comes_to_an_end(self):
        engine = play("import time\nend = time.time() + 0.5\nwhile time.time() < end: pass\nprint('over')", 1)
        self.assertEqual(engine.output(0), "over\n")

    def test_chance_is_the_same_in_every_run_and_another_on_every_rank(self):
        text = (
            "import os, random, uuid, secrets, tempfile, numpy, torch\n"
            "print(os.urandom(4).hex(), random.random(), uuid.uuid4(), uuid.uuid1(), secrets.token_hex(4), "
            "next(tempfile._get_candidate_names()), random.Random().random(), numpy.random.rand(), "
            "numpy.random.default_rng().random(), torch.rand(1).item())"
        )
        first, second = play(text), play(text)
        self.assertEqual(first.output(0), second.output(0))
        for one, other in zip(first.output(0).split(), first.output(1).split()):
            self.assertNotEqual(one, other)


class Calls(unittest.TestCase):
    def test_gloo_raises_when_the_time_of_a_call_is_over(self):
        engine = play(
            BEGIN + "import datetime\n"
            "try:\n    if rank == 0: dist.all_reduce(torch.ones(1), async_op=True).wait(datetime.timedelta(seconds=3))\n"
            "    else: import time; time.sleep(10)\nexcept RuntimeError as e: print(e)"
        )
        self.assertIn("Timed out waiting 3000ms", engine.output(0))

    def test_a_peer_that_is_gone_is_told_by_gloo(self):
        engine = play(BEGIN + "import os\nif rank: os._exit(3)\ndist.all_reduce(torch.ones(1))")
        self.assertIn("Connection closed by peer", engine.ranks[0].error)
        self.assertNotIn("works.py", engine.output(0))

    def test_a_word_for_a_backend_is_the_one_that_the_program_asked_for(self):
        for word in ("gloo", "nccl", "cpu:gloo,cuda:nccl"):
            engine = play(f"import torch.distributed as dist\ndist.init_process_group('{word}')\nprint(dist.get_backend())")
            self.assertEqual(engine.output(0), word + "\n")

    def test_a_group_that_the_program_has_written_is_the_programs(self):
        text = (
            "import torch, torch.distributed as dist\n"
            "class Work(dist._Work):\n    def wait(self, timeout=0): return True\n"
            "class Group(dist.ProcessGroup):\n    def getBackendName(self): return 'own'\n"
            "    def allreduce(self, tensors, opts=None):\n        tensors[0].add_(40)\n        return Work()\n"
            "dist.Backend.register_backend('own', lambda store, rank, size, timeout: Group(rank, size), devices=['cpu'])\n"
            "dist.init_process_group('own')\nx = torch.ones(1)\ndist.all_reduce(x)\nprint(x.item(), dist.get_backend())"
        )
        self.assertEqual(play(text).output(0), "41.0 own\n")

    def test_the_list_of_backends_is_torchs(self):
        text = BEGIN + "print('sim' in dist.Backend.backend_list, dist.is_backend_available('sim'))"
        self.assertEqual(play(text).output(0), "False False\n")

    def test_nccl_opens_its_communicator_at_the_first_call(self):
        text = "import torch, torch.distributed as dist\ndist.init_process_group('nccl')\n"
        self.assertEqual(play(text).opening, {})
        self.assertEqual(len(play(text + "dist.all_reduce(torch.ones(1))").opening), 1)

    def test_modes_of_the_dispatcher_see_calls(self):
        engine = play(
            BEGIN + "from torch.distributed.tensor.debug import CommDebugMode\n"
            "x, whole = torch.ones(2) * rank, torch.zeros(4)\n"
            "with CommDebugMode() as mode:\n"
            "    dist.all_reduce(x)\n    dist.all_gather_into_tensor(whole, x)\n    dist.broadcast(x, 1)\n    dist.barrier()\n"
            "print(x.tolist(), whole.tolist(), sorted((str(op), n) for op, n in mode.get_comm_counts().items()))"
        )
        self.assertIn(
            "[1.0, 1.0] [1.0, 1.0, 1.0, 1.0] [('c10d._allgather_base_', 1), ('c10d.allreduce_', 1), ('c10d.broadcast_', 1)]\n",
            engine.output(0),
        )

    def test_a_call_that_is_over_keeps_no_tensor(self):
        engine = play(
            BEGIN + "import weakref\nx = torch.ones(4)\ndist.all_reduce(x)\ngone = weakref.ref(x)\ndel x\nprint(gone())"
        )
        self.assertEqual(engine.output(0), "None\n")

    def test_tensors_that_do_not_lie_in_one_piece_are_moved(self):
        engine = play(BEGIN + "t = torch.arange(6.).view(2, 3).t()[1:]\ndist.all_reduce(t)\nprint(t.tolist())")
        self.assertEqual(engine.output(0), "[[2.0, 8.0], [4.0, 10.0]]\n")

    def test_the_arena_grows_with_the_calls_and_room_is_used_again(self):
        engine = play(BEGIN + "for _ in range(20): dist.all_reduce(torch.ones(1 << 20))")
        self.assertLess(os.fstat(engine.ranks[0].arena).st_size, 10 << 20)

    def test_a_line_of_evidence_may_be_long(self):
        engine = play("import deadrank\ndeadrank.samples(range(50000))\nfor _ in range(3): deadrank.samples([1])", 1)
        self.assertEqual([one["count"] for one in engine.ranks[0].records], [50000, 1, 1, 1])

    def test_a_value_of_a_store_may_be_large(self):
        engine = play(
            BEGIN + "s = dist.distributed_c10d._get_default_store()\n"
            "if rank == 0: s.set('a', bytes(range(256)) * 1000)\nprint(len(s.get('a')), s.get('a')[255])"
        )
        self.assertEqual(engine.output(1), "256000 255\n")


class Children(unittest.TestCase):
    def test_a_child_that_joins_a_group_is_refused_with_a_sentence(self):
        engine = play(
            BEGIN + "import os, sys\nif os.fork() == 0:\n    dist.destroy_process_group()\n"
            "    try: dist.init_process_group('gloo')\n    except RuntimeError as e: print(e, flush=True)\n"
            "    os._exit(0)\nos.wait()"
        )
        self.assertIn("cannot join a process group", engine.output(0))

    def test_a_rank_waits_in_real_time_for_its_children(self):
        engine = play(
            "import subprocess, sys, time\na = time.monotonic()\n"
            "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(0.3)'])\n"
            "print(p.wait(timeout=10), time.monotonic() - a)\n"
            "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(0.3)'])\n"
            "while p.poll() is None: time.sleep(0.01)\nprint(time.monotonic() - a < 30)", 1
        )
        self.assertEqual(engine.output(0), "0 0.0\nTrue\n")

    def test_a_child_that_another_thread_saw_end_is_not_waited_for_again(self):
        engine = play(
            "import multiprocessing, threading, time\n"
            "lock = threading.Lock(); lock.acquire()\n"
            "threading.Thread(target=lock.acquire, daemon=True).start()\n"
            "for _ in range(20):\n"
            "    child = multiprocessing.get_context('fork').Process(target=exit, args=(7,))\n"
            "    child.start(); child.join(); assert child.exitcode == 7, child.exitcode\n"
            "print('joined')", 1
        )
        self.assertEqual(engine.output(0), "joined\n")

    def test_a_library_with_pipes_and_locks_of_its_own_is_waited_for_as_multiprocessing_is(self):
        """As `multiprocess`, which `datasets` uses: a copy of multiprocessing, imported by the rank."""
        with tempfile.TemporaryDirectory() as home:
            copy = os.path.join(home, "multiprocess")
            shutil.copytree(os.path.dirname(multiprocessing.__file__), copy)
            for folder, _, names in os.walk(copy):
                for name in names:
                    path = os.path.join(folder, name)
                    if name.endswith(".py"):
                        with open(path) as file:
                            text = file.read().replace("from multiprocessing", "from multiprocess")
                        with open(path, "w") as file:
                            file.write(text)
            engine = play(
                f"import sys, threading, time; sys.path.insert(0, {home!r})\nimport multiprocess\n"
                "context = multiprocess.get_context('fork')\n"
                "ours, theirs = context.Pipe()\n"
                "waits = threading.Thread(target=lambda: print(ours.recv())); waits.start()\n"
                "time.sleep(1)\n"  # the thread has the turn, and waits
                "child = context.Process(target=theirs.send, args=(5,)); child.start(); waits.join(); child.join()", 1
            )
        self.assertEqual(engine.output(0), "5\n")

    def test_a_selector_tells_of_a_file_once_while_other_threads_wait(self):
        engine = play(
            "import selectors, os, threading, subprocess, sys\n"
            "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
            "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(0.2); print(1)'], stdout=subprocess.PIPE)\n"
            "s = selectors.DefaultSelector(); s.register(p.stdout, selectors.EVENT_READ)\n"
            "print(len(s.select()), p.communicate())", 1
        )
        self.assertEqual(engine.output(0), "1 (b'1\\n', None)\n")

    def test_spawn_makes_each_process_a_rank_with_the_first_ones_arguments(self):
        text = (
            "import os, torch.multiprocessing as mp\n"
            "def work(rank, seen):\n    print(rank, seen, os.environ['SEEN'])\n"
            "seen = os.environ['SEEN'] = os.environ['RANK']\n"
            "mp.spawn(work, args=(seen,), nprocs=2)\n"
            "print('over')"
        )
        engine = play(text)
        self.assertEqual([engine.output(0), engine.output(1)], ["0 0 0\nover\n", "1 0 0\n"])

    def test_spawn_of_another_number_of_processes_names_the_option(self):
        engine = play("import torch.multiprocessing as mp\nmp.spawn(print, nprocs=3)")
        self.assertIn("Pass --ranks 3.", engine.ranks[0].error)

    def test_rpc_is_refused_with_a_sentence(self):
        engine = play("import os\nfrom torch.distributed.rpc import init_rpc\ninit_rpc('w' + os.environ['RANK'])")
        self.assertIn("torch.distributed.rpc is not simulated", engine.ranks[0].error)

    def test_a_rank_that_waits_for_a_lock_lets_its_owner_go_on(self):
        with tempfile.NamedTemporaryFile() as file:
            for lock in ("flock", "lockf"):
                engine = play(
                    f"import fcntl, time\nwith open({file.name!r}, 'w') as file:\n"
                    f"    fcntl.{lock}(file, fcntl.LOCK_EX)\n"
                    "    time.sleep(3)\nprint(time.monotonic() < 8, time.monotonic() > 2)"
                )
                self.assertEqual([engine.output(0), engine.output(1)], ["True True\n"] * 2)

    def test_a_removed_file_is_there_for_ranks_that_read_it_at_the_same_time(self):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(b"kept")
        engine = play(
            BEGIN + f"import os\ndist.barrier()\nprint(open({file.name!r}).read())\n"
            f"if rank == 0: os.remove({file.name!r})"
        )
        self.assertEqual([engine.output(0), engine.output(1)], ["kept\n"] * 2)
        self.assertFalse(os.path.exists(file.name))

    def test_a_call_whose_handle_is_dropped_is_there_after_a_barrier(self):
        engine = play(
            BEGIN + "x = torch.ones(2)\ndist.all_reduce(x, async_op=True)\ndist.barrier()\nprint(x.tolist())"
        )
        self.assertEqual(engine.output(0), "[2.0, 2.0]\n")

    def test_a_thread_beside_a_wait_for_two_calls_does_not_ask_for_a_finished_one_again(self):
        engine = play(
            "import threading, time\n" + BEGIN +
            "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
            "x, y = torch.ones(1), torch.ones(1)\n"
            "works = [dist.all_reduce(x, async_op=True)]\n"
            "if rank == 1: time.sleep(1)\n"
            "works.append(dist.all_reduce(y, async_op=True))\n"
            "from deadrank.works import Work\n"
            "Work.of_all(dist.group.WORLD, works).wait()\nprint(x.item(), y.item())"
        )
        self.assertEqual(engine.output(0), "2.0 2.0\n")

    def test_gloo_refuses_arguments_in_its_own_words(self):
        engine = play(
            BEGIN + "group = dist.group.WORLD\n"
            "for call in (lambda: group.allreduce([]), lambda: group.broadcast([torch.ones(1)], root=2)):\n"
            "    try: call()\n"
            "    except RuntimeError as trouble: print(trouble)"
        )
        self.assertEqual(
            engine.output(0),
            "ProcessGroupGloo::allreduce: requires non-empty tensor list\n"
            "ProcessGroupGloo::broadcast: invalid root rank: 2\n",
        )


    def test_nccl_refuses_arguments_in_its_own_words(self):
        engine = play(
            "import torch, torch.distributed as dist\ndist.init_process_group('nccl')\ngroup, x = dist.group.WORLD, torch.ones(1)\n"
            "for call in (lambda: group.allreduce([x, x]), lambda: group.gather([[x, x]], [x], root=2),\n"
            "             lambda: group.scatter([x], [[x]], root=dist.get_rank()),\n"
            "             lambda: dist.all_gather_into_tensor(torch.ones(3, dtype=torch.int), x),\n"
            "             lambda: dist.reduce_scatter_tensor(x, torch.ones(3, dtype=torch.int)),\n"
            "             lambda: dist.all_reduce(x.to_sparse()), lambda: group.gather([[x, x]], [x], 0),\n"
            "             lambda: group.gather([[x, x]], [], dist.GatherOptions())):\n"
            "    try: call()\n"
            "    except Exception as trouble: print(type(trouble).__name__, str(trouble)[:72])"
        )
        self.assertEqual(
            engine.output(0),
            "RuntimeError Expecting one tensor only but got multiple. You are probably using multi\n"
            "ValueError ProcessGroupNCCL::gather: invalid root rank: 2\n"
            "ValueError ProcessGroupNCCL::scatter: Incorrect input list size 1. Input list size \n"
            "TypeError output tensor must have the same type as input tensor\n"
            "TypeError input tensor must be the same type as the output tensor.\n"
            "RuntimeError NCCL does not support all_reduce with sparse tensors. Please use dense t\n"
            "TypeError gather(): incompatible function arguments. The following argument types \n"
            "NotImplementedError There were no tensor arguments to this function (e.g., you passed an emp\n",
        )


class Imports(unittest.TestCase):
    def test_the_zygote_has_one_thread(self):
        self.assertEqual(zygote.ready["threads"], 1)

    def test_packages_of_a_script_are_imported_once_and_its_own_modules_are_not(self):
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "mine.py"), "w", encoding="utf-8") as module:
                module.write("print('my own module runs')\n")
            script = os.path.join(place, "train.py")
            with open(script, "w", encoding="utf-8") as text:
                text.write("import mine, networkx\ntry:\n    import no_such_package\nexcept ImportError:\n    pass\n"
                           "from torch.distributed.fsdp import fully_shard\nimport mpi4py.MPI\n")
            warm = small_engine.Zygote(program=script)
            warm.close()
        self.assertIn("networkx", warm.ready["modules"])
        self.assertIn("torch.distributed.fsdp", warm.ready["modules"])
        self.assertEqual([one for one in warm.ready["modules"] if one in ("mine", "mpi4py.MPI")], [])
        self.assertEqual(warm.ready["failed"], {})

    def test_a_module_beside_the_script_comes_before_an_installed_one(self):
        """`taker` is installed and imports `hid`, which it would find beside the script."""
        with tempfile.TemporaryDirectory() as place:
            installed = os.path.join(place, "site-packages")
            for name, text in (("hid", "OWN = False"), ("taker", "import hid"), ("other", "")):
                os.makedirs(os.path.join(installed, name))
                with open(os.path.join(installed, name, "__init__.py"), "w", encoding="utf-8") as module:
                    module.write(text)
            os.mkdir(os.path.join(place, "hid"))
            script = os.path.join(place, "train.py")
            with open(script, "w", encoding="utf-8") as text:
                text.write("import hid.core, taker, other\n")
            warm = small_engine.Zygote(program=script, path=installed)
            warm.close()
        self.assertEqual([one for one in warm.ready["modules"] if one in ("hid.core", "taker", "other")], ["other"])
        self.assertEqual(warm.ready["failed"], {})

    @unittest.skipUnless(importlib.util.find_spec("tqdm"), "tqdm is not installed")
    def test_a_progress_bar_starts_no_thread(self):
        """A rank with a second thread is not copied: a sweep would play each run from the start."""
        engine = play("import threading, tqdm\nfor _ in tqdm.tqdm(range(3)): pass\nprint(threading.active_count())", 1)
        self.assertTrue(engine.output(0).endswith("\n1\n"), engine.output(0))


class Observers(unittest.TestCase):
    def test_steps_and_losses_of_an_unmodified_program_are_told(self):
        text = (
            BEGIN + "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))\n"
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "for step in range(3):\n    opt.zero_grad()\n    model(torch.ones(2, 4)).sum().backward()\n    opt.step()\n"
            "dist.destroy_process_group()"
        )
        engine = play(text, options={"hook": HOOK})
        records = engine.ranks[0].records
        self.assertEqual([one["step"] for one in records if one["kind"] == "step.end"], [0, 1, 2])
        self.assertEqual(len([one for one in records if one["kind"] == "parameters.digest"]), 3)
        phases = [bytes(one.split("b'")[1][:-1], "ascii") for one in engine.events if " 0 0x52 " in one]
        self.assertEqual(phases[:6], [b"forward", b"none", b"backward", b"none", b"optimizer", b"none"])

    def test_a_job_that_came_back_has_the_digests_of_one_that_was_never_interrupted(self):
        text = (
            BEGIN + "import os\nmodel = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(80, 80))\n"
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)\nbegin = 0\n"
            "if os.path.exists(os.environ['LAST']):\n"
            "    last = torch.load(os.environ['LAST']); model.load_state_dict(last['model']); begin = last['step'] + 1\n"
            "for step in range(begin, 6):\n"
            "    if step == 3 and begin == 0 and rank == 0:\n"
            "        torch.save({'model': model.state_dict(), 'step': step - 1}, os.environ['LAST'])\n"
            "    dist.barrier(); opt.zero_grad(); model(torch.ones(2, 80)).sum().backward(); opt.step()\n"
            "dist.destroy_process_group()"
        )
        with tempfile.TemporaryDirectory() as place:
            said = {"options": {"hook": HOOK}, "environment": {"LAST": os.path.join(place, "last.pt")}}
            runs = [play(text, **said), play(text, **said)]
        whole, resumed = (
            {one["step"]: one["digest"] for one in run.ranks[1].records if one["kind"] == "parameters.digest"} for run in runs
        )
        self.assertEqual(sorted(resumed), [3, 4, 5])
        self.assertEqual(resumed, {step: whole[step] for step in resumed})

    def test_samples_of_any_loader_that_deals_them_out_are_told(self):
        text = (
            BEGIN + "from torch.utils.data import DataLoader, Subset, TensorDataset\n"
            "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))\n"
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "data = TensorDataset(torch.arange(8.0).reshape(8, 1))\n"
            "def train(loader):\n    for (x,) in loader:\n        opt.zero_grad(); model(x).sum().backward(); opt.step()\n"
            "train(DataLoader(data, batch_size=2))\n"  # deals nothing out: not recorded
            "train(DataLoader(Subset(data, range(rank, 8, 2)), batch_size=2))\n"
            "dist.destroy_process_group()"
        )
        engine = play(text, options={"hook": HOOK})
        for number, rank in enumerate(engine.ranks):
            read = [one for one in rank.records if one["kind"] == "data.batch"]
            self.assertEqual([one["step"] for one in read], [4, 5])
            indices = [int(one.split(":")[0]) for batch in read for one in batch["samples"].split(",")]
            self.assertEqual(indices, [number, number + 2, number + 4, number + 6])
            shares = [one["value"] for one in rank.records if one.get("name") == "data.shares"]
            self.assertEqual(shares, ["2 in 2"])

    def test_batches_that_a_resumed_program_passes_over_are_not_trained_on(self):
        text = (
            BEGIN + "from torch.utils.data import DataLoader, DistributedSampler, TensorDataset\n"
            "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))\n"
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "data = TensorDataset(torch.arange(16.0).reshape(16, 1), torch.ones(16))\n"
            "def ahead(loader):\n    kept = None\n    for one in loader:\n"
            "        if kept: yield kept\n        kept = one\n    yield kept\n"
            "loader = DataLoader(data, batch_size=2, sampler=DistributedSampler(data, shuffle=False))\n"
            "for number, (x, mask) in enumerate({batches}):\n"
            "    if number < {passed}: continue\n"
            "    opt.zero_grad(); model(x * mask[:, None]).sum().backward(); opt.step()\n"
            "dist.destroy_process_group()"
        )
        for batches, passed in (("loader", 0), ("loader", 2), ("ahead(loader)", 0), ("ahead(loader)", 2)):
            engine = play(text.format(batches=batches, passed=passed), options={"hook": HOOK})
            read = [one["first"] for one in engine.ranks[0].records if one["kind"] == "data.batch"]
            self.assertEqual(read, [0, 4, 8, 12][passed:], batches)

    def test_a_sampler_of_one_share_is_read_by_all_ranks(self):
        """Stages of a pipeline read one share. The share is recorded only if the ranks average their gradients."""
        text = (
            BEGIN + "from torch.utils.data import DataLoader, DistributedSampler, TensorDataset\n"
            "model = torch.nn.Linear(1, 1)\n"
            "{wrap}"
            "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "data = TensorDataset(torch.arange(8.0).reshape(8, 1))\n"
            "for (x,) in DataLoader(data, batch_size=2, sampler=DistributedSampler(data, 1, 0, shuffle=False)):\n"
            "    opt.zero_grad(); model(x).sum().backward(); opt.step()\n"
            "dist.destroy_process_group()"
        )
        for wrap, shares in (("", []), ("model = torch.nn.parallel.DistributedDataParallel(model)\n", ["1 in 4"])):
            engine = play(text.replace("{wrap}", wrap), options={"hook": HOOK})
            for rank in engine.ranks:
                self.assertEqual([one["value"] for one in rank.records if one.get("name") == "data.shares"], shares)
                read = [one for one in rank.records if one["kind"] == "data.batch"]
                self.assertEqual(len(read), 4 if shares else 0)

    def test_what_a_program_tells_itself_is_told(self):
        engine = play(
            "import deadrank\ndeadrank.check('sum', 3, 4)\ndeadrank.samples([4, 2], epoch=1)\n"
            "print(deadrank.seam('shard', 5), deadrank.block('sync'))"
        )
        self.assertEqual(engine.output(0), "5 True\n")
        said = [{k: one[k] for k in ("kind", "step")} for one in engine.ranks[0].records]
        self.assertEqual(said, [{"kind": "value.sample", "step": -1}, {"kind": "data.batch", "step": -1}])

    def test_a_number_that_requires_a_gradient_is_told_without_a_warning(self):
        engine = play(
            BEGIN + "import deadrank\nlike = torch.ones(1, requires_grad=True) * 3\n"
            "deadrank.check('sum', like, like)\ndeadrank.loss(like)\ndist.destroy_process_group()"
        )
        self.assertEqual([rank.code for rank in engine.ranks], [0, 0])
        self.assertEqual(engine.output(0), "")
        told = [one for one in engine.ranks[0].records if one.get("name") == "sum"]
        self.assertEqual([(one["value"], one["expected"]) for one in told], [(3.0, 3.0)])


if __name__ == "__main__":
    unittest.main()

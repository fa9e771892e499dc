# tests/sim/managed/programs/asynchronous.py — asyncio in a rank: sleeps and time-outs are virtual.
import asyncio
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")


async def beat(seconds, times):
    for _ in range(times):
        await asyncio.sleep(seconds)
    return times


async def main():
    began = time.monotonic()
    counts = await asyncio.gather(beat(1, 10), beat(2.5, 4))
    assert counts == [10, 4] and abs(time.monotonic() - began - 10) < 0.01
    try:
        await asyncio.wait_for(asyncio.sleep(100), timeout=3)
    except asyncio.TimeoutError:
        pass
    number = torch.ones(1)
    await asyncio.get_running_loop().run_in_executor(None, dist.all_reduce, number)
    return number.item(), round(time.monotonic() - began, 2)


total, seconds = asyncio.run(main())
if dist.get_rank() == 0:
    print(f"ok asynchronous sum {total} after {seconds} s", flush=True)
dist.destroy_process_group()

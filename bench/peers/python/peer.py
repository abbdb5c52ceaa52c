"""The Python peers of `npm run bench -- --foreign`; bench/src/foreign/run-peer.ts has the arguments."""

import json
import os
import sys
import threading
import time

TTL_S = 30
# In favour of a client that polls: its default waits for longer.
RETRY_S = 0.005


def redis_py(address):
    from redis import Redis

    host, port = address.split(":")
    client = Redis(host, int(port))
    return lambda name: client.lock(name, timeout=TTL_S, sleep=RETRY_S)


def kazoo(address):
    from kazoo.client import KazooClient

    client = KazooClient(hosts=address)
    client.start()
    # Apart from the containers of Curator, which ZooKeeper removes when they are empty.
    return lambda name: client.Lock(f"/kazoo/{name}")


LIBRARIES = {"redis-py": redis_py, "kazoo": kazoo}


def repeat(lock, start, end, counts):
    count = 0
    try:
        while time.monotonic() < end:
            lock.acquire()
            lock.release()
            if start < time.monotonic() < end:
                count += 1
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)
    counts.append(count)


def main(library, address, loops, kind, warm_up_ms, run_ms):
    open_lock = LIBRARIES[library](address)
    names = ["hot" if kind == "hot" else f"free-{loop}" for loop in range(int(loops))]
    locks = [open_lock(name) for name in names]
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.monotonic() + int(warm_up_ms) / 1000
    end = start + int(run_ms) / 1000
    counts = []
    threads = [threading.Thread(target=repeat, args=(lock, start, end, counts)) for lock in locks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"pairs": sum(counts) / (int(run_ms) / 1000)}), flush=True)
    os._exit(0)


main(*sys.argv[1:])

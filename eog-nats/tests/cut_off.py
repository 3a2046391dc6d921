#!/usr/bin/env python3
"""Whether a nats-server keeps what it acknowledged when the leader of a stream is cut off. Nothing of eog is in it.

Three servers in network namespaces of their own, and a stream with three replicas. A writer beside the leader
publishes numbered messages, each on the condition of the last sequence, and is cut off with the leader; another client
goes on by way of the other two; the network heals; a node that does not lead is cut off, and heals. Then every node
leads in turn, and each acknowledged message is compared with what is stored at its sequence. Prints one line of JSON:
by leader, sequence, message that was acknowledged, and what is there.

For root alone, on Linux, with `ip` and nats-py (`pip install nats-py`):
    python eog-nats/tests/cut_off.py [NATS-SERVER]
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import nats
from nats.js.api import DiscardPolicy, StorageType, StreamConfig
from nats.js.errors import APIError, NotFoundError

NAME = f"cut{os.getpid() % 100_000}"
NET = f"10.{100 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
NODES = (1, 2, 3)
SUBJECT = "numbers.run"
EXPECTED = "Nats-Expected-Last-Subject-Sequence"


def ip(arguments):
    subprocess.run(["ip", *arguments.split()], check=True, capture_output=True)


def within(node, *command):
    """Starts a program in the namespace of a node."""
    command = ["ip", "netns", "exec", f"{NAME}n{node}", *command]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make(folder, server):
    ip(f"link add {NAME}b type bridge")
    ip(f"addr add {NET}.254/24 dev {NAME}b")
    ip(f"link set {NAME}b up")
    for node in NODES:
        ip(f"netns add {NAME}n{node}")
        ip(f"link add {NAME}v{node} type veth peer name {NAME}w{node} netns {NAME}n{node}")
        ip(f"link set {NAME}v{node} master {NAME}b up")
        ip(f"-n {NAME}n{node} addr add {NET}.{node}/24 dev {NAME}w{node}")
        ip(f"-n {NAME}n{node} link set {NAME}w{node} up")
        ip(f"-n {NAME}n{node} link set lo up")
    routes = ", ".join(f"nats://{NET}.{node}:6222" for node in NODES)
    for node in NODES:
        with open(f"{folder}/{node}.conf", "w") as file:
            file.write(
                f"server_name: n{node}\nhost: {NET}.{node}\nport: 4222\n"
                f'jetstream {{ store_dir: "{folder}/{node}", max_mem: 64MB, max_file: 1GB }}\n'
                f"cluster {{ name: cut, host: {NET}.{node}, port: 6222, routes: [{routes}] }}\n"
            )
        yield within(node, server, "-c", f"{folder}/{node}.conf")


def remove(processes, folder):
    for process in processes:
        process.kill()
        process.wait()
    for node in NODES:
        subprocess.run(["ip", "link", "del", f"{NAME}v{node}"], capture_output=True)
        subprocess.run(["ip", "netns", "del", f"{NAME}n{node}"], capture_output=True)
    subprocess.run(["ip", "link", "del", f"{NAME}b"], capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


def cable(node, state):
    ip(f"link set {NAME}v{node} {state}")


async def connect(urls):
    # A server that is silent for some seconds is cut off.
    return await nats.connect(
        servers=urls, max_reconnect_attempts=-1, reconnect_time_wait=0.2, ping_interval=2, max_outstanding_pings=3
    )


def url(node):
    return f"nats://{NET}.{node}:4222"


async def persist(what, seconds=90):
    """Tries something again while a cluster elects or starts."""
    end = time.time() + seconds
    while True:
        try:
            return await asyncio.wait_for(what(), 10)
        except Exception:
            if time.time() > end:
                raise
            await asyncio.sleep(0.3)


async def write(address, notes):
    """The writer: notes what was acknowledged, until the server says that another writer has written."""
    stream = (await connect([address])).jetstream(timeout=2)
    last = number = 0
    with open(notes, "a", buffering=1) as file:
        while True:
            message = f"first-{number}"
            try:
                stored = await stream.publish(SUBJECT, message.encode(), timeout=2, headers={EXPECTED: str(last)})
                last, number = stored.seq, number + 1
                print(last, message, file=file)
            except APIError:
                print("ended", file=file)
                return
            except Exception:
                pass  # No response: the same message again.
            await asyncio.sleep(0.02)


def noted(notes):
    try:
        lines = open(notes).read().splitlines()
    except FileNotFoundError:
        lines = []
    has_ended = "ended" in lines
    return {int(line.split()[0]): line.split()[1] for line in lines if line != "ended"}, has_ended


async def led_by(nodes=NODES):
    """The leader on which all nodes agree, once every replica has all."""
    leaders = set()
    for node in nodes:
        client = await connect([url(node)])
        try:
            info = await client.jetstream(timeout=3).stream_info("numbers")
        finally:
            await client.close()
        assert all(replica.current for replica in info.cluster.replicas)
        leaders.add(info.cluster.leader)
    assert len(leaders) == 1 and None not in leaders
    return int(leaders.pop()[1:])


async def run(folder):
    async def begin():
        # Nothing is left behind by an attempt before the cluster is up.
        client = await nats.connect(servers=[url(node) for node in NODES], max_reconnect_attempts=1, connect_timeout=2)
        await client.jetstream(timeout=5).add_stream(
            StreamConfig(
                name="numbers",
                subjects=["numbers.*"],
                num_replicas=3,
                storage=StorageType.FILE,
                discard=DiscardPolicy.NEW,
                deny_delete=True,
            )
        )
        await client.close()

    await persist(begin)
    leader = await persist(led_by)
    notes = f"{folder}/noted"
    yield within(leader, sys.executable, os.path.abspath(__file__), "--write", url(leader), notes)
    while len(noted(notes)[0]) < 10:
        await asyncio.sleep(0.02)
    cable(leader, "down")
    others = [url(node) for node in NODES if node != leader]
    client = await persist(lambda: connect(others))
    stream = client.jetstream(timeout=2)
    acknowledged = {}

    async def put(message):
        async def attempt():
            last = await stream.get_last_msg("numbers", SUBJECT)
            sequence = last.seq
            # An attempt without an answer may have stored it.
            if last.data.decode() != message:
                headers = {EXPECTED: str(last.seq)}
                sequence = (await stream.publish(SUBJECT, message.encode(), timeout=2, headers=headers)).seq
            acknowledged[sequence] = message

        await persist(attempt)

    async def put_all(what):
        for number in range(10):
            await put(f"{what}-{number}")

    await put_all("second")
    cable(leader, "up")
    end = time.time() + 90
    while not noted(notes)[1] and time.time() < end:
        await asyncio.sleep(0.1)
    await put_all("healed")
    now = int((await persist(lambda: stream.stream_info("numbers"))).cluster.leader[1:])
    follower = next(node for node in NODES if node not in (leader, now))
    cable(follower, "down")
    await put_all("without-follower")
    cable(follower, "up")
    await put_all("in-the-end")
    acknowledged.update(noted(notes)[0])
    await client.close()

    client = await persist(lambda: connect([url(node) for node in NODES]))
    stream = client.jetstream(timeout=3)
    wrong = {}
    for _ in range(20):
        leads = await persist(led_by)
        found = []
        for sequence, message in sorted(acknowledged.items()):

            async def there():
                try:
                    return (await stream.get_msg("numbers", sequence)).data.decode()
                except NotFoundError:
                    return None

            stored = await persist(there)
            if stored != message:
                found.append([sequence, message, stored])
        if await persist(led_by) == leads:
            wrong[f"n{leads}"] = found
        if len(wrong) == len(NODES):
            break
        await client.request("$JS.API.STREAM.LEADER.STEPDOWN.numbers", b"", timeout=3)
        await asyncio.sleep(1)
    result = {"cut_leader": leader, "cut_follower": follower, "acknowledged": len(acknowledged), "wrong": wrong}
    print(json.dumps(result), flush=True)


async def main(server):
    folder, processes = tempfile.mkdtemp(), []
    try:
        processes.extend(make(folder, server))
        async for process in run(folder):
            processes.append(process)
    finally:
        remove(processes, folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        asyncio.run(write(*sys.argv[2:]))
    else:
        asyncio.run(main(*(sys.argv[1:] or ["nats-server"])))

#!/usr/bin/env python3
"""Random SIGKILLs of feeders and of the processes that they feed, while these work on one file; in the end every record
has its result, once, and it is right.

  kills.py [--redis] [--mounts] FEEDER CONSUMER KILLS [SEED]

Two feeders stand for two hosts that share a file system; each feeds one to three consumers. With --redis a Redis server
keeps the claims, which is killed as well, and one time in four has lost all that it knew when it is started again. With
--mounts the second host has the same file system at another place; only root can do that.
"""
import array
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

RECORDS = 60_000


def write_npy(path, numbers):
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }" % len(numbers)
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        array.array("i", numbers).tofile(out)


class Server:
    """A Redis server; the package of its tools has the program, too."""

    def __init__(self, work, dice):
        self.folder, self.dice, self.process = f"{work}/redis", dice, None
        os.mkdir(self.folder)
        self.claims = f"redis+unix://{self.folder}/socket#1"

    def keep_running(self):
        if self.process is not None and self.process.poll() is None:
            return
        if os.path.exists(f"{self.folder}/socket"):
            os.unlink(f"{self.folder}/socket")
        if self.dice.random() < 0.25:
            shutil.rmtree(f"{self.folder}/appendonlydir", ignore_errors=True)
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", f"{self.folder}/socket", "--dir", self.folder, "--save", "",
             "--appendonly", "yes", "--loglevel", "warning"], executable=shutil.which("redis-check-rdb"),
            stdout=subprocess.DEVNULL)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class Host:
    """A feeder and those that it feeds."""

    def __init__(self, programs, work, number, dice, claims):
        self.programs, self.work, self.dice, self.claims = programs, work, dice, claims
        self.folder = f"{work}/host{number}"
        self.feeder, self.consumers = None, []

    def keep_running(self):
        if self.feeder is None or self.feeder.poll() is not None:
            self.feeder = subprocess.Popen([self.programs[0], self.folder])
            time.sleep(0.02)
        self.consumers = [consumer for consumer in self.consumers if consumer.poll() is None]
        while len(self.consumers) < self.dice.randint(1, 3):
            self.consumers.append(subprocess.Popen(
                [self.programs[1], self.folder, f"{self.work}/in.npy", f"{self.work}/out.npy", f"{self.work}/job",
                 str(self.dice.choice((1, 7, 32))), str(self.dice.choice((0, 300, 3000)))]
                + self.claims,
                stderr=subprocess.DEVNULL))

    def victims(self):
        kind = self.dice.random()
        if kind < 0.35:
            return [self.feeder]
        if kind < 0.8:
            return self.dice.sample(self.consumers, 1) if self.consumers else []
        return [self.feeder] + self.consumers

    def stop(self):
        for process in self.consumers + [self.feeder]:
            if process is not None:
                process.kill()
                process.wait()


def run(programs, kills, seed, has_server, has_mounts):
    dice, work = random.Random(seed), tempfile.mkdtemp(prefix="weft-kills-", dir="/dev/shm")
    hosts, servers, done, rounds, other = [], [], 0, 0, None
    try:
        if has_mounts:
            other = tempfile.mkdtemp(prefix="weft-kills-", dir="/dev/shm")
            subprocess.run(["mount", "--bind", work, other], check=True)
        numbers = [dice.randrange(-700_000_000, 700_000_000) for _ in range(RECORDS)]
        write_npy(f"{work}/in.npy", numbers)
        write_npy(f"{work}/wanted.npy", [3 * number for number in numbers])
        open(f"{work}/job", "w").close()
        servers = [Server(work, dice)] if has_server else []
        claims = [server.claims for server in servers]
        hosts = [Host(programs, place, number, dice, claims) for number, place in enumerate((work, other or work))]
        while done < kills:
            for process in servers + hosts:
                process.keep_running()
            time.sleep(dice.uniform(0.01, 0.12))
            victims = dice.choice(hosts).victims()
            if servers and dice.random() < 0.1:
                victims = [servers[0].process]
            for victim in victims:
                if victim.poll() is None:
                    victim.send_signal(signal.SIGKILL)
                    victim.wait()
                    done += 1
            if os.path.exists(f"{work}/out.npy"):
                rounds += 1
                fault = compare(work)
                if fault:
                    return fault
                for host in hosts:
                    host.stop()
                shutil.rmtree(f"{work}/out.npy.weft")
                os.unlink(f"{work}/out.npy")
        last = time.monotonic()
        while not os.path.exists(f"{work}/out.npy"):
            for process in servers + hosts:
                process.keep_running()
            time.sleep(0.2)
            if time.monotonic() - last > 150:
                return f"after the kills some records get no result: {os.listdir(work + '/out.npy.weft')}"
        fault = compare(work)
        print(f"{done} kills, {rounds + 1} files of {RECORDS} records: {fault or 'each result once and right'}")
        return fault
    finally:
        for process in hosts + servers:
            process.stop()
        if other:
            subprocess.run(["umount", other], check=True)
            os.rmdir(other)
        shutil.rmtree(work)


def compare(work):
    with open(f"{work}/out.npy", "rb") as out, open(f"{work}/wanted.npy", "rb") as wanted:
        return None if out.read() == wanted.read() else "the results are not those of the records"


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(words) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(run(words[:2], int(words[2]), int(words[3]) if len(words) == 4 else 1, "--redis" in sys.argv,
                 "--mounts" in sys.argv))

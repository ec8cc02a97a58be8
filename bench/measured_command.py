"""The cost of a command, for the benchmarks of readers of traces. A script that imports it puts bench/ on its path first."""
import os
import subprocess
import time


def measured(command):
    """CPU, user and wall time in seconds, peak memory in MB. That of this process when it starts the command counts, too."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode().strip()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {said or status}")
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "user_s": usage.ru_utime, "wall_s": time.monotonic() - begin,
            "peak_mb": usage.ru_maxrss / 1024}

"""One of two ranks whose Python functions are known by their names: each calls NCCL for one purpose.

call_sites.py RANK FILE: the file is where the ranks meet. Calls go through ctypes, which releases the GIL, and another
thread computes meanwhile. Exits with 0 when all calls have succeeded.
"""
import ctypes
import pathlib
import sys
import threading
import time

# Fewer groups in a second than are thinned out in the trace.
ITERATIONS, BYTES, SETS, SET_BYTES = 100, 1 << 12, 2, 60_000
INT8, SUM, NON_BLOCKING, DISABLE_TIMING = 0, 0, 1, 2

cuda = ctypes.CDLL("libcuda.so.1")
nccl = ctypes.CDLL("libnccl.so.2")


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


def check(result):
    if result != 0:
        raise RuntimeError(f"a call fails: {result}")


def made(function, *arguments):
    handle = ctypes.c_void_p()
    check(function(ctypes.byref(handle), *arguments))
    return handle


def unique_id(rank, path):
    found = UniqueId()
    if rank == 0:
        check(nccl.ncclGetUniqueId(ctypes.byref(found)))
        path.with_suffix(".new").write_bytes(bytes(found))
        path.with_suffix(".new").rename(path)
    while not path.exists():
        time.sleep(0.001)
    return UniqueId.from_buffer_copy(path.read_bytes())


class Rank:
    def __init__(self, number, path):
        self.number = number
        check(cuda.cuInit(0))
        context = made(cuda.cuDevicePrimaryCtxRetain, number)
        check(cuda.cuCtxSetCurrent(context))
        self.communicator = made(nccl.ncclCommInitRank, 2, unique_id(number, path), number)
        self.compute = made(cuda.cuStreamCreate, NON_BLOCKING)
        self.transfer = made(cuda.cuStreamCreate, NON_BLOCKING)
        self.event = made(cuda.cuEventCreate, DISABLE_TIMING)
        self.memory = made(cuda.cuMemAlloc_v2, ctypes.c_size_t(1 << 16))
        self.buffer = made(cuda.cuMemAlloc_v2, ctypes.c_size_t(BYTES))

    def order(self, before, behind):
        check(cuda.cuEventRecord(self.event, before))
        check(cuda.cuStreamWaitEvent(behind, self.event, 0))

    def work(self):
        for _ in range(SETS):
            check(cuda.cuMemsetD8Async(self.memory, ctypes.c_ubyte(1), ctypes.c_size_t(SET_BYTES), self.compute))

    def receive_message(self):
        check(nccl.ncclRecv(self.buffer, ctypes.c_size_t(BYTES), INT8, 1 - self.number, self.communicator, self.transfer))
        self.order(self.transfer, self.compute)

    def send_message(self):
        self.order(self.compute, self.transfer)
        check(nccl.ncclSend(self.buffer, ctypes.c_size_t(BYTES), INT8, 1 - self.number, self.communicator, self.transfer))
        self.order(self.transfer, self.compute)

    def sum_up(self):
        self.order(self.compute, self.transfer)
        check(nccl.ncclAllReduce(self.buffer, self.buffer, ctypes.c_size_t(BYTES), INT8, SUM, self.communicator, self.transfer))
        self.order(self.transfer, self.compute)

    def iteration(self):
        for _ in range(2):
            if self.number == 1:
                self.receive_message()
            self.work()
            if self.number == 0:
                self.send_message()
        for _ in range(2):
            if self.number == 0:
                self.receive_message()
            self.work()
            if self.number == 1:
                self.send_message()
        self.sum_up()
        check(cuda.cuCtxSynchronize())


def main():
    rank = Rank(int(sys.argv[1]), pathlib.Path(sys.argv[2]))
    over = threading.Event()

    def beside():
        while not over.wait(0.0005):
            sum(range(100))

    other = threading.Thread(target=beside)
    other.start()
    for _ in range(ITERATIONS):
        rank.iteration()
    over.set()
    other.join()
    check(nccl.ncclCommDestroy(rank.communicator))


if __name__ == "__main__":
    main()

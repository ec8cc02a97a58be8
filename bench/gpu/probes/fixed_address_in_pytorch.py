#!/usr/bin/env python3
"""fixed_address in the process of a training: PyTorch with its allocator, its libraries and a communicator of NCCL.

Started by scripts/gpu-proof with the Python that has PyTorch; prints one line of JSON like the other probes. One rank, so
that one GPU is enough. Reads and reserves only; what it reserves ends with it.
"""
import ctypes
import json
import sys

BASE, LATE_BASE = 0x6000_0000_0000, 0x6200_0000_0000
EARLY_BYTES, LATE_BYTES = 64 << 30, 1024 << 30


def reserved(driver, address: int, size: int) -> str:
    """"" where it was honoured, else what the driver did."""
    found = ctypes.c_uint64()
    error = driver.cuMemAddressReserve(ctypes.byref(found), ctypes.c_size_t(size), ctypes.c_size_t(0),
                                       ctypes.c_uint64(address), ctypes.c_uint64(0))
    if error != 0:
        return f"error {error}"
    if found.value == address:
        return ""
    driver.cuMemAddressFree(found, ctypes.c_size_t(size))
    return f"given {found.value:#x}"


def mapped_there(address: int, size: int) -> list[str]:
    """The mappings of this process that overlap the range."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        ranges = [line.split()[0] for line in maps]
    bounds = [(one, *(int(part, 16) for part in one.split("-"))) for one in ranges]
    return [one for one, begin, end in bounds if begin < address + size and end > address]


def train(torch) -> None:
    """As far as a training has come before its second iteration."""
    torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0, world_size=1,
                                         device_id=torch.device("cuda", 0))
    x = torch.ones(1024, 1024, device="cuda", requires_grad=True)
    (x @ x).sum().backward()
    torch.distributed.all_reduce(x.grad)
    torch.empty(1 << 20, pin_memory=True)
    torch.cuda.synchronize()


def main() -> int:
    try:
        import torch
    except ImportError as error:
        print(json.dumps({"probe": "fixed_address_in_pytorch", "skipped": str(error)}))
        return 77
    torch.cuda.init()
    torch.cuda.current_stream().synchronize()  # makes the context
    driver = ctypes.CDLL("libcuda.so.1")
    before = mapped_there(BASE, EARLY_BYTES)
    early = reserved(driver, BASE, EARLY_BYTES)
    train(torch)
    late = reserved(driver, LATE_BASE, LATE_BYTES)
    taken = before + (mapped_there(LATE_BASE, LATE_BYTES) if late else [])
    device = torch.cuda.get_device_name(0)
    words = {True: "honoured", False: "NOT honoured"}
    print(json.dumps({
        "probe": "fixed_address_in_pytorch", "device": device, "simulated": device.startswith("Simulated"),
        "fact": f"In a process of PyTorch a reservation at {BASE:#x} is {words[not early]} early (64 GiB), one at {LATE_BASE:#x} "
                f"{words[not late]} after a first iteration with NCCL (1 TiB)",
        "values": {"early_honoured": not early, "late_honoured": not late, "early_instead": early, "late_instead": late,
                   "mapped_there": taken[:8]}}))
    torch.distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())

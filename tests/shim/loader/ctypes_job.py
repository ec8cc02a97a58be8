"""A main job that reaches NCCL through ctypes, as vLLM does. Exit status 0: the core was loaded for its communicator."""
import ctypes
import sys


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_byte * 128)]


nccl = ctypes.CDLL("libnccl.so.2")
communicator = ctypes.c_void_p()
nccl.ncclCommInitRank.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int]
status = nccl.ncclCommInitRank(ctypes.byref(communicator), 2, UniqueId(), 0)
loaded = "libweft-core.so" in open("/proc/self/maps").read()
sys.exit(0 if status == 0 and loaded else 1)

// Does the driver reserve addresses where it is asked to, early in a process and late, so that a package of `weft pack`
// can lie where it was recorded? Can memory be mapped there, and the place be taken again after it was given back?
//
// Run by scripts/gpu-proof; main thread only. fixed_address_in_pytorch.py asks the same in a training's process.
#include "fixed_memory.h"
#include "report.h"
#include "work.h"

namespace probe {
namespace {

constexpr std::size_t gigabyte = std::size_t{1} << 30;
constexpr std::size_t early_bytes = 64 * gigabyte, late_bytes = 1024 * gigabyte;
constexpr CUdeviceptr late_base = package_base + 0x0200'0000'0000;  // behind the early one
constexpr std::size_t piece = std::size_t{2} << 20;
constexpr std::size_t far_into = 32 * gigabyte;

// As a training has done by then: allocations of each kind, a reservation of the driver's own choice.
void use_memory() {
  for (int count = 0; count < 16; ++count) {
    make_device_memory(16 * piece);
    make_pinned(piece);
  }
  CUdeviceptr anywhere = 0, pooled = 0;
  check(driver().cuMemAddressReserve(&anywhere, early_bytes, 0, 0, 0));
  check(driver().cuMemAllocAsync(&pooled, 16 * piece, make_stream()));
  check(driver().cuCtxSynchronize());
}

bool reserved(Report& report, const std::string& name, CUdeviceptr address, std::size_t bytes) {
  std::string why;
  const bool honoured = reserve_at(address, bytes, why);
  report.add(name + "_honoured", honoured);
  if (!honoured) report.add(name + "_instead", why + "; mapped there or above: " + mapping_at(address));
  return honoured;
}

// Sparse: a piece somewhere in the reservation, that a kernel and a copy reach.
bool usable(CUdeviceptr address) {
  map_at(address, piece);
  const uint32_t value = 42;
  uint32_t found = 0;
  check(driver().cuMemcpyHtoD(address, &value, sizeof value));
  check(driver().cuMemcpyDtoH(&found, address, sizeof found));
  return found == value;
}

std::string measure(const Options&, Report& report) {
  gpu();
  const bool early = reserved(report, "early", package_base, early_bytes);
  use_gpu();
  use_memory();
  const bool late = reserved(report, "late", late_base, late_bytes);
  bool works = false, again = false;
  if (early) {
    answered(report, "mapped_piece", [&] { works = usable(package_base + far_into); });
    report.add("mapped_piece_works", works);
  }
  if (late) {
    check(driver().cuMemAddressFree(late_base, late_bytes));
    again = reserved(report, "again", late_base, late_bytes);
  }
  return format(
      "A reservation at 0x%llx is %s early in a process (64 GiB), %s late (1 TiB) and %s when the place was "
      "given back; memory in the middle of it %s",
      static_cast<unsigned long long>(package_base), early ? "honoured" : "NOT honoured",
      late ? "honoured" : "NOT honoured", again ? "honoured again" : "not honoured again",
      works ? "works" : "does NOT work");
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "fixed_address", probe::measure);
}

// See the header.
#include "runner/fill/fill_probe/report.h"

#include <nlohmann/json.hpp>

namespace weft {
namespace {

std::string kind_of(CUgraphNodeType type) {
  if (type == CU_GRAPH_NODE_TYPE_KERNEL) return "kernel";
  return type == CU_GRAPH_NODE_TYPE_MEMCPY ? "copy" : "set";
}

// A kernel of a module is not asked.
std::string name_of(const Driver& driver, const MeasuredNode& node) {
  const char* name = nullptr;
  if (node.kernel == nullptr || driver.cuKernelGetName == nullptr) return "";
  return driver.cuKernelGetName(&name, node.kernel) == CUDA_SUCCESS && name != nullptr ? name : "";
}

}  // namespace

std::string report_of(const Driver& driver, PreparedFill& fill, Duration preparation, const TriedUnits& units) {
  const Unit& unit = fill.unit();
  const Confined& confined = unit.confined();
  Duration whole{};
  for (const Slice& slice : unit.whole()) whole += slice.alone;
  nlohmann::ordered_json report{{"job", fill.job().name()},
                                {"memory", fill.reservation().used()},
                                {"memory_cap", fill.reservation().cap()},
                                {"movable", fill.reservation().movable_asked()},
                                {"pinned", fill.reservation().pinned() + fill.job().feed().pinned()},
                                {"preparation", preparation.count()},
                                {"keeps_progress", fill.job().keeps_progress()},
                                {"confinement", name_of(confined.how)},
                                {"multiprocessors", confined.multiprocessors},
                                {"why_not_green", confined.why_not},
                                {"units", units.right + units.wrong + units.unchecked},
                                {"units_right", units.right},
                                {"units_wrong", units.wrong},
                                {"passes", units.passes},
                                {"unit", whole.count()},
                                {"unit_seen", units.shortest.count()},
                                {"slices", unit.whole().size()},
                                {"longest", unit.longest().count()},
                                {"nodes", nlohmann::ordered_json::array()}};
  for (const MeasuredNode& node : unit.nodes())
    report["nodes"].push_back({{"kind", kind_of(node.type)},
                               {"name", name_of(driver, node)},
                               {"blocks", node.blocks},
                               {"alone", node.alone.count()}});
  return report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace weft

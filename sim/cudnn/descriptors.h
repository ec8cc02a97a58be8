// Descriptors of cuDNN's backend interface: a type and attributes, and nothing that may change once it is finalised.
//
// Used by api_backend.cpp and operation_graph.cpp on the program's threads. No CUDA.
#ifndef SIMGPU_CUDNN_DESCRIPTORS_H
#define SIMGPU_CUDNN_DESCRIPTORS_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "numbers.h"

namespace simgpu::cudnn {

struct Content;
struct OperationGraph;

struct Attribute {
  int type = 0;  // CUDNN_TYPE_...
  int64_t count = 0;
  std::vector<std::byte> bytes;                          // of all but descriptors
  std::vector<std::shared_ptr<const Content>> contents;  // CUDNN_TYPE_BACKEND_DESCRIPTOR
};

struct Content {
  int type = 0;  // CUDNN_BACKEND_..._DESCRIPTOR
  bool finalised = false;
  std::map<int, Attribute> attributes;
  std::shared_ptr<const OperationGraph> graph;  // of a finalised operation graph

  // Null when it is not set or has another type.
  const Attribute* find(int name, int attribute_type) const;
  const Content* child(int name) const;
  // The values of an attribute; empty where find() is null. `Value` has the size of the attribute's elements.
  template <class Value>
  std::vector<Value> values(int name, int attribute_type) const {
    const Attribute* attribute = find(name, attribute_type);
    std::vector<Value> all(attribute == nullptr ? 0 : static_cast<size_t>(attribute->count));
    if (!all.empty()) std::memcpy(all.data(), attribute->bytes.data(), all.size() * sizeof(Value));
    return all;
  }
  template <class Value>
  Value value(int name, int attribute_type, Value otherwise) const {
    const Attribute* attribute = find(name, attribute_type);
    if (attribute != nullptr && attribute->count > 0) std::memcpy(&otherwise, attribute->bytes.data(), sizeof(Value));
    return otherwise;
  }
  void set(int name, int attribute_type, int64_t number);  // one number, of type INT64 or INT32
  void set_empty(int name, int attribute_type);
};

// A cudnnBackendDescriptor_t points at one. Getting an attribute that is a descriptor replaces the content.
struct Descriptor {
  std::shared_ptr<Content> content;
};

bool is_known_descriptor(int type);
// Whether cuDNN has the attribute in descriptors of this type.
bool belongs(int descriptor_type, int attribute);
// Bytes of one element, 0 for types that nobody knows.
size_t bytes_of_attribute_type(int attribute_type);
// Bytes of an element of a tensor, 0 for types that nobody knows.
size_t bytes_of_data_type(int data_type);

}  // namespace simgpu::cudnn

#endif

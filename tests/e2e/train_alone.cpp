// The losses that the training job has to have: the same arithmetic, on the host, step after step, with no unit, slice
// or Weft in between. Prints one a line, as its bits.
//   train_alone DATA COUNT SIZE STEPS     COUNT square images of SIZE rows and one channel, in DATA, which example.py
//   wrote
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "fill/train/parameters.h"
#include "fill/train/unit.h"
#include "train_on_host.h"

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "train_alone: see its first lines\n"), 2;
  const int count = std::atoi(argv[2]), size = std::atoi(argv[3]), steps = std::atoi(argv[4]);
  std::ifstream file(argv[1], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  const std::size_t images = sizeof header + header, of_images = static_cast<std::size_t>(count * size * size);
  if (bytes.size() != images + of_images + static_cast<std::size_t>(count))
    return std::fprintf(stderr, "train_alone: %s has another size\n", argv[1]), 1;
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data()) + images;
  const std::vector<int> labels(data + of_images, data + of_images + count);

  // As train.cpp has them where no argument is given.
  constexpr int batch = 4, channels = 8, blocks = 1;
  constexpr std::uint64_t seed = 1;
  const train::Descent descent{200 / 10000.0F, 90 / 100.0F};
  train_test::Trained<float> trained(
      {batch, size, size, 1, channels, blocks, *std::max_element(labels.begin(), labels.end()) + 1});
  train::set_initial(train::tensors_of(trained.network), seed, trained.parameters.data());
  const train::Choice choice{seed, static_cast<std::uint32_t>(count), batch, 1};
  std::uint32_t chosen[batch];
  for (train::Ticket ticket; ticket.step < static_cast<std::uint64_t>(steps);) {
    for (int i = 0; i < batch; ++i) train::choose(i, choice, ticket, labels.data(), chosen, trained.labels.data());
    for (int i = 0; i < batch * size * size; ++i) train::fetch(i, size * size, data, chosen, trained.x.data());
    trained.step(descent);
    float mean = 0;
    train::report(0, choice, ticket, trained.arrays.losses, &mean, &ticket.step);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &mean, sizeof bits);
    std::printf("%08x\n", bits);
  }
  return 0;
}

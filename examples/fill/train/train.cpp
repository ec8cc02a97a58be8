// Fill job: trains a small residual network on images. A unit is some steps of SGD with momentum. Losses and weights
// are the same bits in every run of one kind of GPU, whatever slices it is cut into, and wherever it was interrupted.
//
// Arguments: channels=8, blocks=1, batch=4, rate=200 (learning rate, in 0.0001), momentum=90 (in 0.01), seed=1, steps=1
// (of a unit), parts=1 (kernels that a convolution is cut into). The weights file has `images`, uint8 of [count, rows,
// columns, channels], and `labels`, uint8 or int32; README.md says why they come as weights. Loaded and called by Weft,
// see weft/fill.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "../support.h"
#include "../taking.h"
#include "data_set.h"
#include "kernels.h"
#include "parameters.h"

struct weft_fill_job {
  weft_fill_host host{};
  int channels = 8, blocks = 1, batch = 4, rate = 200, momentum = 90, seed = 1, steps = 1, parts = 1;
  train::DataSet data;
  train::Network network;
  train::SavedLayout layout;
  train::History history;
  // Device: parameters, and behind them momenta.
  float* state = nullptr;
  float *x = nullptr, *losses = nullptr;  // of a step; of the images of all steps of a unit
  int* labels = nullptr;                  // likewise
  std::uint32_t* chosen = nullptr;        // likewise
  train::Arrays<float> arrays;
  // Pinned.
  train::Copies copies;             // of the state
  train::Ticket* ticket = nullptr;  // of the unit that comes or runs
  std::uint64_t* step = nullptr;    // after a unit: how many steps are done with it
  float* means = nullptr;           // after a unit: the loss of each of its steps
  std::uint32_t* broken = nullptr;  // after a unit: 1 where its state has a number that is not finite
};

namespace {

train::Choice choice_of(const weft_fill_job& job) {
  return {static_cast<std::uint64_t>(job.seed), static_cast<std::uint32_t>(job.data.count), job.batch, job.steps};
}

// The parts of init(), one after the other.
std::string read_arguments(weft_fill_job& job, const char* text) {
  const std::array<fill::Argument, 8> known{{{"channels", &job.channels, 1, 512},
                                             {"blocks", &job.blocks, 1, 64},
                                             {"batch", &job.batch, 1, 4096},
                                             {"rate", &job.rate, 1, 100000},
                                             {"momentum", &job.momentum, 0, 99},
                                             {"seed", &job.seed, 0, 2147483647},
                                             {"steps", &job.steps, 1, 64},
                                             {"parts", &job.parts, 1, 1024}}};
  return fill::read_arguments(text, known);
}

void name_training(weft_fill_job& job) {
  char digest[9];
  std::snprintf(digest, sizeof digest, "%08x", static_cast<unsigned>(job.data.digest >> 32U));
  const auto text = [](const char* name, int value) { return std::string(name) + std::to_string(value); };
  // Without the steps of a unit and the parts of a convolution, which change nothing.
  job.layout.identity = text("channels=", job.channels) + text(",blocks=", job.blocks) + text(",batch=", job.batch) +
                        text(",rate=", job.rate) + text(",momentum=", job.momentum) + text(",seed=", job.seed) +
                        text(",images=", job.data.count) + text("x", job.data.height) + text("x", job.data.width) +
                        text("x", job.data.colours) + ",data=" + digest;
  job.layout.parameters = train::tensors_of(job.network);
}

void find_network(weft_fill_job& job, fill::Taking& take) {
  job.data = train::take_data(job.host, take);
  if (take.failed()) return;
  const train::DataSet& data = job.data;
  train::Network& n =
      job.network = {job.batch, data.height, data.width, data.colours, job.channels, job.blocks, data.classes};
  // Numbers of items are ints, and a state is kept as no more than 1 GiB.
  const double most_items = 2e9, most_parameters = 120e6;
  const double pixels = 0.25 * (data.height + 1) * (data.width + 1), layer = 9.0 * job.channels * job.channels;
  if (1.0 * job.batch * data.image_size() > most_items || job.batch * pixels * job.channels > most_items ||
      job.batch * (layer + 9.0 * data.colours * job.channels) > most_items ||
      1.0 * job.batch * data.classes * (job.channels + 1) > most_items)
    return take.fail("a batch of " + std::to_string(job.batch) + " such images is too large");
  if (2 * layer * (job.blocks + 1) > most_parameters)
    return take.fail("a network of " + std::to_string(job.blocks) + " blocks of " + std::to_string(job.channels) +
                     " channels is too large");
  if (n.classes < 2) return take.fail("all images have the label 0");
  name_training(job);
}

void take_memory(weft_fill_job& job, fill::Taking& take) {
  if (take.failed()) return;
  const train::Network& n = job.network;
  train::Arrays<float>& a = job.arrays;
  const double plane = n.plane().numbers(), pixels = 1.0 * n.batch * n.plane().pixels, layers = n.blocks + 1;
  const double of_unit = 1.0 * job.batch * job.steps, of_state = 2.0 * static_cast<double>(n.parameters());
  job.state = take.device<float>(of_state);
  job.x = take.device<float>(1.0 * job.batch * job.data.image_size());
  job.losses = take.device<float>(of_unit);
  job.labels = take.device<int>(of_unit);
  job.chosen = take.device<std::uint32_t>(of_unit);
  a.y = take.device<float>(layers * plane);
  a.inside = take.device<float>(n.blocks * plane);
  a.hats = take.device<float>(layers * plane);
  a.scales = take.device<float>(layers * pixels);
  a.means = take.device<float>(1.0 * n.batch * n.channels);
  a.of_means = take.device<float>(1.0 * n.batch * n.channels);
  a.scores = take.device<float>(1.0 * n.batch * n.classes);
  for (float** const array : {&a.gradient, &a.other, &a.third}) *array = take.device<float>(plane);
  a.parts = take.device<float>(1.0 * n.batch * static_cast<double>(n.largest_layer()));
  for (float*& copy : job.copies.copy) copy = take.pinned<float>(of_state);
  job.ticket = take.pinned<train::Ticket>(1);
  job.step = take.pinned<std::uint64_t>(1);
  job.means = take.pinned<float>(job.steps);
  job.broken = take.pinned<std::uint32_t>(1);
  if (take.failed()) return;
  *job.ticket = {};
  std::fill_n(job.copies.copy[0], 2 * n.parameters(), 0.0F);
  train::set_initial(job.layout.parameters, static_cast<std::uint64_t>(job.seed), job.copies.copy[0]);
}

int init(const weft_fill_host* host, const char* arguments, weft_fill_job** out) {
  return fill::make_job(*host, out, [&](weft_fill_job& job) {
    const std::string wrong = read_arguments(job, arguments);
    if (!wrong.empty()) return wrong;
    fill::Taking take(job.host);
    find_network(job, take);
    take_memory(job, take);
    return take.wrong();
  });
}

// In parts, so that a large state makes many short slices and not a long one.
template <class Part>
void for_parts(std::uint64_t count, Part part) {
  constexpr std::uint64_t most = std::uint64_t{1} << 18U;  // a MiB
  for (std::uint64_t first = 0; first < count; first += most)
    part(train::Range{first, static_cast<int>(std::min(most, count - first))});
}

void record_step(const weft_fill_job& job, train::Launches& launches, int number) {
  const train::Descent descent{static_cast<float>(job.rate) / 10000.0F, static_cast<float>(job.momentum) / 100.0F};
  const int first = number * job.batch, size = job.data.image_size();
  train::Arrays<float> arrays = job.arrays;
  arrays.x = job.x;
  arrays.labels = job.labels + first;
  arrays.losses = job.losses + first;
  arrays.parameters = job.state;
  arrays.momenta = job.state + job.network.parameters();
  launches.fetch(job.batch * size, size, job.data.images, job.chosen + first, job.x);
  train::go_forward(launches, job.network, arrays);
  train::go_back(launches, job.network, descent, arrays);
}

int record_unit(weft_fill_job* job, weft_stream stream_handle) {
  train::Launches launches(static_cast<int>(job->host.max_blocks), job->parts,
                           static_cast<cudaStream_t>(stream_handle));
  const std::uint64_t count = 2 * job->network.parameters();
  for_parts(count, [&](const train::Range& part) { launches.load(part, job->ticket, job->copies, job->state); });
  launches.choose(choice_of(*job), job->ticket, job->data.labels, job->chosen, job->labels);
  for (int number = 0; number < job->steps; ++number) record_step(*job, launches, number);
  for_parts(count,
            [&](const train::Range& part) { launches.store(part, job->ticket, job->copies, job->state, job->broken); });
  launches.report(choice_of(*job), job->ticket, job->losses, job->means, job->step);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : fill::fail(job->host, cudaGetErrorString(error));
}

int begin_unit(weft_fill_job* job, uint64_t) {
  *job->step = 0;  // a unit that never reached its end is not right
  *job->broken = 0;
  return 0;
}

// Where a unit is not right the next one does the same steps again. Numbers that are not finite would come again, too:
// they end the job, with the state before them.
int end_unit(weft_fill_job* job, uint64_t, int* correct) {
  *correct = *job->step == job->ticket->step + static_cast<std::uint64_t>(job->steps) ? 1 : 0;
  if (*correct == 0) return 0;
  for (int i = 0; i < job->steps; ++i)
    if (!std::isfinite(job->means[i]))
      return fill::fail(job->host, "the loss of step " + std::to_string(job->ticket->step + static_cast<unsigned>(i)) +
                                       " is not finite; a smaller rate may help");
  if (*job->broken != 0)
    return fill::fail(job->host, "a weight or its momentum after step " + std::to_string(*job->step - 1) +
                                     " is not finite; a smaller rate may help");
  for (int i = 0; i < job->steps; ++i) job->history.add(job->means[i]);
  job->ticket->step = *job->step;
  job->ticket->from = 1 - job->ticket->from;
  return 0;
}

uint64_t save(weft_fill_job* job, void* buffer, uint64_t capacity) {
  const std::uint64_t needed = train::saved::size(job->layout, job->history.size());
  if (buffer != nullptr && capacity >= needed)
    train::saved::write(job->layout, job->copies.copy[job->ticket->from], job->history, static_cast<char*>(buffer));
  return needed;
}

int restore(weft_fill_job* job, const void* buffer, uint64_t bytes) {
  const std::string wrong = train::saved::read(job->layout, {static_cast<const char*>(buffer), bytes},
                                               job->copies.copy[job->ticket->from], job->history);
  if (!wrong.empty()) return fill::fail(job->host, wrong);
  job->ticket->step = job->history.steps();
  return 0;
}

void destroy(weft_fill_job* job) {
  delete job;
}

constexpr weft_fill_functions functions{sizeof(weft_fill_functions),
                                        WEFT_FILL_ABI_VERSION,
                                        0,
                                        "train",
                                        init,
                                        record_unit,
                                        begin_unit,
                                        end_unit,
                                        save,
                                        restore,
                                        destroy,
                                        nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  return &functions;
}

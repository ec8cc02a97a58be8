// Fill job: brings the images of a folder to one size and puts a watermark on them. Records have `pixels`, RGB rows one
// behind the other, and `size`, as Weft reads them from a folder of PNG and JPEG; the weights are the watermark, a
// picture of [height, width, 4], red, green, blue and opacity. README.md has an example.
//
// Arguments: width=64, height=64 of a result; batch=4 (images of a unit); parts=4 (kernels that share a unit: more are
// shorter); opacity=60 (of the watermark, in percent). Loaded and called by Weft, see weft/fill.h.
#include <algorithm>
#include <array>
#include <string>

#include "../support.h"
#include "../taking.h"
#include "kernels.h"

struct weft_fill_job {
  weft_fill_host host{};
  int parts = 4;
  images::Shape shape{4, 64, 64, 0, 0, 0, 60};
  images::Sources from;
  const std::uint8_t* picture = nullptr;
  std::uint8_t* results = nullptr;
};

namespace {

// The parts of init(), one after the other.
void find_shape(weft_fill_job& job, fill::Taking& take) {
  images::Shape& s = job.shape;
  const weft_fill_tensor picture = take.weights_like<std::uint8_t>("watermark", 3, images::most_side);
  const weft_fill_tensor pixels = take.input_like("pixels", 1);
  if (take.failed()) return;
  if (picture.shape[2] != images::channels_of_mark)
    return take.fail("the watermark has " + std::to_string(picture.shape[2]) +
                     " numbers for a pixel and not 4: red, green, blue and opacity");
  s.mark_height = static_cast<int>(picture.shape[0]);
  s.mark_width = static_cast<int>(picture.shape[1]);
  if (s.mark_height > s.height || s.mark_width > s.width)
    return take.fail("the watermark of " + std::to_string(s.mark_width) + " x " + std::to_string(s.mark_height) +
                     " pixels does not fit into results of " + std::to_string(s.width) + " x " +
                     std::to_string(s.height));
  constexpr std::uint64_t most = 1 << 30;
  if (pixels.shape[0] > most || 1.0 * s.batch * s.height * s.width * images::colours > most)
    return take.fail("a batch of " + std::to_string(s.batch) + " such images is too large");
  s.most_bytes = static_cast<int>(pixels.shape[0]);
}

void take_all(weft_fill_job& job, fill::Taking& take) {
  const images::Shape& s = job.shape;
  take.records(s.batch);
  job.from.pixels = take.input<std::uint8_t>("pixels", {s.most_bytes}, &job.from.lengths);
  job.from.sizes = take.input<std::int32_t>("size", {2});
  job.results = take.output<std::uint8_t>("pixels", {s.height, s.width, images::colours});
  job.picture = take.weights<std::uint8_t>("watermark", {s.mark_height, s.mark_width, images::channels_of_mark});
}

int init(const weft_fill_host* host, const char* arguments, weft_fill_job** out) {
  return fill::make_job(*host, out, [&](weft_fill_job& job) {
    images::Shape& s = job.shape;
    const std::array<fill::Argument, 5> known{{{"width", &s.width, images::least_side, images::most_side},
                                               {"height", &s.height, images::least_side, images::most_side},
                                               {"batch", &s.batch, 1, 65536},
                                               {"parts", &job.parts, 1, 1024},
                                               {"opacity", &s.opacity, 0, 100}}};
    const std::string wrong = fill::read_arguments(arguments, known);
    if (!wrong.empty()) return wrong;
    fill::Taking take(job.host);
    find_shape(job, take);
    take_all(job, take);
    return take.wrong();
  });
}

int record_unit(weft_fill_job* job, weft_stream stream_handle) {
  const images::Shape& s = job->shape;
  const images::Launch to{static_cast<int>(job->host.max_blocks), static_cast<cudaStream_t>(stream_handle)};
  const int parts = std::min(job->parts, s.height);
  for (int part = 0; part < parts; ++part) {
    const int first = s.height * part / parts, end = s.height * (part + 1) / parts;
    launch_resample(to, s, {first, end - first}, job->from, job->results);
  }
  launch_mark(to, s, job->from, job->picture, job->results);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : fill::fail(job->host, cudaGetErrorString(error));
}

// One pixel of a result, computed again.
bool is_right(const images::Shape& s, const images::Sources& from, int record, images::Size size,
              const images::Window& window, const std::uint8_t* pixel) {
  for (int colour = 0; colour < images::colours; ++colour)
    if (images::mean(s, from, record, size, window, colour) != pixel[colour]) return false;
  return true;
}

// One pixel of each result that the watermark does not cover, computed again, of as many as a short look allows. Its
// place depends on the record.
int check(weft_fill_job* job, const weft_fill_records* records, int* correct) {
  constexpr std::uint32_t most_records = 1000;   // each takes time, however few pixels count
  constexpr std::int64_t most_counted = 50'000;  // all that takes a fraction of a millisecond
  const images::Shape& s = job->shape;
  const auto* const results = static_cast<const std::uint8_t*>(records->outputs[0]);
  const images::Sources from{static_cast<const std::uint8_t*>(records->inputs[0]), records->input_lengths[0],
                             static_cast<const std::int32_t*>(records->inputs[1])};
  const bool is_above = s.mark_height < s.height;
  const int rows = is_above ? s.height - s.mark_height : s.height,
            columns = is_above ? s.width : s.width - s.mark_width;
  *correct = -1;
  std::int64_t looked = 0;
  for (std::uint32_t i = 0; i < std::min(records->count, most_records) && columns > 0; ++i) {
    const int record = static_cast<int>(i);
    const auto place = static_cast<std::uint32_t>(records->numbers[i] * 2654435761U);
    const int row = static_cast<int>(place % static_cast<std::uint32_t>(rows));
    const int column = static_cast<int>(place / 65536 % static_cast<std::uint32_t>(columns));
    const std::uint8_t* const pixel = results + images::place_in_results(s, record, row, column);
    const images::Size size = images::size_of(s, from, record);
    bool right = false;
    if (size.height == 0) {
      right = pixel[0] == 0 && pixel[1] == 0 && pixel[2] == 0;
    } else {
      const images::Window window(s, size, row, column);
      looked += window.count();
      if (looked > most_counted) return 0;
      right = is_right(s, from, record, size, window, pixel);
    }
    *correct = right ? 1 : 0;
    if (!right) return 0;
  }
  return 0;
}

void destroy(weft_fill_job* job) {
  delete job;
}

constexpr weft_fill_functions functions{sizeof(weft_fill_functions),
                                        WEFT_FILL_ABI_VERSION,
                                        0,
                                        "images",
                                        init,
                                        record_unit,
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        destroy,
                                        check};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  return &functions;
}

// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace tulle::python {

std::optional<TextPiece> Run::next() {
  for (;;) {
    if (!stream_) {
      if (parts_.empty()) return std::nullopt;
      stream_.emplace(parts_.front()());
    }
    if (stream_->has_piece()) break;
    bool runs = false;
    {
      const WithoutGil released;
      runs = stream_->step();
    }
    check_signals();
    if (!runs && !stream_->has_piece()) end_part();
  }
  std::optional<TextPiece> piece = stream_->next();
  piece->generation += results_.size();
  return piece;
}

void Run::end_part() {
  const Timings timings = stream_->timings();
  std::vector<GeneratedText> part = stream_->results();
  std::move(part.begin(), part.end(), std::back_inserter(results_));
  timings_.prompt_tokens += timings.prompt_tokens;
  timings_.generated_tokens += timings.generated_tokens;
  timings_.prefill_seconds += timings.prefill_seconds;
  timings_.decode_seconds += timings.decode_seconds;
  timings_.draft_tokens += timings.draft_tokens;
  timings_.accepted_draft_tokens += timings.accepted_draft_tokens;
  stream_.reset();
  parts_.pop_front();
}

namespace {

/// The matrix as a numpy array that owns it; None where there is none.
nb::object take_logits(GeneratedText& text) {
  if (text.logits.values.empty()) return nb::none();
  auto matrix = std::make_unique<Matrix>(std::move(text.logits));
  const std::size_t shape[] = {matrix->rows, matrix->columns};
  float* values = matrix->values.data();
  const nb::capsule owner(matrix.release(), [](void* owned) noexcept { delete static_cast<Matrix*>(owned); });
  return nb::cast(nb::ndarray<nb::numpy, float, nb::ndim<2>, nb::c_contig>(values, 2, shape, owner));
}

nb::list take_results(Run& run) {
  nb::list all;
  for (GeneratedText& text : run.take_results()) {
    nb::dict facts;
    facts["text"] = text.text;
    facts["tokens"] = text.tokens;
    facts["log_probabilities"] = text.log_probabilities;
    facts["finish_reason"] = std::string(finish_reason_name(text.finish_reason));
    facts["logits"] = take_logits(text);
    facts["prompt_tokens"] = text.prompt_tokens;
    all.append(facts);
  }
  return all;
}

nb::dict timings(const Run& run) {
  nb::dict facts;
  facts["prompt_tokens"] = run.timings().prompt_tokens;
  facts["generated_tokens"] = run.timings().generated_tokens;
  facts["prefill_seconds"] = run.timings().prefill_seconds;
  facts["decode_seconds"] = run.timings().decode_seconds;
  facts["draft_tokens"] = run.timings().draft_tokens;
  facts["accepted_draft_tokens"] = run.timings().accepted_draft_tokens;
  return facts;
}

}  // namespace

void bind_run(nb::module_& module) {
  nb::class_<TextPiece>(module, "Piece")
      .def_ro("generation", &TextPiece::generation)
      .def_ro("token", &TextPiece::token)
      .def_ro("text", &TextPiece::text)
      .def_ro("log_probability", &TextPiece::log_probability)
      .def_prop_ro("finish_reason",
                   [](const TextPiece& piece) { return std::string(finish_reason_name(piece.finish_reason)); });
  nb::class_<Run>(module, "Run")
      .def("next", &Run::next)
      .def("finish", &Run::finish)
      .def("stop", &Run::stop)
      .def("take_results", &take_results)
      .def_prop_ro("copies", &Run::copies)
      .def_prop_ro("log_probabilities", &Run::log_probabilities)
      .def("timings", &timings);
}

}  // namespace tulle::python

// SPDX-License-Identifier: Apache-2.0
/// \file The tensors of one layer, found, checked and packed (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/kernel/kept_weights.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/row_order.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// Rows of a layer's matrix, and of its bias.
struct LayerRows {
  std::string name;       ///< of the layer in the checkpoint
  std::size_t available;  ///< rows that it must have
  RowOrder order;         ///< in which they are taken
};

/// Errors: not_found for a missing tensor, malformed for a wrong shape, unsupported for a type no kernel reads.
template <LinearKernel Kernel>
class MatrixLoader {
 public:
  using Source = std::shared_ptr<const WeightSource>;

  /// All of them must outlive the object. `family`: for messages. `kept`: matrices that need no packing, or null.
  MatrixLoader(const TensorSource& source, const std::string& family, const PackOptions& pack,
               const KeptMatrices* kept = nullptr)
      : source_(source), family_(family), pack_(pack), kept_(kept) {}

  /// A small tensor (norm, bias, router) of `size` elements as floats; extents of 1 are ignored.
  std::vector<float> vector(const std::string& name, std::size_t size) const {
    const EncodedTensor* tensor = source_.find(name);
    if (tensor == nullptr) fail_missing(name);
    if (tensor->taken_elements() != size) {
      fail(ErrorCode::malformed, "tensor \"", name, "\" has shape ", shape_text(tensor->shape), " where ", size,
           " elements are needed");
    }
    constexpr std::string_view end = ".weight";
    if (tensor->shape.size() != 2 || !name.ends_with(end)) return read_floats(source_, *tensor);
    const Source matrix = source_.matrix(name.substr(0, name.size() - end.size()));
    std::vector<float> values(size);
    for (std::size_t row = 0; row < matrix->rows(); ++row) matrix->decode_row(row, &values[row * matrix->columns()]);
    return values;
  }

  /// The matrix of one layer, checked. What was read for it is released when the last source over it ends.
  Source matrix(const std::string& name, std::size_t rows, std::size_t columns) const {
    Source source = source_.matrix(name);
    if (source == nullptr) fail_missing(name + ".weight");
    if (source->rows() != rows || source->columns() != columns) {
      fail(ErrorCode::malformed, "tensor \"", name, ".weight\" has shape ",
           shape_text({source->rows(), source->columns()}), " where ", shape_text({rows, columns}), " is needed");
    }
    return source;
  }

  typename Linear<Kernel>::Part pack(const std::string& name, std::size_t first_row, const WeightSource& rows) const {
    if constexpr (!is_web) {
      if (auto weights = kept(name);
          weights && weights->rows() == rows.rows() && weights->columns() == rows.columns()) {
        return {name, first_row, *std::move(weights)};
      }
    }
    return {name, first_row, Kernel::pack(rows, pack_)};
  }

  /// Rows of several layers below each other. Errors: as of the class.
  Linear<Kernel> linear(const std::vector<LayerRows>& wanted, std::size_t columns, bool with_bias) const {
    std::vector<Source> tensors, sources;
    for (const LayerRows& rows : wanted) {
      const bool again = !tensors.empty() && rows.name == wanted[tensors.size() - 1].name;  // a fused tensor
      tensors.push_back(again ? tensors.back() : matrix(rows.name, rows.available, columns));
      sources.push_back(in_order(tensors.back(), rows.order));
    }
    Linear<Kernel> result = stacked(wanted, sources);
    for (const LayerRows& rows : wanted) {
      if (!with_bias) break;
      const std::vector<float> bias = vector(rows.name + ".bias", rows.available);
      const std::size_t count = rows.order.as_it_lies() ? bias.size() : rows.order.rows();
      for (std::size_t i = 0; i < count; ++i) {
        result.bias.push_back(bias[rows.order.as_it_lies() ? i : rows.order[i]]);
      }
    }
    return result;
  }

 private:
  std::optional<typename Kernel::Weights> kept(const std::string& name) const {
    const KeptMatrix* found = kept_ == nullptr ? nullptr : kept_->find(name);
    return found == nullptr ? std::nullopt : weights_over<Kernel>(*found);
  }

  [[noreturn]] void fail_missing(const std::string& name) const {
    fail(ErrorCode::not_found, "the checkpoint has no tensor \"", name, "\", which a ", family_,
         " model needs; is the checkpoint complete?");
  }

  static std::string shape_text(const std::vector<std::size_t>& shape) {
    std::string text = "[";
    for (const std::size_t extent : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(extent);
    return text + "]";
  }

  /// Stacks the rows of several layers: one packed matrix where all have one format, else one part per source.
  Linear<Kernel> stacked(const std::vector<LayerRows>& wanted, const std::vector<Source>& sources) const {
    Linear<Kernel> result;
    std::string name;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (i == 0 || wanted[i].name != wanted[i - 1].name) name += (name.empty() ? "" : " + ") + wanted[i].name;
    }
    const bool same_format = std::all_of(sources.begin(), sources.end(), [&](const Source& source) {
      return source->code_format() == sources.front()->code_format();
    });
    // A panel belongs to one part, so parts must end at whole panels.
    const bool ends_at_panels = std::all_of(sources.begin(), sources.end() - 1,
                                            [](const Source& source) { return source->rows() % panel_rows == 0; });
    if (same_format || !ends_at_panels) {
      result.parts.push_back(pack(name, 0, StackedRows(sources)));
      return result;
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      result.parts.push_back(pack(wanted[i].name, result.rows(), *sources[i]));
    }
    return result;
  }

  const TensorSource& source_;
  const std::string& family_;
  const PackOptions& pack_;
  const KeptMatrices* kept_;
};

}  // namespace tulle

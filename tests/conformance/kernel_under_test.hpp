// SPDX-License-Identifier: Apache-2.0
/// \file A linear kernel behind virtual functions, so that its laws are compiled once for all kernels.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tulle/kernel/any_kernel.hpp>
#include <tulle/kernel/schedule/work_partition.hpp>

namespace tulle::conformance {

/// Value `column` of a prepared row as `multiply` reads it. A kernel with activations of its own adds an overload.
template <class Weights>
double value_read(const Weights&, const ActivationsF32& input, std::size_t index, std::size_t column) {
  const InputTile tile = input_tile(index / tile_inputs * tile_inputs, input.inputs());
  return double{input.values(tile)[column * tile.width + index - tile.first]};
}

template <class Weights>
double value_read(const Weights&, const ActivationsI8& input, std::size_t index, std::size_t column) {
  const InputTile tile = input_tile(index / tile_inputs * tile_inputs, input.inputs());
  const std::size_t lane = index - tile.first;
  return double{input.scales(tile)[column / group_columns * tile.width + lane]} *
         input.codes(tile)[code_index(column, tile.width, lane)];
}

template <class Weights>
double value_read(const Weights&, const ActivationsI14& input, std::size_t index, std::size_t column) {
  const std::size_t tile = input.tile();
  const int code = tile > 0 ? input.codes(index / tile * tile)[column * tile + index % tile]
                            : 128 * (input.high(index)[column] - ActivationsI14::offset) + input.low(index)[column] -
                                  ActivationsI14::offset;
  return double{input.scale(index)} * code;
}

inline double value_read(const AnyKernel::Weights& weights, const AnyKernel::Input& input, std::size_t index,
                         std::size_t column) {
  return weights.is_float() ? value_read(weights, input.as<ActivationsF32>(), index, column)
                            : value_read(weights, input.as<ActivationsI8>(), index, column);
}

/// Activations of a kernel. They belong to the weights that made them.
class InputUnderTest {
 public:
  virtual ~InputUnderTest() = default;
};

/// Weights that a kernel packed; the functions are those of `LinearKernel`.
class WeightsUnderTest {
 public:
  virtual ~WeightsUnderTest() = default;

  virtual std::size_t rows() const = 0;
  virtual std::size_t columns() const = 0;
  virtual std::size_t size_bytes() const = 0;
  virtual bool is_in_order() const = 0;
  virtual std::unique_ptr<InputUnderTest> make_input(std::size_t max_inputs, std::size_t max_columns) const = 0;
  virtual void start(std::size_t inputs, InputUnderTest& input) const = 0;
  virtual void prepare(MatrixView<const float> x, InputUnderTest& input, RowRange range) const = 0;
  virtual void multiply(const InputUnderTest& input, MatrixView<float> y, RowRange range) const = 0;
  virtual void unpack_row(std::size_t row, float* values) const = 0;
  virtual double value_read(const InputUnderTest& input, std::size_t index, std::size_t column) const = 0;
};

/// A type that satisfies `LinearKernel`.
class KernelUnderTest {
 public:
  virtual ~KernelUnderTest() = default;

  virtual std::string_view name() const = 0;
  virtual bool reads_floats() const = 0;
  virtual bool keeps_values(CodeFormat format, const PackOptions& options) const = 0;
  virtual std::unique_ptr<const WeightsUnderTest> pack(const WeightSource& source,
                                                       const PackOptions& options) const = 0;
};

namespace detail {

template <LinearKernel Kernel>
class TypedInput final : public InputUnderTest {
 public:
  TypedInput(std::size_t max_inputs, std::size_t max_columns) : value(max_inputs, max_columns) {}

  typename Kernel::Input value;
};

template <LinearKernel Kernel>
class TypedWeights final : public WeightsUnderTest {
 public:
  explicit TypedWeights(typename Kernel::Weights weights) : weights_(std::move(weights)) {}

  std::size_t rows() const override { return weights_.rows(); }
  std::size_t columns() const override { return weights_.columns(); }
  std::size_t size_bytes() const override { return weights_.size_bytes(); }
  bool is_in_order() const override { return tulle::is_in_order(weights_); }
  std::unique_ptr<InputUnderTest> make_input(std::size_t max_inputs, std::size_t max_columns) const override {
    return std::make_unique<TypedInput<Kernel>>(max_inputs, max_columns);
  }
  void start(std::size_t inputs, InputUnderTest& input) const override {
    Kernel::start(weights_, inputs, static_cast<TypedInput<Kernel>&>(input).value);
  }
  void prepare(MatrixView<const float> x, InputUnderTest& input, RowRange range) const override {
    Kernel::prepare(weights_, x, static_cast<TypedInput<Kernel>&>(input).value, range);
  }
  void multiply(const InputUnderTest& input, MatrixView<float> y, RowRange range) const override {
    Kernel::multiply(weights_, static_cast<const TypedInput<Kernel>&>(input).value, y, range);
  }
  void unpack_row(std::size_t row, float* values) const override { Kernel::unpack_row(weights_, row, values); }
  double value_read(const InputUnderTest& input, std::size_t index, std::size_t column) const override {
    return conformance::value_read(weights_, static_cast<const TypedInput<Kernel>&>(input).value, index, column);
  }

 private:
  typename Kernel::Weights weights_;
};

template <LinearKernel Kernel>
class TypedKernel final : public KernelUnderTest {
 public:
  std::string_view name() const override { return Kernel::name; }
  bool reads_floats() const override { return std::is_same_v<typename Kernel::Input, ActivationsF32>; }
  bool keeps_values(CodeFormat format, const PackOptions& options) const override {
    return Kernel::keeps_values(format, options);
  }
  std::unique_ptr<const WeightsUnderTest> pack(const WeightSource& source, const PackOptions& options) const override {
    return std::make_unique<const TypedWeights<Kernel>>(Kernel::pack(source, options));
  }
};

}  // namespace detail

template <LinearKernel Kernel>
const KernelUnderTest& kernel_under_test() {
  static const detail::TypedKernel<Kernel> kernel;
  return kernel;
}

}  // namespace tulle::conformance

// SPDX-License-Identifier: Apache-2.0
/// \file The kernel of the run-time front ends: each matrix gets its own form (L2).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tulle/kernel/dense/dense_float.hpp>
#include <tulle/kernel/dense/dense_i4.hpp>
#include <tulle/kernel/ell/ell.hpp>
#include <tulle/kernel/fastest_layout.hpp>
#include <tulle/kernel/int8/balanced_i4.hpp>
#include <tulle/kernel/int8/balanced_i8.hpp>
#include <tulle/kernel/int8/bitmask_i8.hpp>
#include <tulle/kernel/int8/dense_i8.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/work_partition.hpp>

namespace tulle {

inline constexpr std::array<std::pair<std::string_view, KernelChoice>, 17> kernel_choices{
    {{"auto", KernelChoice::automatic},
     {DenseF32::name, KernelChoice::dense_f32},
     {DenseF16::name, KernelChoice::dense_f16},
     {DenseI8::name, KernelChoice::dense_i8},
     {DenseI4::name, KernelChoice::dense_i4},
     {"i8", KernelChoice::i8},
     {"i4", KernelChoice::i4},
     {BitmaskI8::name, KernelChoice::bitmask_i8},
     {TwoOfFourI8::name, KernelChoice::two_of_four_i8},
     {FourOfSixteenI8::name, KernelChoice::four_of_sixteen_i8},
     {EightOfSixteenGap4I8::name, KernelChoice::eight_of_sixteen_gap4_i8},
     {EightOfSixteenI8::name, KernelChoice::eight_of_sixteen_i8},
     {TwoOfFourI4::name, KernelChoice::two_of_four_i4},
     {FourOfSixteenI4::name, KernelChoice::four_of_sixteen_i4},
     {EightOfSixteenGap4I4::name, KernelChoice::eight_of_sixteen_gap4_i4},
     {EllI8::name, KernelChoice::ell_i8},
     {EllI4::name, KernelChoice::ell_i4}}};

/// The choice of that name. Errors: invalid_argument, with the names that exist.
inline KernelChoice kernel_choice(std::string_view name) {
  std::string known;
  for (const auto& [known_name, choice] : kernel_choices) {
    if (known_name == name) return choice;
    known += (known.empty() ? "" : ", ") + std::string(known_name);
  }
  fail(ErrorCode::invalid_argument, "unknown kernel \"", name, "\"; known are ", known);
}

/// The form that keeps every value of rows of this type.
constexpr KernelChoice lossless_kernel(DType dtype) noexcept {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return KernelChoice::dense_f16;
    case DType::i8:
    case DType::q8_0:
    case DType::q6_k: return KernelChoice::i8;
    case DType::q4_0: return KernelChoice::i4;
    case DType::q4_1: return KernelChoice::dense_i4;
    default: return KernelChoice::dense_f32;
  }
}

/// Chooses among the built-in kernels per matrix: the form that keeps the file's values, or the one that was asked for.
struct AnyKernel {
  static constexpr std::string_view name = "auto";

  class Weights {
   public:
    Weights() = default;

    /// Calls visitor(kernel, weights) with the kernel this matrix is packed for.
    template <std::size_t Index = 0, class Visitor>
    decltype(auto) visit(Visitor&& visitor) const noexcept {
      if constexpr (Index + 1 < std::variant_size_v<Form>) {
        if (form_.index() != Index) return visit<Index + 1>(visitor);
      }
      const auto& form = *std::get_if<Index>(&form_);
      return visitor(form.kernel, form.weights);
    }

    std::size_t rows() const noexcept {
      return visit([](const auto& kernel, const auto& weights) { return (void)kernel, weights.rows(); });
    }
    std::size_t columns() const noexcept {
      return visit([](const auto& kernel, const auto& weights) { return (void)kernel, weights.columns(); });
    }
    std::size_t size_bytes() const noexcept {
      return visit([](const auto& kernel, const auto& weights) { return (void)kernel, weights.size_bytes(); });
    }
    RowRange share(std::size_t inputs, std::size_t worker, std::size_t workers) const noexcept {
      return visit([&](const auto& kernel, const auto& weights) {
        return (void)kernel, row_share(weights, inputs, worker, workers);
      });
    }
    std::string_view kernel_name() const noexcept {
      return visit([](const auto& kernel, const auto&) { return kernel.name; });
    }
    bool is_float() const noexcept { return form_.index() < 2; }

   private:
    friend AnyKernel;
    template <class Kernel>
    struct Of {
      static constexpr Kernel kernel{};
      typename Kernel::Weights weights;
    };
    template <class Kernel>
    explicit Weights(Of<Kernel> form) : form_(std::move(form)) {}

    using Form = std::variant<Of<DenseF32>, Of<DenseF16>, Of<DenseI8>, Of<DenseI4>, Of<BitmaskI8>, Of<TwoOfFourI8>,
                              Of<FourOfSixteenI8>, Of<EightOfSixteenGap4I8>, Of<EightOfSixteenI8>, Of<TwoOfFourI4>,
                              Of<FourOfSixteenI4>, Of<EightOfSixteenGap4I4>, Of<EllI8>, Of<EllI4>>;
    Form form_;
  };

  /// All forms of activations; only the one that the matrix reads is made.
  struct Input {
    Input(std::size_t max_inputs, std::size_t max_columns)
        : floats(max_inputs, max_columns), quantized(max_inputs, max_columns), wide(max_inputs, max_columns) {}
    std::size_t size_bytes() const noexcept { return floats.size_bytes() + quantized.size_bytes() + wide.size_bytes(); }
    ActivationsF32 floats;
    ActivationsI8 quantized;
    ActivationsI14 wide;
  };

 private:
  template <class Kernel, class Forms>
  static auto& form_of(Kernel, Forms& input) noexcept {
    if constexpr (std::is_same_v<typename Kernel::Input, ActivationsF32>) {
      return input.floats;
    } else if constexpr (std::is_same_v<typename Kernel::Input, ActivationsI14>) {
      return input.wide;
    } else {
      return input.quantized;
    }
  }

 public:
  static constexpr bool keeps_values(DType dtype, const PackOptions& options) noexcept {
    switch (options.kernel) {
      case KernelChoice::automatic:
      case KernelChoice::dense_f32: return true;
      case KernelChoice::dense_f16: return DenseF16::keeps_values(dtype, options);
      case KernelChoice::dense_i4: return DenseI4::keeps_values(dtype, options);
      case KernelChoice::i4:
      case KernelChoice::two_of_four_i4:
      case KernelChoice::four_of_sixteen_i4:
      case KernelChoice::eight_of_sixteen_gap4_i4: return TwoOfFourI4::keeps_values(dtype, options);
      case KernelChoice::ell_i8: return EllI8::keeps_values(dtype, options);
      case KernelChoice::ell_i4: return EllI4::keeps_values(dtype, options);
      default: return DenseI8::keeps_values(dtype, options);
    }
  }

  static Weights pack(const WeightRows& source, const PackOptions& options = {}) {
    KernelChoice choice = options.kernel;
    DType dtype{};
    if (choice == KernelChoice::automatic) {
      choice = source.uniform(dtype) ? lossless_kernel(dtype) : KernelChoice::dense_f32;
    }
    if (choice == KernelChoice::i8)
      choice = fastest_i8(measure_i8(source, options.pool), active_instruction_set(), made_by_intel());
    if (choice == KernelChoice::i4) choice = fastest_i4(measure_i4(source, options.pool), active_instruction_set());
    switch (choice) {
      case KernelChoice::dense_f16: return packed<DenseF16>(source, options);
      case KernelChoice::dense_i8: return packed<DenseI8>(source, options);
      case KernelChoice::dense_i4: return packed<DenseI4>(source, options);
      case KernelChoice::bitmask_i8: return packed<BitmaskI8>(source, options);
      case KernelChoice::two_of_four_i8: return packed<TwoOfFourI8>(source, options);
      case KernelChoice::four_of_sixteen_i8: return packed<FourOfSixteenI8>(source, options);
      case KernelChoice::eight_of_sixteen_gap4_i8: return packed<EightOfSixteenGap4I8>(source, options);
      case KernelChoice::eight_of_sixteen_i8: return packed<EightOfSixteenI8>(source, options);
      case KernelChoice::two_of_four_i4: return packed<TwoOfFourI4>(source, options);
      case KernelChoice::four_of_sixteen_i4: return packed<FourOfSixteenI4>(source, options);
      case KernelChoice::eight_of_sixteen_gap4_i4: return packed<EightOfSixteenGap4I4>(source, options);
      case KernelChoice::ell_i8: return packed<EllI8>(source, options);
      case KernelChoice::ell_i4: return packed<EllI4>(source, options);
      default: return packed<DenseF32>(source, options);
    }
  }

  static void start(const Weights& weights, std::size_t inputs, Input& input) noexcept {
    weights.visit([&](auto kernel, const auto& form) { kernel.start(form, inputs, form_of(kernel, input)); });
  }
  static void prepare(const Weights& weights, MatrixView<const float> x, Input& input, RowRange range) noexcept {
    weights.visit([&](auto kernel, const auto& form) { kernel.prepare(form, x, form_of(kernel, input), range); });
  }
  static bool shares_input(const Weights& a, const Weights& b) noexcept {
    return a.columns() == b.columns() && input_form(a) == input_form(b);
  }
  static void multiply(const Weights& weights, const Input& input, MatrixView<float> y, RowRange range) noexcept {
    weights.visit([&](auto kernel, const auto& form) { kernel.multiply(form, form_of(kernel, input), y, range); });
  }
  static void unpack_row(const Weights& weights, std::size_t row, float* out) noexcept {
    weights.visit([&](auto kernel, const auto& form) { kernel.unpack_row(form, row, out); });
  }

 private:
  template <class Kernel>
  static Weights packed(const WeightRows& source, const PackOptions& options) {
    return Weights(Weights::Of<Kernel>{Kernel::pack(source, options)});
  }

  enum class InputForm { floats, groups, groups_of_one_scale, wide };

  static InputForm input_form(const Weights& weights) noexcept {
    return weights.visit([](auto kernel, const auto& form) {
      using Of = typename decltype(kernel)::Input;
      if constexpr (std::is_same_v<Of, ActivationsI8>) {
        return form.scale_per_input() ? InputForm::groups_of_one_scale : InputForm::groups;
      } else {
        return (void)form, std::is_same_v<Of, ActivationsI14> ? InputForm::wide : InputForm::floats;
      }
    });
  }
};

static_assert(LinearKernel<AnyKernel>);

}  // namespace tulle

// SPDX-License-Identifier: Apache-2.0
/// \file The kernel of the run-time front ends: the form is chosen per matrix (L2).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <tulle/kernel/dense/dense_float.hpp>
#include <tulle/kernel/dense/dense_i4.hpp>
#include <tulle/kernel/ell/ell.hpp>
#include <tulle/kernel/fastest_layout.hpp>
#include <tulle/kernel/int8/balanced.hpp>
#include <tulle/kernel/int8/bitmask_i8.hpp>
#include <tulle/kernel/int8/dense_i8.hpp>
#include <tulle/kernel/kept_weights.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/work_partition.hpp>

namespace tulle {

template <LinearKernel... Kernels>
struct KernelList {};

/// Every kernel that a run-time front end can name. A new kernel is one entry here.
using BuiltInKernels =
    KernelList<DenseF32, DenseF16, DenseI8, DenseI4, BitmaskI8, TwoOfFourI8, FourOfSixteenI8, EightOfSixteenGap4I8,
               EightOfSixteenI8, TwoOfFourI4, FourOfSixteenI4, EightOfSixteenGap4I4, EllI8, EllI4>;

namespace detail {

/// A tuple of one each of the types.
template <class Tuple, class... Types>
struct DistinctTypes {
  using type = Tuple;
};
template <class... Found, class First, class... Rest>
struct DistinctTypes<std::tuple<Found...>, First, Rest...>
    : std::conditional_t<(std::is_same_v<Found, First> || ...), DistinctTypes<std::tuple<Found...>, Rest...>,
                         DistinctTypes<std::tuple<Found..., First>, Rest...>> {};

}  // namespace detail

template <class List>
struct BasicAnyKernel;

/// Chooses among the kernels of a list per matrix: the one that keeps the file's values, or the one that is named. No
/// function that reaches a kernel is inline: `extern template struct BasicAnyKernel<...>` keeps all of them, and so the
/// kernels' loops, out of a program that links them compiled.
template <LinearKernel... Kernels>
struct BasicAnyKernel<KernelList<Kernels...>> {
  static constexpr std::string_view name = detail::automatic;

  /// What `PackOptions::kernel` may be.
  static constexpr std::array<std::string_view, sizeof...(Kernels) + 3> choices{
      detail::automatic, detail::fastest_of_i8, detail::fastest_of_i4, Kernels::name...};

  class Weights {
   public:
    Weights();
    Weights(Weights&& other) noexcept;
    Weights& operator=(Weights&& other) noexcept;
    ~Weights();

    std::size_t rows() const noexcept;
    std::size_t columns() const noexcept;
    std::size_t size_bytes() const noexcept;
    RowRange share(std::size_t inputs, std::size_t worker, std::size_t workers) const noexcept;
    bool is_in_order() const noexcept;
    std::string_view kernel_name() const noexcept;
    bool is_float() const noexcept;  ///< whether the activations stay floats

   private:
    friend BasicAnyKernel;
    template <class Kernel>
    struct Of {
      static constexpr Kernel kernel{};
      typename Kernel::Weights weights;
    };
    template <class Kernel>
    explicit Weights(Of<Kernel> form) : form_(std::move(form)) {}

    /// Calls visitor(kernel, weights) with the kernel this matrix is packed for.
    template <std::size_t Index = 0, class Visitor>
    decltype(auto) visit(Visitor&& visitor) const noexcept {
      if constexpr (Index + 1 < sizeof...(Kernels)) {
        if (form_.index() != Index) return visit<Index + 1>(visitor);
      }
      const auto& form = *std::get_if<Index>(&form_);
      return visitor(form.kernel, form.weights);
    }

    std::variant<Of<Kernels>...> form_;
    InstructionSetHold hold_;  ///< the kernel was chosen for the active set
  };

  /// All forms of activations; only the one that the matrix reads is written, and so takes memory.
  class Input {
   public:
    /// Errors: memory.
    Input(std::size_t max_inputs, std::size_t max_columns);
    Input(Input&& other) noexcept;
    ~Input();
    std::size_t size_bytes() const noexcept;

    template <class Form>
    Form& as() noexcept {
      return std::get<Form>(forms_);
    }
    template <class Form>
    const Form& as() const noexcept {
      return std::get<Form>(forms_);
    }

   private:
    using Forms = typename detail::DistinctTypes<std::tuple<>, typename Kernels::Input...>::type;
    template <class... Of>
    static std::tuple<Of...> make(std::type_identity<std::tuple<Of...>>, std::size_t max_inputs,
                                  std::size_t max_columns) {
      return std::tuple<Of...>(Of(max_inputs, max_columns)...);
    }
    Forms forms_;
  };

  static bool keeps_values(const CodeFormat& format, const PackOptions& options) noexcept;
  /// Errors: invalid_argument for an unknown kernel, those of `check_instruction_set` and of the kernel.
  static Weights pack(const WeightSource& source, const PackOptions& options = {});
  static void start(const Weights& weights, std::size_t inputs, Input& input) noexcept;
  static void prepare(const Weights& weights, MatrixView<const float> x, Input& input, RowRange range) noexcept;
  static bool shares_input(const Weights& a, const Weights& b) noexcept;
  static void multiply(const Weights& weights, const Input& input, MatrixView<float> y, RowRange range) noexcept;
  static void unpack_row(const Weights& weights, std::size_t row, float* out) noexcept;

  /// As the functions of that name, with the kernel of the matrix.
  static std::optional<KeptMatrix> kept_form(const Weights& weights)
    requires(!is_web);
  static std::optional<Weights> weights_over(const KeptMatrix& kept)
    requires(!is_web);

  /// The list's own copy of a choice. Errors: invalid_argument, with the names that exist.
  static std::string_view choice(std::string_view wanted);

 private:
  /// `kernel` where the list has it, else `otherwise`.
  static constexpr std::string_view listed(std::string_view kernel, std::string_view otherwise) noexcept {
    return ((Kernels::name == kernel) || ...) ? kernel : otherwise;
  }

  /// What a matrix reads of an `Input`: equal where activations prepared for one matrix serve another.
  struct InputForm {
    std::size_t type, columns;
    bool scale_per_input;
    bool operator==(const InputForm&) const = default;
  };
  static InputForm input_form(const Weights& weights) noexcept;
};

/// The kernel of the run-time front ends. (A type of its own, so that names of what is made of it stay short.)
struct AnyKernel : BasicAnyKernel<BuiltInKernels> {};

inline constexpr auto& kernel_choices = AnyKernel::choices;

/// The choice of that name. Errors: invalid_argument, with the names that exist.
inline std::string_view kernel_choice(std::string_view name) {
  return AnyKernel::choice(name);
}

}  // namespace tulle

#include <tulle/kernel/any_kernel_inline.hpp>

#ifdef TULLE_COMPILED
#include <tulle/kernel/compiled.hpp>
#endif

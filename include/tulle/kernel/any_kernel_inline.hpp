// SPDX-License-Identifier: Apache-2.0
/// \file What `BasicAnyKernel` does with the kernel of a matrix (L2).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <tulle/kernel/any_kernel.hpp>

namespace tulle {

template <LinearKernel... Kernels>
BasicAnyKernel<KernelList<Kernels...>>::Weights::Weights() = default;
template <LinearKernel... Kernels>
BasicAnyKernel<KernelList<Kernels...>>::Weights::Weights(Weights&& other) noexcept = default;
template <LinearKernel... Kernels>
auto BasicAnyKernel<KernelList<Kernels...>>::Weights::operator=(Weights&& other) noexcept -> Weights& = default;
template <LinearKernel... Kernels>
BasicAnyKernel<KernelList<Kernels...>>::Weights::~Weights() = default;

template <LinearKernel... Kernels>
std::size_t BasicAnyKernel<KernelList<Kernels...>>::Weights::rows() const noexcept {
  return visit([](const auto&, const auto& weights) { return weights.rows(); });
}
template <LinearKernel... Kernels>
std::size_t BasicAnyKernel<KernelList<Kernels...>>::Weights::columns() const noexcept {
  return visit([](const auto&, const auto& weights) { return weights.columns(); });
}
template <LinearKernel... Kernels>
std::size_t BasicAnyKernel<KernelList<Kernels...>>::Weights::size_bytes() const noexcept {
  return visit([](const auto&, const auto& weights) { return weights.size_bytes(); });
}
template <LinearKernel... Kernels>
RowRange BasicAnyKernel<KernelList<Kernels...>>::Weights::share(std::size_t inputs, std::size_t worker,
                                                                std::size_t workers) const noexcept {
  return visit([&](const auto&, const auto& weights) { return row_share(weights, inputs, worker, workers); });
}
template <LinearKernel... Kernels>
bool BasicAnyKernel<KernelList<Kernels...>>::Weights::is_in_order() const noexcept {
  return visit([](const auto&, const auto& weights) { return tulle::is_in_order(weights); });
}
template <LinearKernel... Kernels>
std::string_view BasicAnyKernel<KernelList<Kernels...>>::Weights::kernel_name() const noexcept {
  return visit([](const auto& kernel, const auto&) { return kernel.name; });
}
template <LinearKernel... Kernels>
bool BasicAnyKernel<KernelList<Kernels...>>::Weights::is_float() const noexcept {
  return visit(
      []<class Kernel>(const Kernel&, const auto&) { return std::is_same_v<typename Kernel::Input, ActivationsF32>; });
}

template <LinearKernel... Kernels>
BasicAnyKernel<KernelList<Kernels...>>::Input::Input(std::size_t max_inputs, std::size_t max_columns)
    : forms_(make(std::type_identity<Forms>{}, max_inputs, max_columns)) {}
template <LinearKernel... Kernels>
BasicAnyKernel<KernelList<Kernels...>>::Input::Input(Input&& other) noexcept = default;
template <LinearKernel... Kernels>
BasicAnyKernel<KernelList<Kernels...>>::Input::~Input() = default;
template <LinearKernel... Kernels>
std::size_t BasicAnyKernel<KernelList<Kernels...>>::Input::size_bytes() const noexcept {
  return std::apply([](const auto&... forms) { return (forms.size_bytes() + ...); }, forms_);
}

template <LinearKernel... Kernels>
std::string_view BasicAnyKernel<KernelList<Kernels...>>::choice(std::string_view wanted) {
  std::string known;
  for (const std::string_view each : choices) {
    if (each == wanted) return each;
    known += (known.empty() ? "" : ", ") + std::string(each);
  }
  fail(ErrorCode::invalid_argument, "unknown kernel \"", wanted, "\"; known are ", known);
}

template <LinearKernel... Kernels>
bool BasicAnyKernel<KernelList<Kernels...>>::keeps_values(const CodeFormat& format,
                                                          const PackOptions& options) noexcept {
  const std::string_view wanted = options.kernel == detail::fastest_of_i8   ? DenseI8::name
                                  : options.kernel == detail::fastest_of_i4 ? TwoOfFourI4::name
                                                                            : options.kernel;
  return wanted == detail::automatic || ((Kernels::name == wanted && Kernels::keeps_values(format, options)) || ...);
}

template <LinearKernel... Kernels>
auto BasicAnyKernel<KernelList<Kernels...>>::pack(const WeightSource& source, const PackOptions& options) -> Weights {
  check_instruction_set();
  std::string_view wanted = choice(options.kernel);
  if (wanted == detail::automatic) wanted = detail::lossless_choice(source.code_format());
  if (wanted == detail::fastest_of_i8) {
    I8Structure structure = measure_i8(source, options.pool);
    structure.has_4_bits = structure.has_4_bits && (std::is_same_v<Kernels, EllI4> || ...);
    wanted = with_instruction_set<isa::Active>([&](auto isa) { return fastest_i8(isa, structure, this_machine); });
    wanted = listed(wanted, DenseI8::name);
  }
  if (wanted == detail::fastest_of_i4) {
    const I8Structure structure = measure_i4(source, options.pool);
    wanted = with_instruction_set<isa::Active>([&](auto isa) { return fastest_i4(isa, structure); });
    wanted = listed(wanted, DenseI4::name);
  }
  Weights weights;
  const auto pack_as = [&]<class Kernel>(Kernel) {
    if (Kernel::name != wanted) return false;
    weights = Weights(typename Weights::template Of<Kernel>{Kernel::pack(source, options)});
    return true;
  };
  if (!(pack_as(Kernels{}) || ...)) fail(ErrorCode::unsupported, "this list of kernels has no ", wanted);
  return weights;
}

template <LinearKernel... Kernels>
void BasicAnyKernel<KernelList<Kernels...>>::start(const Weights& weights, std::size_t inputs, Input& input) noexcept {
  weights.visit([&]<class Kernel>(const Kernel& kernel, const auto& form) {
    kernel.start(form, inputs, input.template as<typename Kernel::Input>());
  });
}
template <LinearKernel... Kernels>
void BasicAnyKernel<KernelList<Kernels...>>::prepare(const Weights& weights, MatrixView<const float> x, Input& input,
                                                     RowRange range) noexcept {
  weights.visit([&]<class Kernel>(const Kernel& kernel, const auto& form) {
    kernel.prepare(form, x, input.template as<typename Kernel::Input>(), range);
  });
}
template <LinearKernel... Kernels>
bool BasicAnyKernel<KernelList<Kernels...>>::shares_input(const Weights& a, const Weights& b) noexcept {
  return input_form(a) == input_form(b);
}
template <LinearKernel... Kernels>
void BasicAnyKernel<KernelList<Kernels...>>::multiply(const Weights& weights, const Input& input, MatrixView<float> y,
                                                      RowRange range) noexcept {
  weights.visit([&]<class Kernel>(const Kernel& kernel, const auto& form) {
    kernel.multiply(form, input.template as<typename Kernel::Input>(), y, range);
  });
}
template <LinearKernel... Kernels>
void BasicAnyKernel<KernelList<Kernels...>>::unpack_row(const Weights& weights, std::size_t row, float* out) noexcept {
  weights.visit([&](const auto& kernel, const auto& form) { kernel.unpack_row(form, row, out); });
}

template <LinearKernel... Kernels>
std::optional<KeptMatrix> BasicAnyKernel<KernelList<Kernels...>>::kept_form(const Weights& weights)
  requires(!is_web)
{
  std::optional<KeptMatrix> kept;
  weights.visit([&]<class Kernel>(const Kernel&, const auto& form) { kept = tulle::kept_form<Kernel>(form); });
  return kept;
}
template <LinearKernel... Kernels>
auto BasicAnyKernel<KernelList<Kernels...>>::weights_over(const KeptMatrix& kept) -> std::optional<Weights>
  requires(!is_web)
{
  std::optional<Weights> weights;
  const auto view_as = [&]<class Kernel>(Kernel) {
    if (Kernel::name != kept.kernel) return false;
    if (auto form = tulle::weights_over<Kernel>(kept)) {
      weights = Weights(typename Weights::template Of<Kernel>{*std::move(form)});
    }
    return true;
  };
  (void)(view_as(Kernels{}) || ...);
  return weights;
}

template <LinearKernel... Kernels>
auto BasicAnyKernel<KernelList<Kernels...>>::input_form(const Weights& weights) noexcept -> InputForm {
  return weights.visit([]<class Kernel>(const Kernel&, const auto& form) {
    std::size_t type = 0;  // the first kernel that reads the same
    (void)((std::is_same_v<typename Kernels::Input, typename Kernel::Input> || (++type, false)) || ...);
    bool scale_per_input = false;
    if constexpr (requires { form.scale_per_input(); }) scale_per_input = form.scale_per_input();
    return InputForm{type, form.columns(), scale_per_input};
  });
}

static_assert(LinearKernel<AnyKernel>);

}  // namespace tulle

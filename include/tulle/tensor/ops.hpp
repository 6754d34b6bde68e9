// SPDX-License-Identifier: Apache-2.0
/// \file Operations on one row of activations between two matrix products (L1).
///
/// Every function works on one row and in a fixed order, so its results are bit-identical in any batch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <tulle/core/half.hpp>
#include <tulle/tensor/isa.hpp>
#include <tulle/tensor/ops_avx2.hpp>
#include <tulle/tensor/simd.hpp>

namespace tulle {

namespace detail {

/// Calls `run(Avx2Ops())` where AVX2 is active. Otherwise returns false, and the caller runs the loop for the
/// compiler's flags.
template <class Run>
bool on_avx2([[maybe_unused]] Run&& run) noexcept {
#if defined(TULLE_X86)
  if (with_instruction_set<isa::Active>([]<class Isa>(Isa) { return Isa::runs_avx2; })) {
    run(Avx2Ops());
    return true;
  }
#endif
  return false;
}

/// Calls `wide(index)` for whole batches and `narrow(index)` for the rest of `size` elements.
template <class Batch, class Wide, class Narrow>
void for_each_batch(std::size_t size, Wide&& wide, Narrow&& narrow) noexcept {
  std::size_t index = 0;
  for (; index + Batch::size <= size; index += Batch::size) wide(index);
  for (; index < size; ++index) narrow(index);
}

/// Sum of f(x[i]) in a fixed order: by lanes, then across them, then the tail.
template <class Batch, class Function>
float sum_of(const float* x, std::size_t size, Function&& function) noexcept {
  Batch sums(0.0f);
  float tail = 0;
  for_each_batch<Batch>(
      size, [&](std::size_t i) { sums += function(Batch::load_unaligned(x + i)); },
      [&](std::size_t i) { tail += function(x[i]); });
  return xsimd::reduce_add(sums) + tail;
}

}  // namespace detail

/// y = x * weight / sqrt(mean(x^2) + epsilon). Zhang, Sennrich, "Root Mean Square Layer Normalization", 2019. [size]
/// each.
template <class Batch = DefaultBatch>
void rms_norm(const float* x, const float* weight, std::size_t size, float epsilon, float* y) noexcept {
  if (detail::on_avx2([&](auto ops) { ops.rms_norm(x, weight, size, epsilon, y); })) return;
  const float squares = detail::sum_of<Batch>(x, size, [](auto value) { return value * value; });
  const float inverse = 1.0f / std::sqrt(squares / static_cast<float>(size) + epsilon);
  detail::for_each_batch<Batch>(
      size,
      [&](std::size_t i) {
        (Batch::load_unaligned(x + i) * Batch(inverse) * Batch::load_unaligned(weight + i)).store_unaligned(y + i);
      },
      [&](std::size_t i) { y[i] = x[i] * inverse * weight[i]; });
}

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias. Ba, Kiros, Hinton, "Layer Normalization", 2016. [size]
/// each.
template <class Batch = DefaultBatch>
void layer_norm(const float* x, const float* weight, const float* bias, std::size_t size, float epsilon,
                float* y) noexcept {
  if (detail::on_avx2([&](auto ops) { ops.layer_norm(x, weight, bias, size, epsilon, y); })) return;
  const float mean = detail::sum_of<Batch>(x, size, [](auto value) { return value; }) / static_cast<float>(size);
  const float squares = detail::sum_of<Batch>(x, size, [mean](auto value) {
    const auto centred = value - decltype(value)(mean);
    return centred * centred;
  });
  const float inverse = 1.0f / std::sqrt(squares / static_cast<float>(size) + epsilon);
  detail::for_each_batch<Batch>(
      size,
      [&](std::size_t i) {
        const Batch centred = Batch::load_unaligned(x + i) - Batch(mean);
        (centred * Batch(inverse) * Batch::load_unaligned(weight + i) + Batch::load_unaligned(bias + i))
            .store_unaligned(y + i);
      },
      [&](std::size_t i) { y[i] = (x[i] - mean) * inverse * weight[i] + bias[i]; });
}

/// y += x. [size] each.
template <class Batch = DefaultBatch>
void add(const float* x, std::size_t size, float* y) noexcept {
  if (detail::on_avx2([&](auto ops) { ops.add(x, size, y); })) return;
  detail::for_each_batch<Batch>(
      size,
      [&](std::size_t i) { (Batch::load_unaligned(y + i) + Batch::load_unaligned(x + i)).store_unaligned(y + i); },
      [&](std::size_t i) { y[i] += x[i]; });
}

/// y = gate * sigmoid(gate) * up ("SwiGLU", Shazeer 2020). [size] each; y may be gate.
template <class Batch = DefaultBatch>
void silu_times(const float* gate, const float* up, std::size_t size, float* y) noexcept {
  if (detail::on_avx2([&](auto ops) { ops.silu_times(gate, up, size, y); })) return;
  detail::for_each_batch<Batch>(
      size,
      [&](std::size_t i) {
        const Batch value = Batch::load_unaligned(gate + i);
        (value / (Batch(1.0f) + xsimd::exp(-value)) * Batch::load_unaligned(up + i)).store_unaligned(y + i);
      },
      [&](std::size_t i) { y[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i]; });
}

/// x = 0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3), in place ("gelu_new"; Hendrycks, Gimpel 2016).
/// Computed as x / (1 + exp(-2u)), which is the same function.
template <class Batch = DefaultBatch>
void gelu_new(float* x, std::size_t size) noexcept {
  if (detail::on_avx2([&](auto ops) { ops.gelu_new(x, size); })) return;
  constexpr float twice_root = 1.5957691216057308f;  // 2 sqrt(2 / pi)
  detail::for_each_batch<Batch>(
      size,
      [&](std::size_t i) {
        const Batch value = Batch::load_unaligned(x + i);
        const Batch u = Batch(-twice_root) * (value + Batch(0.044715f) * value * value * value);
        (value / (Batch(1.0f) + xsimd::exp(u))).store_unaligned(x + i);
      },
      [&](std::size_t i) { x[i] = x[i] / (1.0f + std::exp(-twice_root * (x[i] + 0.044715f * x[i] * x[i] * x[i]))); });
}

/// x = 0.5 x (1 + erf(x / sqrt(2))), in place (Hendrycks, Gimpel 2016), off by 2e-7 |x| at the most. [size].
template <class Batch = DefaultBatch>
void gelu_erf(float* x, std::size_t size) noexcept {
  if (detail::on_avx2([&](auto ops) { ops.gelu_erf(x, size); })) return;
  const auto gelu = [](auto value) {
    using Value = decltype(value);
    using std::abs, std::exp, std::max, xsimd::abs, xsimd::exp, xsimd::max;
    const Value u = abs(value) * Value(detail::erf_terms::inverse_root_2);
    const Value t = Value(1.0f) / (Value(1.0f) + u * Value(detail::erf_terms::p));
    Value sum(0.0f);
    for (int i = 4; i >= 0; --i) sum = (sum + Value(detail::erf_terms::a[i])) * t;
    return max(value, Value(0.0f)) - abs(value) * Value(0.5f) * sum * exp(-u * u);
  };
  detail::for_each_batch<Batch>(
      size, [&](std::size_t i) { gelu(Batch::load_unaligned(x + i)).store_unaligned(x + i); },
      [&](std::size_t i) { x[i] = gelu(x[i]); });
}

/// x = max(x, 0), in place. [size].
inline void relu(float* x, std::size_t size) noexcept {
  for (std::size_t i = 0; i < size; ++i) x[i] = x[i] < 0 ? 0 : x[i];
}

/// x = min(max(x, -most), most), in place. [size].
inline void clip(float most, std::size_t size, float* x) noexcept {
  for (std::size_t i = 0; i < size; ++i) x[i] = std::min(std::max(x[i], -most), most);
}

/// x = cap * tanh(x / cap), in place. Computed as cap * (1 - 2 / (1 + exp(2 x / cap))), which is the same. [size].
inline void soft_cap(float cap, std::size_t size, float* x) noexcept {
  if (detail::on_avx2([&](auto ops) { ops.soft_cap(cap, size, x); })) return;
  for (std::size_t i = 0; i < size; ++i) x[i] = cap * std::tanh(x[i] / cap);
}

/// y = gelu_new(gate) * up ("GEGLU", Shazeer 2020). [size] each; y may be gate.
template <class Batch = DefaultBatch>
void gelu_times(const float* gate, const float* up, std::size_t size, float* y) noexcept {
  if (detail::on_avx2([&](auto ops) { ops.gelu_times(gate, up, size, y); })) return;
  if (y != gate) std::copy_n(gate, size, y);
  gelu_new<Batch>(y, size);
  for (std::size_t i = 0; i < size; ++i) y[i] *= up[i];
}

/// y = min(gate, 7) * sigmoid(1.702 min(gate, 7)) * (clamp(up, -7, 7) + 1), of GPT-OSS (OpenAI 2025). [size] each; y may
/// be gate.
inline void clamped_silu_times(const float* gate, const float* up, std::size_t size, float* y) noexcept {
  for (std::size_t i = 0; i < size; ++i) {
    const float g = std::min(gate[i], 7.0f), u = std::clamp(up[i], -7.0f, 7.0f);
    y[i] = (u + 1) * g / (1 + std::exp(-1.702f * g));
  }
}

/// x *= factor. [size].
inline void scale(float factor, std::size_t size, float* x) noexcept {
  if (detail::on_avx2([&](auto ops) { ops.scale(factor, size, x); })) return;
  for (std::size_t i = 0; i < size; ++i) x[i] *= factor;
}

/// out = a x + b y. [size] each; out may be x or y.
inline void weighted_sum(const float* x, float a, const float* y, float b, std::size_t size, float* out) noexcept {
  if (detail::on_avx2([&](auto ops) { ops.weighted_sum(x, a, y, b, size, out); })) return;
  for (std::size_t i = 0; i < size; ++i) out[i] = x[i] * a + y[i] * b;
}

/// Where the two elements of a rotated pair are in a head.
enum class RotaryPairing {
  halves,       ///< (x[j], x[j + d/2]): Llama in Hugging Face's order
  interleaved,  ///< (x[2j], x[2j + 1]): GPT-J, CodeGen
};

/// Rotates the first 2 * pairs elements of one head by the angles whose cosines and sines are given ([pairs] each).
/// Su et al., "RoFormer", 2021, eq. 34.
inline void rotate(float* head, const float* cosines, const float* sines, std::size_t pairs,
                   RotaryPairing pairing) noexcept {
  const bool halves = pairing == RotaryPairing::halves;
  const bool done = detail::on_avx2([&](auto ops) {
    halves ? ops.rotate_halves(head, cosines, sines, pairs) : ops.rotate_interleaved(head, cosines, sines, pairs);
  });
  if (done) return;
  const std::size_t step = halves ? 1 : 2, apart = halves ? pairs : 1;
  for (std::size_t j = 0; j < pairs; ++j) {
    float& first = head[j * step];
    float& second = head[j * step + apart];
    const float x = first, y = second;
    first = x * cosines[j] - y * sines[j];
    second = y * cosines[j] + x * sines[j];
  }
}

/// y = x in 16 bits (`to_half`). [size] each.
inline void to_halves(const float* x, std::size_t size, Half* y) noexcept {
  if (detail::on_avx2([&](auto ops) { ops.to_halves(x, size, y); })) return;
  for (std::size_t i = 0; i < size; ++i) y[i] = to_half(x[i]);
}

}  // namespace tulle

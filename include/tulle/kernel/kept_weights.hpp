// SPDX-License-Identifier: Apache-2.0
/// \file Packed weights as numbers and arrays, from which they are made again without packing (L2).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/linear_kernel.hpp>

namespace tulle {

/// Raised whenever a kernel lays its weights out in another way: what was kept before is packed again.
inline constexpr unsigned kept_weights_version = 3;

/// A packed matrix, or a table of rows. `arrays` begin at multiples of 64 bytes and 64 readable bytes follow each.
struct KeptMatrix {
  std::string kernel;  ///< the name of the kernel that packed it; of a table ""
  std::vector<std::uint64_t> numbers;
  std::vector<std::span<const std::byte>> arrays;
};

/// The matrices of a model by the names of the tensors they were packed from, its tables of rows by `kept_embedding` and
/// `kept_positions`, and what holds their arrays.
struct KeptMatrices {
  std::map<std::string, KeptMatrix, std::less<>> matrices;
  std::shared_ptr<const void> memory;

  /// Null where there is none of that name. Lifetime: that of the object.
  const KeptMatrix* find(std::string_view name) const noexcept {
    const auto found = matrices.find(name);
    return found == matrices.end() ? nullptr : &found->second;
  }
};

inline constexpr std::string_view kept_embedding = "embedding", kept_positions = "positions";

namespace detail {

template <class Field>
concept PlainField = std::is_arithmetic_v<Field> || std::is_enum_v<Field>;

/// Lists the fields of weights. A field is a number, an array or a class with fields of its own (`each_field`).
class FieldWriter {
 public:
  explicit FieldWriter(KeptMatrix& to) : to_(to) {}

  template <class... Fields>
  void operator()(const Fields&... fields) {
    (write(fields), ...);
  }

 private:
  template <class Field>
  void write(const Field& field) {
    if constexpr (PlainField<Field>) {
      to_.numbers.push_back(static_cast<std::uint64_t>(field));
    } else {
      Field::each_field(field, *this);
    }
  }
  template <class T>
  void write(const AlignedBuffer<T>& array) {
    to_.arrays.push_back(std::as_bytes(array.span()));
  }
  void write(const std::vector<std::size_t>& array) { to_.arrays.push_back(std::as_bytes(std::span(array))); }

  KeptMatrix& to_;
};

/// Sets the fields of weights from what `FieldWriter` listed. Arrays become views.
class FieldReader {
 public:
  explicit FieldReader(const KeptMatrix& from) : from_(from) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (read(fields), ...);
  }

  /// Whether everything was there, fitted its type, and nothing is left.
  bool done() const noexcept { return fits_ && number_ == from_.numbers.size() && array_ == from_.arrays.size(); }

 private:
  template <class Field>
  void read(Field& field) {
    if constexpr (PlainField<Field>) {
      const std::uint64_t value = number_ < from_.numbers.size() ? from_.numbers[number_] : ~std::uint64_t{0};
      ++number_;
      constexpr std::uint64_t most = std::is_same_v<Field, bool> ? 1 : std::is_enum_v<Field> ? 255 : INT32_MAX;
      fits_ = fits_ && value <= most;
      field = static_cast<Field>(value <= most ? value : 0);
    } else {
      Field::each_field(field, *this);
    }
  }
  template <class T>
  void read(AlignedBuffer<T>& array) {
    const auto bytes = next_array(sizeof(T), AlignedBuffer<T>::alignment);
    if (!bytes.empty())
      array = AlignedBuffer<T>::over({reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)});
  }
  void read(std::vector<std::size_t>& array) {
    const auto bytes = next_array(sizeof(std::size_t), 1);
    array.resize(bytes.size() / sizeof(std::size_t));
    if (!bytes.empty()) std::memcpy(array.data(), bytes.data(), bytes.size());
  }
  std::span<const std::byte> next_array(std::size_t size, std::size_t alignment) {
    const auto bytes = array_ < from_.arrays.size() ? from_.arrays[array_] : std::span<const std::byte>();
    fits_ = fits_ && array_ < from_.arrays.size() && bytes.size() % size == 0 &&
            reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0;
    ++array_;
    return fits_ ? bytes : std::span<const std::byte>();
  }

  const KeptMatrix& from_;
  std::size_t number_ = 0, array_ = 0;
  bool fits_ = true;
};

/// Weights that list their fields by `each_field` and check them by `is_sound`.
template <class Weights>
concept HasFields = requires(Weights& weights, const Weights& packed, FieldReader& reader, FieldWriter& writer) {
  Weights::each_field(weights, reader);
  Weights::each_field(packed, writer);
  { packed.is_sound() } noexcept -> std::same_as<bool>;
};

}  // namespace detail

/// Views of packed weights; nothing where the kernel has none to give. Lifetime: that of the weights.
template <LinearKernel Kernel>
std::optional<KeptMatrix> kept_form([[maybe_unused]] const typename Kernel::Weights& weights) {
  if constexpr (requires { Kernel::kept_form(weights); }) {
    return Kernel::kept_form(weights);
  } else if constexpr (detail::HasFields<typename Kernel::Weights>) {
    KeptMatrix kept;
    kept.kernel = Kernel::name;
    detail::FieldWriter writer(kept);
    Kernel::Weights::each_field(weights, writer);
    return kept;
  } else {
    return std::nullopt;
  }
}

/// The weights over what was kept of them; nothing where that is not sound, or of another kernel. Their numbers may be
/// any, but no loop reads beyond them. Lifetime: that of the arrays.
template <LinearKernel Kernel>
std::optional<typename Kernel::Weights> weights_over([[maybe_unused]] const KeptMatrix& kept) {
  if constexpr (requires { Kernel::weights_over(kept); }) {
    return Kernel::weights_over(kept);
  } else if constexpr (detail::HasFields<typename Kernel::Weights>) {
    typename Kernel::Weights weights;
    detail::FieldReader reader(kept);
    if (kept.kernel != Kernel::name) return std::nullopt;
    Kernel::Weights::each_field(weights, reader);
    if (!reader.done() || !weights.is_sound()) return std::nullopt;
    return weights;
  } else {
    return std::nullopt;
  }
}

}  // namespace tulle

// SPDX-License-Identifier: Apache-2.0
/// \file The cache of the run-time front ends: layout and element are chosen when it is made (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/cache/contiguous.hpp>
#include <tulle/cache/paged.hpp>
#include <tulle/cache/sliding.hpp>
#include <tulle/core/half.hpp>

namespace tulle {

/// Any of the built-in layouts with any of the built-in elements; every call goes to the one it holds.
/// One instantiation of the decoder serves them all, at the price of a switch per call.
class AnyCache {
 private:
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) const {
    return std::visit(visitor, held_);
  }
  template <class Visitor>
  decltype(auto) visit(Visitor&& visitor) {
    return std::visit(visitor, held_);
  }

 public:
  /// Takes a built-in layout.
  template <class Cache>
    requires(!std::is_same_v<Cache, AnyCache>)
  AnyCache(Cache cache) : held_(std::move(cache)) {}

  const CacheShape& shape() const noexcept {
    return visit([](const auto& cache) -> const CacheShape& { return cache.shape(); });
  }
  std::size_t sequences() const noexcept {
    return visit([](const auto& cache) { return cache.sequences(); });
  }
  Position capacity() const noexcept {
    return visit([](const auto& cache) { return cache.capacity(); });
  }
  Position length(SequenceId sequence) const noexcept {
    return visit([&](const auto& cache) { return cache.length(sequence); });
  }
  Position room(SequenceId sequence) const noexcept {
    return visit([&](const auto& cache) { return cache.room(sequence); });
  }
  std::size_t size_bytes() const noexcept {
    return visit([](const auto& cache) { return cache.size_bytes(); });
  }
  bool extend(SequenceId sequence, Position end) {
    return visit([&](auto& cache) { return cache.extend(sequence, end); });
  }
  void append(std::size_t layer, SequenceId sequence, Position position, const float* key,
              const float* value) noexcept {
    visit([&](auto& cache) { cache.append(layer, sequence, position, key, value); });
  }
  template <class Visit>
  void for_each_span(std::size_t layer, SequenceId sequence, const Visible& visible, Visit&& visitor) const noexcept {
    visit([&](const auto& cache) { cache.for_each_span(layer, sequence, visible, visitor); });
  }
  bool truncate(SequenceId sequence, Position length) noexcept {
    return visit([&](auto& cache) { return cache.truncate(sequence, length); });
  }
  bool fork(SequenceId from, SequenceId to) {
    return visit([&](auto& cache) { return cache.fork(from, to); });
  }
  void release(SequenceId sequence) noexcept {
    visit([&](auto& cache) { cache.release(sequence); });
  }
  void save(SequenceId sequence, std::vector<std::byte>& saved) const {
    visit([&](const auto& cache) { cache.save(sequence, saved); });
  }
  bool restore(SequenceId sequence, std::span<const std::byte> bytes) {
    return visit([&](auto& cache) { return cache.restore(sequence, bytes); });
  }
  /// Does nothing where the layout cannot share prefixes; likewise `adopt`.
  void publish(SequenceId sequence, std::span<const Token> tokens) noexcept {
    visit([&]<class Cache>(Cache& cache) {
      if constexpr (PrefixSharing<Cache>) cache.publish(sequence, tokens);
    });
  }
  Position adopt(SequenceId sequence, std::span<const Token> tokens) {
    return visit([&]<class Cache>(Cache& cache) {
      if constexpr (PrefixSharing<Cache>) return cache.adopt(sequence, tokens);
      return cache.length(sequence);
    });
  }

 private:
  std::variant<ContiguousCache<float>, ContiguousCache<Half>, ContiguousCache<std::int8_t>, SlidingCache<float>,
               SlidingCache<Half>, SlidingCache<std::int8_t>, PagedCache<float>, PagedCache<Half>,
               PagedCache<std::int8_t>>
      held_;
};

static_assert(CacheLayout<AnyCache>);
static_assert(PrefixSharing<AnyCache>);

}  // namespace tulle

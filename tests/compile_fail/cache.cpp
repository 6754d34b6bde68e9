// SPDX-License-Identifier: Apache-2.0
// concept: CacheLayout
// A layout that cannot roll back does not go where a layout is asked for.
#include <tulle/cache/contiguous.hpp>

struct Forgetful {
  using Element = float;

  tulle::ContiguousCache<float> rows;

  const tulle::CacheShape& shape() const noexcept { return rows.shape(); }
  std::size_t sequences() const noexcept { return rows.sequences(); }
  tulle::Position capacity() const noexcept { return rows.capacity(); }
  tulle::Position length(tulle::SequenceId sequence) const noexcept { return rows.length(sequence); }
  tulle::Position room(tulle::SequenceId sequence) const noexcept { return rows.room(sequence); }
  std::size_t size_bytes() const noexcept { return rows.size_bytes(); }
  bool extend(tulle::SequenceId sequence, tulle::Position end) { return rows.extend(sequence, end); }
  void append(std::size_t layer, tulle::SequenceId sequence, tulle::Position position, const float* key,
              const float* value) noexcept {
    rows.append(layer, sequence, position, key, value);
  }
  template <class Visit>
  void for_each_span(std::size_t layer, tulle::SequenceId sequence, const tulle::Visible& visible,
                     Visit&& visit) const noexcept {
    rows.for_each_span(layer, sequence, visible, visit);
  }
#ifndef TULLE_BAD
  bool truncate(tulle::SequenceId sequence, tulle::Position length) noexcept { return rows.truncate(sequence, length); }
#endif
  bool fork(tulle::SequenceId from, tulle::SequenceId to) { return rows.fork(from, to); }
  void release(tulle::SequenceId sequence) noexcept { rows.release(sequence); }
  void save(tulle::SequenceId sequence, std::vector<std::byte>& saved) const { rows.save(sequence, saved); }
  bool restore(tulle::SequenceId sequence, std::span<const std::byte> bytes) { return rows.restore(sequence, bytes); }
};

template <tulle::CacheLayout Cache>
tulle::Position room_of(const Cache& cache) {
  return cache.room(0);
}

tulle::Position ask(const Forgetful& cache) {
  return room_of(cache);
}

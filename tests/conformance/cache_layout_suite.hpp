// SPDX-License-Identifier: Apache-2.0
/// \file What every cache layout must do, checked against a map of rows.
///
/// A fixture names a layout: `Cache`, `make()`, `visible(position)` (the positions a query sees), `max_extension` (how
/// far one `extend` may go) and `rollback` (how far `truncate` must be able to go back).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <catch2/catch_all.hpp>
#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/half.hpp>
#include <tulle/core/rng.hpp>

namespace tulle::conformance {

/// Odd on purpose: rows of a head are no multiple of anything. The second layer has a window of its own.
inline const CacheShape small_shape({{3, 5}, {2, 7, {45}}});

/// One row of one layer as the model produced it.
struct RawRow {
  std::vector<float> key;
  std::vector<float> value;
};

/// Different for every layer, position and `salt` (which tells apart what was written when).
inline RawRow raw_row(const CacheShape& shape, std::size_t layer, Position position, std::uint64_t salt) {
  RawRow row;
  for (std::size_t i = 0; i < 2 * shape.layers[layer].row_elements(); ++i) {
    const double draw = uniform(salt, layer, position, static_cast<std::uint32_t>(i));
    (i % 2 == 0 ? row.key : row.value).push_back(static_cast<float>(8 * draw - 4));
  }
  return row;
}

/// What `Element` makes of a row of a head, by formulas of the tests' own.
inline void expected_head(std::span<const float> row, std::vector<float>& elements, float&) {
  elements.assign(row.begin(), row.end());
}
inline void expected_head(std::span<const float> row, std::vector<Half>& elements, float&) {
  for (const float x : row) elements.push_back(to_half(x));
}
inline void expected_head(std::span<const float> row, std::vector<std::int8_t>& elements, float& scale) {
  float largest = 0;
  for (const float x : row) largest = std::max(largest, std::abs(x));
  scale = largest / 127.0f;
  for (const float x : row) elements.push_back(static_cast<std::int8_t>(scale == 0 ? 0 : std::nearbyint(x / scale)));
}

template <class Element>
bool holds_head(std::span<const float> row, const Element* elements, const float* scale) {
  std::vector<Element> expected;
  float expected_scale = 0;
  expected_head(row, expected, expected_scale);
  if ((scale != nullptr) != std::is_same_v<Element, std::int8_t>) return false;
  if (scale != nullptr && *scale != expected_scale) return false;
  return std::memcmp(expected.data(), elements, row.size() * sizeof(Element)) == 0;
}

/// A sequence as a map: position -> one row a layer.
struct Reference {
  std::map<Position, std::vector<RawRow>> rows;
  Position reached = 0;   // end of the furthest position since it was last empty
  bool restored = false;  // no rollback is promised before what was saved
  Position length() const { return rows.empty() ? 0 : rows.rbegin()->first + 1; }
};

/// Appends the positions [length, end), which must fit, and remembers them.
template <class Cache>
void append_rows(Cache& cache, SequenceId sequence, Reference& reference, Position end, std::uint64_t salt) {
  const CacheShape& shape = cache.shape();
  for (Position position = reference.length(); position < end; ++position) {
    std::vector<RawRow>& layers = reference.rows[position];
    for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
      const RawRow& row = layers.emplace_back(raw_row(shape, layer, position, salt));
      cache.append(layer, sequence, position, row.key.data(), row.value.data());
    }
  }
  reference.reached = std::max(reference.reached, end);
}

/// Empty when a query at `position` sees exactly the visible positions, in order, cut by the rule, with the right rows;
/// else what is wrong.
template <class Fixture>
std::string span_fault(const typename Fixture::Cache& cache, SequenceId sequence, const Reference& reference,
                       Position position) {
  using Element = typename Fixture::Cache::Element;
  const CacheShape& shape = cache.shape();
  for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
    const auto& [kv_heads, head_dim, window] = shape.layers[layer];
    const Position own_begin = window.begin(position);
    std::vector<Position> visible = Fixture::visible(position);
    std::erase_if(visible, [&](Position at) { return at < own_begin; });
    const auto is_visible = [&](std::int64_t at) {
      return std::binary_search(visible.begin(), visible.end(), at, std::less<std::int64_t>());
    };
    std::vector<Position> seen;
    std::string fault;
    cache.for_each_span(layer, sequence, {own_begin, position + 1},
                        [&, heads = kv_heads, size = head_dim](const KeyValueSpan<Element>& span) {
                          const std::int64_t begin = span.begin;
                          const std::int64_t end = begin + static_cast<std::int64_t>(span.count);
                          if (span.count == 0) fault = "an empty span";
                          if (begin % attention_tile != 0 && is_visible(begin - 1))
                            fault = "a cut inside a tile before " + std::to_string(begin);
                          if (end % attention_tile != 0 && is_visible(end))
                            fault = "a cut inside a tile before " + std::to_string(end);
                          for (std::size_t i = 0; i < span.count; ++i) {
                            const Position at = span.begin + static_cast<Position>(i);
                            seen.push_back(at);
                            const auto found = reference.rows.find(at);
                            if (found == reference.rows.end()) {
                              fault = "position " + std::to_string(at) + " was never stored";
                              return;
                            }
                            const RawRow& row = found->second[layer];
                            for (std::size_t head = 0; head < heads; ++head) {
                              const auto part = [&](const std::vector<float>& all) {
                                return std::span(all).subspan(head * size, size);
                              };
                              const std::size_t at_element = head * span.head_stride + i * size;
                              const auto scale = [&](const float* scales) {
                                return scales ? scales + head * span.scale_stride + i : scales;
                              };
                              if (!holds_head(part(row.key), span.keys + at_element, scale(span.key_scales)) ||
                                  !holds_head(part(row.value), span.values + at_element, scale(span.value_scales))) {
                                fault = "position " + std::to_string(at) + " holds other numbers";
                              }
                            }
                          }
                        });
    if (fault.empty() && seen != visible) fault = "other positions than the visible ones";
    if (!fault.empty()) return "query at " + std::to_string(position) + ": " + fault;
  }
  return {};
}

/// Empty when queries that share a visit find what each of them finds alone: in every span, what its window holds.
template <class Fixture>
std::string shared_visit_fault(const typename Fixture::Cache& cache, SequenceId sequence, Position first,
                               Position queries) {
  using Element = typename Fixture::Cache::Element;
  const CacheShape& shape = cache.shape();
  for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
    const Window own = shape.layers[layer].window;
    for (Position query = first; query < first + queries; ++query) {
      std::vector<const Element*> alone, together;
      const auto gather = [&](std::vector<const Element*>& rows, const KeyValueSpan<Element>& span) {
        for (std::size_t i = 0; i < span.count; ++i) {
          const Position at = span.begin + static_cast<Position>(i);
          if (at > query || at < own.begin(query) || at < span.window.begin(query)) continue;
          rows.push_back(span.keys + i * shape.layers[layer].head_dim);
        }
      };
      cache.for_each_span(layer, sequence, {own.begin(query), query + 1},
                          [&](const KeyValueSpan<Element>& span) { gather(alone, span); });
      cache.for_each_span(layer, sequence, {own.begin(first), first + queries, queries},
                          [&](const KeyValueSpan<Element>& span) { gather(together, span); });
      // Sinks may be found in either of their two places.
      if (alone.size() != together.size()) return "query at " + std::to_string(query) + " of a shared visit";
    }
  }
  return {};
}

template <class Fixture>
void require_spans(const typename Fixture::Cache& cache, SequenceId sequence, const Reference& reference) {
  REQUIRE(cache.length(sequence) == reference.length());
  if (reference.length() == 0) return;
  REQUIRE(span_fault<Fixture>(cache, sequence, reference, reference.length() - 1) == "");
}

/// Drives several sequences with random operations; the map must agree after each.
template <class Fixture>
void random_operations(std::uint64_t seed, std::uint32_t steps) {
  typename Fixture::Cache cache = Fixture::make();
  std::vector<Reference> references(cache.sequences());
  std::size_t refused_extensions = 0;
  for (std::uint32_t step = 0; step < steps; ++step) {
    const auto draw = [&](std::uint32_t stream, std::size_t below) {
      return static_cast<std::uint32_t>(uniform(seed, 0, step, stream) * static_cast<double>(below));
    };
    const SequenceId sequence = draw(0, cache.sequences());
    Reference& reference = references[sequence];
    const Position length = reference.length();
    CAPTURE(seed, step, sequence, length);
    const std::uint32_t operation = draw(1, 100);
    if (operation < 55) {
      const Position end = length + 1 + draw(2, operation < 30 ? 3 : Fixture::max_extension);
      const Position room = cache.room(sequence);
      const bool extended = cache.extend(sequence, end);
      REQUIRE(extended == (end - length <= room));
      if (extended) {
        append_rows(cache, sequence, reference, end, step);
        for (Position position = length; position < end; position += 1 + draw(3, 5)) {
          REQUIRE(span_fault<Fixture>(cache, sequence, reference, position) == "");
        }
      } else {
        ++refused_extensions;
      }
    } else if (operation < 75) {
      const Position shorter = length - std::min(length, draw(2, operation < 65 ? 4 : 60));
      const bool promised = shorter == 0 || shorter == length ||
                            (reference.reached - shorter <= Fixture::rollback && !reference.restored);
      const bool truncated = cache.truncate(sequence, shorter);
      if (promised) REQUIRE(truncated);
      if (truncated) {
        reference.rows.erase(reference.rows.lower_bound(shorter), reference.rows.end());
        if (shorter == 0) reference = Reference();
        REQUIRE(cache.length(sequence) == shorter);
        continue;  // what is visible next begins later than what the last row saw
      }
    } else if (operation < 83) {
      const SequenceId other = draw(2, cache.sequences());
      REQUIRE(cache.fork(sequence, other));
      references[other] = Reference(reference);
    } else if (operation < 90) {
      cache.release(sequence);
      reference = Reference();
    } else {
      const SequenceId other = draw(2, cache.sequences());
      std::vector<std::byte> saved;
      cache.save(sequence, saved);
      if (references[other].length() != 0) {
        REQUIRE_FALSE(cache.restore(other, saved));
        cache.release(other);
        references[other] = Reference();
      }
      if (other != sequence && cache.restore(other, saved)) {
        references[other] = reference;
        references[other].restored = true;
      }
    }
    for (SequenceId each = 0; each < cache.sequences(); ++each) {
      if (cache.length(each) != references[each].length()) FAIL("the length of sequence " << each << " changed");
    }
  }
  CHECK(refused_extensions < steps / 2);  // else little was tested
  for (SequenceId each = 0; each < cache.sequences(); ++each) {
    const Position length = references[each].length();
    if (length != 0 && cache.extend(each, length + 1)) append_rows(cache, each, references[each], length + 1, steps);
    if (references[each].length() > length) require_spans<Fixture>(cache, each, references[each]);
  }
}

template <class Fixture>
void refused_extension_changes_nothing() {
  typename Fixture::Cache cache = Fixture::make();
  Reference reference;
  REQUIRE(cache.extend(0, 1));
  append_rows(cache, 0, reference, 1, 1);
  const std::size_t size_bytes = cache.size_bytes();
  const bool endless = cache.capacity() == std::numeric_limits<Position>::max();
  REQUIRE_FALSE(cache.extend(0, endless ? 1 + Fixture::max_extension + 1 : cache.capacity() + 1));
  CHECK(cache.size_bytes() == size_bytes);
  require_spans<Fixture>(cache, 0, reference);
  CHECK_FALSE(cache.extend(0, 1 + cache.room(0) + 1));
  REQUIRE(cache.extend(0, 1));  // no further than it is
  REQUIRE(cache.extend(0, 0));
  require_spans<Fixture>(cache, 0, reference);
}

/// Two continuations of one beginning, interleaved, from a length inside and at the end of a tile.
template <class Fixture>
void forks_are_independent() {
  for (const Position shared : {Position{1}, Position{37}, attention_tile, Position{attention_tile + 1}}) {
    typename Fixture::Cache cache = Fixture::make();
    std::array<Reference, 3> references;
    while (references[0].length() < shared) {
      const Position end = std::min(shared, references[0].length() + Position{Fixture::max_extension});
      REQUIRE(cache.extend(0, end));
      append_rows(cache, 0, references[0], end, 1);
    }
    REQUIRE(cache.fork(0, 1));
    REQUIRE(cache.fork(1, 2));
    references[1] = references[2] = references[0];
    for (Position step = 1; step < 30; ++step) {
      for (SequenceId each = 0; each < 3; ++each) {
        REQUIRE(cache.extend(each, shared + step));
        append_rows(cache, each, references[each], shared + step, 100 + each);
      }
      for (SequenceId each = 0; each < 3; ++each) require_spans<Fixture>(cache, each, references[each]);
    }
    cache.release(1);
    references[1] = Reference();
    REQUIRE(cache.truncate(2, shared));
    references[2].rows.erase(references[2].rows.lower_bound(shared), references[2].rows.end());
    REQUIRE(cache.extend(2, shared + 1));
    append_rows(cache, 2, references[2], shared + 1, 200);
    for (SequenceId each = 0; each < 3; ++each) require_spans<Fixture>(cache, each, references[each]);
    REQUIRE(cache.fork(1, 0));  // of an empty sequence
    CHECK(cache.length(0) == 0);
  }
}

/// Speculation: from every length, chunks of every size, each rolled back to every length inside it.
template <class Fixture>
void chunks_and_rollbacks(Position until) {
  typename Fixture::Cache cache = Fixture::make();
  Reference reference;
  std::uint64_t salt = 0;
  for (Position chunk = 1; reference.length() < until; chunk = chunk % std::min(until, Fixture::max_extension) + 1) {
    const Position length = reference.length();
    const Position end = std::min(until, length + chunk);
    const Position kept = length + (end - length) / 2;  // of the first try
    REQUIRE(cache.extend(0, end));
    append_rows(cache, 0, reference, end, ++salt);
    for (Position position = length; position < end; ++position) {
      REQUIRE(span_fault<Fixture>(cache, 0, reference, position) == "");
    }
    REQUIRE(shared_visit_fault<Fixture>(cache, 0, length, std::min(end - length, Position{16})) == "");
    REQUIRE(cache.truncate(0, kept));
    reference.rows.erase(reference.rows.lower_bound(kept), reference.rows.end());
    REQUIRE(cache.extend(0, end));
    append_rows(cache, 0, reference, end, ++salt);
    for (Position position = kept; position < end; ++position) {
      REQUIRE(span_fault<Fixture>(cache, 0, reference, position) == "");
    }
  }
}

/// A saved state restores to the same rows and goes on; what is not exactly a saved state is refused.
template <class Fixture>
void saved_states_restore(Position length) {
  typename Fixture::Cache cache = Fixture::make();
  Reference reference;
  while (reference.length() < length) {
    const Position end = std::min(length, reference.length() + Position{Fixture::max_extension});
    REQUIRE(cache.extend(0, end));
    append_rows(cache, 0, reference, end, 1);
  }
  std::vector<std::byte> saved(3, std::byte{7});  // save appends
  cache.save(0, saved);
  REQUIRE(std::count(saved.begin(), saved.begin() + 3, std::byte{7}) == 3);
  saved.erase(saved.begin(), saved.begin() + 3);

  if (length != 0) REQUIRE_FALSE(cache.restore(0, saved));  // not empty
  require_spans<Fixture>(cache, 0, reference);

  typename Fixture::Cache other = Fixture::make();
  for (std::size_t size = 0; size < saved.size(); size += 1 + size / 16) {
    REQUIRE_FALSE(other.restore(1, std::span(saved).first(size)));
  }
  std::vector<std::byte> longer = saved;
  longer.push_back(std::byte{0});
  REQUIRE_FALSE(other.restore(1, longer));
  for (std::size_t at = 0; at < 44; ++at) {  // the header and the end of the windows: no changed bit may be believed
    for (const int bit : {0, 3, 7}) {
      if (at >= 40 && bit == 0) continue;  // one position more may change nothing
      std::vector<std::byte> broken = saved;
      broken[at] ^= static_cast<std::byte>(1 << bit);
      REQUIRE_FALSE(other.restore(1, broken));
      REQUIRE(other.length(1) == 0);
    }
  }

  REQUIRE(other.restore(1, saved));
  require_spans<Fixture>(other, 1, reference);
  std::vector<std::byte> again;
  other.save(1, again);
  CHECK(again == saved);
  if (length != 0) {  // the last row is run again, for its logits
    REQUIRE(other.truncate(1, length - 1));
    reference.rows.erase(length - 1);
    REQUIRE(other.extend(1, length));
    append_rows(other, 1, reference, length, 2);
    require_spans<Fixture>(other, 1, reference);
  }
  for (Position end = length + 1; end < length + 20; ++end) {
    REQUIRE(other.extend(1, end));
    append_rows(other, 1, reference, end, 3);
    require_spans<Fixture>(other, 1, reference);
  }
}

/// Threads append to different rows of one cache while others read rows that are there.
template <class Fixture>
void appends_run_concurrently() {
  typename Fixture::Cache cache = Fixture::make();
  Reference reference;
  const Position half = std::min(Position{Fixture::max_extension}, Position{40});
  REQUIRE(cache.extend(0, half));
  append_rows(cache, 0, reference, half, 1);
  const Reference before = reference;
  REQUIRE(cache.extend(0, 2 * half));
  const CacheShape& shape = cache.shape();
  for (Position position = half; position < 2 * half; ++position) {
    for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
      reference.rows[position].push_back(raw_row(shape, layer, position, 2));
    }
  }
  std::string fault;
  {
    std::vector<std::thread> threads;
    for (const Position parity : {0u, 1u}) {
      threads.emplace_back([&, parity] {
        for (Position position = half + parity; position < 2 * half; position += 2) {
          for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
            const RawRow& row = reference.rows.at(position)[layer];
            cache.append(layer, 0, position, row.key.data(), row.value.data());
          }
        }
      });
    }
    threads.emplace_back([&] { fault = span_fault<Fixture>(cache, 0, before, half - 1); });
    for (std::thread& thread : threads) thread.join();
  }
  REQUIRE(fault == "");
  require_spans<Fixture>(cache, 0, reference);
}

}  // namespace tulle::conformance

// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/kept_weights.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <catch2/catch_all.hpp>

#include <tulle/core/content_hash.hpp>
#include <tulle/kernel/any_kernel.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

namespace {

constexpr std::size_t rows = 33, columns = 2080;  // more than a panel, and than a span of ELL

/// Bytes and the slack behind them, aligned to 64, at the end of pages that nothing may be read beyond.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::span<const std::byte> bytes)
      : pages_(round_up(bytes.size() + 64, page)),
        memory_(static_cast<std::byte*>(
            ::mmap(nullptr, pages_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
        bytes_(memory_ + pages_ - round_up(bytes.size() + 64, std::size_t{64}), bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
    ::mprotect(memory_ + pages_, page, PROT_NONE);
  }
  GuardedBytes(GuardedBytes&& other) noexcept
      : pages_(other.pages_), memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
  ~GuardedBytes() {
    if (memory_ != nullptr) ::munmap(memory_, pages_ + page);
  }
  std::span<std::byte> span() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t page = 65536;  // or smaller
  std::size_t pages_;
  std::byte* memory_;
  std::span<std::byte> bytes_;
};

/// In memory of its own, as a file would hold it.
struct Kept {
  explicit Kept(const AnyKernel::Weights& weights) : matrix(kept_form<AnyKernel>(weights).value()) {
    for (auto& array : matrix.arrays) array = memory.emplace_back(array).span();
  }
  KeptMatrix matrix;
  std::vector<GuardedBytes> memory;
};

testing::EncodedMatrix weights_for_all() {
  return testing::pruned(testing::float_matrix(rows, columns, testing::random_floats(rows * columns, 3)),
                         {.kept = 1, .group = 4, .uneven = true}, 5);
}

constexpr std::size_t batch = 33;

std::vector<float> product(const AnyKernel::Weights& weights, std::size_t inputs) {
  static const testing::InputRows x(batch, columns, testing::random_floats(batch * columns, 7));
  AnyKernel::Input input(inputs, columns);
  std::vector<float> y(inputs * rows);
  AnyKernel::start(weights, inputs, input);
  AnyKernel::prepare(weights, x.first(inputs), input, {0, inputs});
  AnyKernel::multiply(weights, input, {y.data(), inputs, rows}, {0, rows});
  return y;
}

}  // namespace

TEST_CASE("weights over kept memory are the packed ones", "[kernel][kept_weights][no_simd]") {
  const auto matrix = weights_for_all();
  for (const std::string_view kernel : kernel_choices) {
    CAPTURE(kernel);
    const auto packed = AnyKernel::pack(matrix.rows, {.kernel = kernel});
    const Kept kept(packed);
    const AnyKernel::Weights weights = weights_over<AnyKernel>(kept.matrix).value();
    CHECK(weights.kernel_name() == packed.kernel_name());
    CHECK(weights.size_bytes() == packed.size_bytes());
    for (const std::size_t inputs : {std::size_t{1}, batch}) CHECK(product(weights, inputs) == product(packed, inputs));
  }
  auto other = Kept(AnyKernel::pack(matrix.rows, {.kernel = "dense_i8"}));
  other.matrix.kernel = "dense_i9";
  CHECK_FALSE(weights_over<AnyKernel>(other.matrix));
}

TEST_CASE("weights over damaged memory are refused or stay inside it", "[kernel][kept_weights][no_simd]") {
  const auto matrix = weights_for_all();
  testing::Numbers numbers(11);
  std::size_t refused = 0;
  for (const std::string_view kernel : kernel_choices) {
    CAPTURE(kernel);
    const auto packed = AnyKernel::pack(matrix.rows, {.kernel = kernel});
    for (int round = 0; round < 30; ++round) {
      Kept kept(packed);
      switch (round % 3) {
        case 0: {
          auto& number = kept.matrix.numbers[numbers.below(kept.matrix.numbers.size())];
          number = numbers.below(2) == 0 ? number + 1 - numbers.below(3) : std::uint64_t{1} << numbers.below(64);
          break;
        }
        case 1: {
          auto& array = kept.matrix.arrays[numbers.below(kept.matrix.arrays.size())];
          array = array.first(numbers.below(array.size() + 1));
          break;
        }
        default:
          for (std::size_t bytes = 1 + numbers.below(64); bytes > 0; --bytes) {
            const auto array = kept.memory[numbers.below(kept.memory.size())].span();
            if (!array.empty()) array[numbers.below(array.size())] = static_cast<std::byte>(numbers.bits());
          }
      }
      const auto weights = weights_over<AnyKernel>(kept.matrix);
      refused += !weights;
      if (!weights || weights->rows() != rows || weights->columns() != columns) continue;
      (void)product(*weights, 1);
      (void)product(*weights, batch);
      std::vector<float> row(columns);
      for (std::size_t i = 0; i < rows; ++i) AnyKernel::unpack_row(*weights, i, row.data());
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("what was kept is packed again when a layout changes", "[kernel][kept_weights][no_simd]") {
  // Where this fails, a kernel lays its weights out in another way: raise `kept_weights_version`, write the new hash.
  const testing::ActiveSet active(detail::find_instruction_set("scalar"));
  const auto matrix = weights_for_all();
  std::uint64_t hash = kept_weights_version;
  for (const std::string_view kernel : kernel_choices) {
    const auto packed = AnyKernel::pack(matrix.rows, {.kernel = kernel});
    const KeptMatrix kept = kept_form<AnyKernel>(packed).value();
    hash = content_hash(std::as_bytes(std::span(kept.numbers)), hash);
    for (const auto& array : kept.arrays) hash = content_hash(array, hash);
  }
  CHECK(hash == 0x435840b924609ca8);
}

// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/i8_blocks.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

template <std::size_t BlockBytes>
struct Layout {
  static constexpr std::size_t block_bytes = BlockBytes;
  struct Cursor {
    const std::uint8_t* at;
  };
};

}  // namespace

TEST_CASE("a panel lies behind those before it, or where its offset says", "[kernel][i8_blocks]") {
  const std::array<std::uint8_t, 100> bytes{};
  const detail::I8Panels<Layout<10>> equal{bytes.data(), nullptr, 30};
  CHECK(equal[0].at == bytes.data());
  CHECK(equal[2].at == bytes.data() + 60);
  const detail::I8Panels<Layout<10>> later{bytes.data(), nullptr, 30, 4};
  CHECK(later[4].at == bytes.data());
  CHECK(later[5].at == bytes.data() + 30);
  const std::array<std::size_t, 3> offsets{0, 7, 64};
  const detail::I8Panels<Layout<0>> uneven{bytes.data(), offsets.data(), 0};
  CHECK(uneven[1].at == bytes.data() + 7);
  CHECK(uneven[2].at == bytes.data() + 64);
}

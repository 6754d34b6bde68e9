// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/schedule/prefetch.hpp>

#include <catch2/catch_all.hpp>
#include <cstring>
#include <vector>

using namespace tulle;

TEST_CASE("memory that does not exist may be asked for, and none changes", "[kernel][prefetch]") {
  std::vector<unsigned char> bytes(8192, 7);
  for (std::size_t at = 0; at < bytes.size(); at += 32) {
    detail::prefetch_stream<320>(bytes.data() + at);
    detail::prefetch_stream<64, false>(bytes.data() + at);
  }
  detail::prefetch_stream<4096>(nullptr);
  detail::prefetch_stream<4096, false>(reinterpret_cast<const void*>(~std::uintptr_t{0} - 64));
  CHECK(bytes == std::vector<unsigned char>(8192, 7));
}

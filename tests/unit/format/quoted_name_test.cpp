// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/quoted_name.hpp>

#include <catch2/catch_all.hpp>
#include <string>

using tulle::detail::quoted_name;

TEST_CASE("names are quoted, printable and short", "[format][quoted_name]") {
  CHECK(quoted_name("blk.0.w") == "\"blk.0.w\"");
  CHECK(quoted_name("") == "\"\"");
  CHECK(quoted_name("a\nb\x01\x7F\xFF") == "\"a?b???\"");
  CHECK(quoted_name(std::string(120, 'x')) == '"' + std::string(120, 'x') + '"');
  CHECK(quoted_name(std::string(121, 'x')) == '"' + std::string(120, 'x') + "...\"");
}

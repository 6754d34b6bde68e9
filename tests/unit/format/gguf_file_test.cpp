// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_file.hpp>

#include <catch2/catch_all.hpp>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

TEST_CASE("an array is decoded from the bytes it views", "[format][gguf_file]") {
  Bytes words, numbers;
  GgufBuilder::put_string(words, "one");
  GgufBuilder::put_string(words, "");
  put<std::int64_t>(numbers, -5);
  GgufFile file;
  file.arrays.emplace("words", GgufArray{GgufType::string, 2, words});
  file.arrays.emplace("numbers", GgufArray{GgufType::i64, 1, numbers});
  CHECK(file.strings("words") == std::vector<std::string>{"one", ""});
  CHECK(file.integers("numbers") == std::vector<std::int64_t>{-5});
  CHECK(file.floats("absent").empty());
  CHECK(error_of([&] { file.strings("numbers"); }) == ErrorCode::malformed);
  CHECK(error_of([&] { file.floats("words"); }) == ErrorCode::malformed);
}

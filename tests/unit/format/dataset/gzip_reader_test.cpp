// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/dataset/gzip_reader.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <unit/format/dataset/stored_gzip.hpp>
#include <unit/format/file_builder.hpp>
#include <vector>

using namespace tulle;
using test::stored_gzip;

namespace {

/// Reads `step` bytes at a time.
std::string unpack(std::string_view packed, std::size_t step = 7) {
  GzipReader reader(packed, "file.gz");
  std::string text;
  std::vector<char> block(step);
  while (true) {
    const std::size_t count = reader.read(block);
    text.append(block.data(), count);
    if (count < step) return text;
  }
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

// Python: gzip.compress(b'{"text": "one"}\n' * 50, mtime=0)
constexpr std::string_view compressed(
    "\x1F\x8B\x08\x00\x00\x00\x00\x00\x02\x03\xAB\x56\x2A\x49\xAD\x28\x51\xB2\x52\x50\xCA\xCF\x4B\x55"
    "\xAA\xE5\xAA\x1E\xE5\x8F\xF2\x47\xF9\x70\x3E\x00\x0B\xCC\xBA\x74\x20\x03\x00\x00",
    44);

}  // namespace

TEST_CASE("a gzip file is unpacked, whatever the size of the blocks", "[format][dataset]") {
  const std::string expected = repeated("{\"text\": \"one\"}\n", 50);
  for (const std::size_t step : {1, 7, 800, 801, 5000}) CHECK(unpack(compressed, step) == expected);
  const std::string long_text = repeated("0123456789abcdef\n", 20000);
  CHECK(unpack(stored_gzip(long_text), 4096) == long_text);
  CHECK(unpack(stored_gzip("")).empty());
}

TEST_CASE("members follow each other, and zero bytes the last one", "[format][dataset]") {
  CHECK(unpack(stored_gzip("one") + stored_gzip("") + stored_gzip("two")) == "onetwo");
  CHECK(unpack(stored_gzip("one") + std::string(512, '\0')) == "one");
}

TEST_CASE("a damaged gzip file is malformed", "[format][dataset]") {
  const std::string whole(compressed);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK(test::error_of([&] { (void)unpack(whole.substr(0, length)); }) == ErrorCode::malformed);
  }
  std::string wrong_sum = stored_gzip("text");
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  CHECK(test::error_of([&] { (void)unpack(wrong_sum); }) == ErrorCode::malformed);
  CHECK(test::error_of([&] { (void)unpack("no gzip file at all"); }) == ErrorCode::malformed);
  CHECK(test::error_of([&] { (void)unpack(stored_gzip("one") + "rest"); }) == ErrorCode::malformed);
}

// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/dataset/dataset_input.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <unit/format/dataset/stored_gzip.hpp>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using test::stored_gzip;
using test::TemporaryFolder;

namespace {

std::string text_of(const std::string& path, std::uint64_t max_bytes = 1 << 24) {
  DatasetInput input(path, max_bytes);
  std::string text;
  for (std::string_view block = input.next(); !block.empty(); block = input.next()) text += block;
  CHECK(input.next().empty());
  return text;
}

}  // namespace

TEST_CASE("the text of a file comes once, packed or not", "[format][dataset]") {
  const TemporaryFolder folder;
  const std::string text = std::string(3 << 20, 'a') + "end\n";
  CHECK(text_of(folder.write("a.txt", text)) == text);
  CHECK(text_of(folder.write("a.txt.gz", stored_gzip(text))) == text);
  CHECK(text_of(folder.write("named_otherwise", stored_gzip(text))) == text);
  CHECK(text_of(folder.write("empty", "")).empty());
  CHECK(text_of(folder.write("empty.gz", stored_gzip(""))).empty());
}

TEST_CASE("a byte order mark is no text", "[format][dataset]") {
  const TemporaryFolder folder;
  CHECK(text_of(folder.write("a", "\xEF\xBB\xBFtext")) == "text");
  CHECK(text_of(folder.write("a.gz", stored_gzip("\xEF\xBB\xBFtext"))) == "text");
  CHECK(text_of(folder.write("b", "\xEF\xBB\xBF")).empty());
  CHECK(test::error_of([&] { (void)text_of(folder.write("c", "\xFF\xFEt\0e\0")); }) == ErrorCode::unsupported);
}

TEST_CASE("Parquet is refused with a way to convert it", "[format][dataset]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(text_of(folder.write("a", "PAR1...")), Catch::Matchers::ContainsSubstring("read_parquet"));
}

TEST_CASE("a file that unpacks to too much is refused before it is held", "[format][dataset]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.gz", stored_gzip(std::string(1000, 'a')));
  CHECK(text_of(path, 1000).size() == 1000);
  CHECK(test::error_of([&] { (void)text_of(path, 999); }) == ErrorCode::capacity);
  CHECK(text_of(folder.write("a", std::string(1000, 'a')), 1).size() == 1000);  // not packed: no bomb
}

TEST_CASE("a missing file and a folder are errors", "[format][dataset]") {
  const TemporaryFolder folder;
  CHECK(test::error_of([&] { (void)text_of(folder.path("none")); }) == ErrorCode::not_found);
  CHECK(test::error_of([&] { (void)text_of(folder.path()); }) == ErrorCode::io);
  CHECK(test::error_of([&] { (void)text_of(folder.write("text.gz", "not packed")); }) == ErrorCode::malformed);
}

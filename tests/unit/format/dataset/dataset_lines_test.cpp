// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/dataset/dataset_lines.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <unit/format/dataset/stored_gzip.hpp>
#include <unit/format/file_builder.hpp>
#include <vector>

using namespace tulle;
using test::stored_gzip;
using test::TemporaryFolder;

namespace {

std::vector<std::string> lines_of(const std::string& path) {
  DatasetInput input(path, std::uint64_t{1} << 30);
  DatasetLines lines(input);
  std::vector<std::string> all;
  while (const auto line = lines.next()) {
    all.emplace_back(*line);
    CHECK(lines.number() == all.size());
  }
  CHECK_FALSE(lines.next());
  return all;
}

}  // namespace

TEST_CASE("lines end at line feeds, with a carriage return or not", "[format][dataset]") {
  const TemporaryFolder folder;
  const std::vector<std::string> expected{"one", "", "two\rthree", "four"};
  for (const std::string text : {"one\n\ntwo\rthree\r\nfour", "one\r\n\r\ntwo\rthree\nfour\n"}) {
    CHECK(lines_of(folder.write("a", text)) == expected);
    CHECK(lines_of(folder.write("a.gz", stored_gzip(text))) == expected);
  }
  CHECK(lines_of(folder.write("b", "")).empty());
  CHECK(lines_of(folder.write("b", "\n")) == std::vector<std::string>{""});
}

TEST_CASE("a line may lie in several blocks", "[format][dataset]") {
  const TemporaryFolder folder;
  const std::string line((std::size_t{5} << 19) - 1, 'a');
  CHECK(lines_of(folder.write("a.gz", stored_gzip(line + "\r\nb\n" + line))) ==
        std::vector<std::string>{line, "b", line});
}

TEST_CASE("a line of more than 64 MiB is refused", "[format][dataset]") {
  const TemporaryFolder folder;
  const std::string line(max_row_bytes + 1, 'a');
  CHECK(test::error_of([&] { (void)lines_of(folder.write("a", "b\n" + line)); }) == ErrorCode::capacity);
}

TEST_CASE("a message names the file and the line", "[format][dataset]") {
  const TemporaryFolder folder;
  DatasetInput input(folder.write("a", "one\ntwo\n"), 100);
  DatasetLines lines(input);
  (void)lines.next();
  (void)lines.next();
  CHECK(lines.where() == folder.path("a") + ", line 2");
}

// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/dataset/csv_reader.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <unit/format/dataset/stored_gzip.hpp>
#include <unit/format/file_builder.hpp>
#include <vector>

using namespace tulle;
using test::TemporaryFolder;

namespace {

using Record = std::vector<std::string>;

std::vector<Record> records_of(const std::string& path) {
  DatasetInput input(path, std::uint64_t{1} << 30);
  CsvReader reader(input);
  std::vector<Record> all;
  for (Record record; reader.next(record);) all.push_back(record);
  return all;
}

std::vector<Record> records(std::string_view text) {
  const TemporaryFolder folder;
  return records_of(folder.write("a.csv", text));
}

}  // namespace

TEST_CASE("fields are parted by commas and records by line ends", "[format][dataset]") {
  const std::vector<Record> expected{{"a", "b"}, {"1", ""}, {"", "2"}};
  for (const char* text : {"a,b\n1,\n,2\n", "a,b\r\n1,\r\n,2", "a,b\r1,\r,2\r"}) CHECK(records(text) == expected);
  CHECK(records("").empty());
  CHECK(records("a\n\nb") == std::vector<Record>{{"a"}, {""}, {"b"}});
  CHECK(records("a,") == std::vector<Record>{{"a", ""}});
  CHECK(records("\xEF\xBB\xBF"
                "a\n") == std::vector<Record>{{"a"}});
}

TEST_CASE("a record has at most 65536 fields", "[format][dataset]") {
  CHECK(records(std::string(65535, ',')).at(0).size() == 65536);
  CHECK(test::error_of([] { (void)records(std::string(65536, ',')); }) == ErrorCode::capacity);
}

TEST_CASE("a field in quotes holds commas, quotes and line ends as they are", "[format][dataset]") {
  CHECK(records("\"a,b\",\"say \"\"hi\"\"\"\n\"two\r\nlines\",\"\"\r\n") ==
        std::vector<Record>{{"a,b", "say \"hi\""}, {"two\r\nlines", ""}});
  CHECK(records("\"\"\"\"") == std::vector<Record>{{"\""}});
  CHECK(records(" a , \tb") == std::vector<Record>{{" a ", " \tb"}});
}

TEST_CASE("a record may lie in several blocks", "[format][dataset]") {
  const TemporaryFolder folder;
  const std::string field((std::size_t{3} << 20) + 5, 'a');
  CHECK(records_of(folder.write("a.csv.gz", test::stored_gzip("\"" + field + "\"\"\"," + field + "\nb"))) ==
        std::vector<Record>{{field + "\"", field}, {"b"}});
}

TEST_CASE("misplaced quotes name the line where their record begins", "[format][dataset]") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(records("a\n\"two\nlines\"\nb\"c\n"), ContainsSubstring("line 4") && ContainsSubstring("quote"));
  CHECK_THROWS_WITH(records("a\n\"b\"c\n"), ContainsSubstring("line 2"));
  CHECK_THROWS_WITH(records("a\n\"b\n\n\n"), ContainsSubstring("line 2") && ContainsSubstring("not closed"));
  CHECK(test::error_of([] { (void)records("\""); }) == ErrorCode::malformed);
}

TEST_CASE("a record of more than 64 MiB is refused", "[format][dataset]") {
  CHECK(test::error_of([] { (void)records("\"" + std::string(max_row_bytes + 1, 'a')); }) == ErrorCode::capacity);
}

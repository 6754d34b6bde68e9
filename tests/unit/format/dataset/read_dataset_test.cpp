// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/dataset/read_dataset.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <unit/format/dataset/stored_gzip.hpp>
#include <unit/format/file_builder.hpp>
#include <vector>

using namespace tulle;
using Catch::Matchers::ContainsSubstring;
using test::TemporaryFolder;
using Texts = std::vector<std::string>;

namespace {

Texts texts(const std::string& path, const DatasetOptions& options = {}) {
  Texts all;
  for (const DatasetRow& row : read_dataset(path, options)) all.push_back(row.text);
  return all;
}

/// Of a file of that name and content.
Texts texts_of(std::string_view name, std::string_view content, const DatasetOptions& options = {}) {
  const TemporaryFolder folder;
  return texts(folder.write(name, content), options);
}

std::optional<ErrorCode> refusal(std::string_view name, std::string_view content, const DatasetOptions& options = {}) {
  return test::error_of([&] { (void)texts_of(name, content, options); });
}

constexpr std::string_view rows_json = R"([{"q": "1+1?", "a": "2"}, {"q": "2+2?", "a": "4"}])";
constexpr std::string_view rows_jsonl = "{\"q\": \"1+1?\", \"a\": \"2\"}\r\n\n  \n{\"q\": \"2+2?\", \"a\": \"4\"}";
constexpr std::string_view rows_csv = "q,a\r\n1+1?,2\r\n\r\n\"2+2?\",4\r\n";

}  // namespace

TEST_CASE("the name of a file decides its format", "[format][dataset]") {
  CHECK(dataset_format("a/b.TXT") == DatasetFormat::text);
  CHECK(dataset_format("wiki.test.raw") == DatasetFormat::text);
  CHECK(dataset_format("a.jsonl.gz") == DatasetFormat::json_lines);
  CHECK(dataset_format("a.json") == DatasetFormat::json);
  CHECK(dataset_format("a.csv.GZ") == DatasetFormat::csv);
  CHECK(is_stream("a.txt.gz"));
  CHECK_FALSE(is_stream("a.jsonl"));
  for (const char* name : {"a", "a.arrow", "a.parquet", "a.gz", "txt"}) {
    CHECK(test::error_of([&] { (void)dataset_format(name); }) == ErrorCode::unsupported);
  }
  CHECK_THROWS_WITH(dataset_format("a.parquet"), ContainsSubstring("to_json"));
}

TEST_CASE("the same rows come out of every format", "[format][dataset]") {
  const DatasetOptions both{.columns = {"q", "a"}};
  const Texts expected{"1+1?2", "2+2?4"};
  CHECK(texts_of("a.json", rows_json, both) == expected);
  CHECK(texts_of("a.jsonl", rows_jsonl, both) == expected);
  CHECK(texts_of("a.csv", rows_csv, both) == expected);
  CHECK(texts_of("a.jsonl.gz", test::stored_gzip(rows_jsonl), both) == expected);
  CHECK(texts_of("a.csv.gz", test::stored_gzip(rows_csv), both) == expected);
}

TEST_CASE("only the first rows are read, and rows without text do not count", "[format][dataset]") {
  DatasetOptions one{.columns = {"q"}, .max_rows = 1};
  CHECK(texts_of("a.json", rows_json, one) == Texts{"1+1?"});
  CHECK(texts_of("a.csv", rows_csv, one) == Texts{"1+1?"});
  CHECK(texts_of("a.jsonl", "{\"q\": \"\"}\n{\"q\": \"b\"}\nbroken", one) == Texts{"b"});
  CHECK(texts_of("a.txt", "\none\n\ntwo\n", {.max_rows = 2}) == Texts{"one", "two"});
}

TEST_CASE("a malformed row names its line", "[format][dataset]") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(texts_of("a.jsonl", "{\"text\": \"a\"}\n\n{\"text\": "), ContainsSubstring("line 3"));
  CHECK_THROWS_WITH(texts_of("a.jsonl", "{\"text\": \"a\"}\n[1]"), ContainsSubstring("line 2"));
  CHECK_THROWS_WITH(texts_of("a.jsonl", "{\"text\": \"a\"}\n{\"b\": \"c\"}"),
                    ContainsSubstring("line 2") && ContainsSubstring("\"b\""));
  CHECK_THROWS_WITH(texts_of("a.jsonl", "{\"text\": \"a\"}\n{\"text\": 1}"), ContainsSubstring("line 2"));
  CHECK_THROWS_WITH(texts_of("a.json", R"([{"text": "a"}, {"text": 1}])"), ContainsSubstring("row 2"));
  CHECK_THROWS_WITH(texts_of("a.csv", "text,b\na,b\nc\n"),
                    ContainsSubstring("line 3") && ContainsSubstring("1 fields"));
  CHECK_THROWS_WITH(texts_of("a.csv", "text\n\"a\nb\"\n\xFF\n"), ContainsSubstring("line 4"));
  CHECK_THROWS_WITH(texts_of("a.txt", "a\nb\xFF\n"), ContainsSubstring("line 2"));
  CHECK(refusal("a.json", "[") == ErrorCode::malformed);
  CHECK(refusal("a.json", "{}") == ErrorCode::malformed);
  CHECK(refusal("a.json", "[1]") == ErrorCode::malformed);
  CHECK(refusal("a.csv", "a,a\n1,2\n") == ErrorCode::malformed);
  CHECK(refusal("a.jsonl", "{\"text\": \"\xFF\"}") == ErrorCode::malformed);
}

TEST_CASE("a dataset without text is an error", "[format][dataset]") {
  for (const auto& [name, content] : std::vector<std::pair<const char*, const char*>>{{"a.txt", ""},
                                                                                      {"a.txt", "\n\n"},
                                                                                      {"a.jsonl", ""},
                                                                                      {"a.jsonl", "{\"text\": \"\"}"},
                                                                                      {"a.json", "[]"},
                                                                                      {"a.csv", ""},
                                                                                      {"a.csv", "text\n"}}) {
    CAPTURE(name, content);
    CHECK(refusal(name, content) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("a packed dataset is read only as far as it is needed", "[format][dataset]") {
  std::string text = "{\"text\": \"a\"}\n";
  text += std::string(3 << 20, ' ');
  const DatasetOptions one{.max_rows = 1, .max_bytes = 2 << 20};
  CHECK(texts_of("a.jsonl.gz", test::stored_gzip(text), one) == Texts{"a"});
  CHECK(refusal("a.jsonl.gz", test::stored_gzip(text), {.max_bytes = 2 << 20}) == ErrorCode::capacity);
}

TEST_CASE("rows are also read with all their columns", "[format][dataset]") {
  const TemporaryFolder folder;
  for (const std::string& path :
       {folder.write("a.json", rows_json), folder.write("a.jsonl", rows_jsonl), folder.write("a.csv", rows_csv)}) {
    const std::vector<DatasetObject> rows = read_dataset_objects(path);
    REQUIRE(rows.size() == 2);
    CHECK(rows[1].object == parse_json(R"({"q": "2+2?", "a": "4"})", "row"));
    CHECK(rows[1].where.starts_with(path + ", "));
    CHECK(read_dataset_objects(path, 1).size() == 1);
  }
  CHECK(test::error_of([&] { (void)read_dataset_objects(folder.write("b.jsonl", "[]")); }) == ErrorCode::malformed);
  CHECK(test::error_of([&] { (void)read_dataset_objects(folder.write("b.txt", "text")); }) == ErrorCode::unsupported);
}

TEST_CASE("a stream is the whole text", "[format][dataset]") {
  const TemporaryFolder folder;
  CHECK(read_stream(folder.write("a.txt", "\xEF\xBB\xBFone\r\n\r\ntwo")) == "one\r\n\r\ntwo");
  CHECK(read_stream(folder.write("a.txt.gz", test::stored_gzip("one\n"))) == "one\n");
  CHECK_THROWS_WITH(read_stream(folder.write("b.txt", "one\n\xC3")), ContainsSubstring("line 2"));
  CHECK(test::error_of([&] { (void)read_stream(folder.write("c.txt", "")); }) == ErrorCode::invalid_argument);
  CHECK(test::error_of([&] {
          (void)read_stream(folder.write("d.txt.gz", test::stored_gzip("abc")), {.max_bytes = 2});
        }) == ErrorCode::capacity);
}

TEST_CASE("mutated files end in an error or in rows", "[format][dataset]") {
  const std::vector<std::pair<std::string, std::string>> files{{"a.json", std::string(rows_json)},
                                                               {"a.jsonl", std::string(rows_jsonl)},
                                                               {"a.csv", std::string(rows_csv)},
                                                               {"a.csv.gz", test::stored_gzip(rows_csv)}};
  const TemporaryFolder folder;
  std::mt19937 random(7);
  for (const auto& [name, content] : files) {
    for (int round = 0; round < 300; ++round) {
      std::string changed = content;
      for (int i = 0; i < 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
      changed.resize(1 + random() % changed.size());
      const std::string path = folder.write(name, changed);
      try {
        const bool empty = texts(path, {.columns = {"q", "a"}, .max_bytes = 1 << 20}).empty();
        CHECK_FALSE(empty);
      } catch (const Error& error) {
        CHECK_THAT(error.what(), ContainsSubstring(name));
      }
    }
  }
}

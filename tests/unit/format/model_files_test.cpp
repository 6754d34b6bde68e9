// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/model_files.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <unit/format/file_builder.hpp>
#include <unit/format/lent_files.hpp>

using namespace tulle;
using namespace tulle::test;

namespace {

GivenFiles::File text_file(const std::string& name, std::string text) {
  const std::size_t size = text.size();
  return {name, size, [text = std::move(text)](std::uint64_t offset, std::span<std::byte> out) {
            std::memcpy(out.data(), text.data() + offset, out.size());
          }};
}

}  // namespace

TEST_CASE("a directory and the same files lent are alike", "[format][model_files]") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"a": 1})");
  folder.write("model.gguf", "GGUF");
  const DirectoryFiles directory(folder.path());
  const GivenFiles given = lent_files(folder.path());
  for (const ModelFiles* files : {static_cast<const ModelFiles*>(&directory), static_cast<const ModelFiles*>(&given)}) {
    CHECK(files->has("a.json"));
    CHECK_FALSE(files->has("b.json"));
    CHECK(files->json("a.json") == Json{{"a", 1}});
    CHECK(files->optional_json("b.json").is_null());
    CHECK(error_of([&] { files->open("b.json"); }) == ErrorCode::not_found);
    CHECK(error_of([&] { files->json("model.gguf"); }) == ErrorCode::malformed);
    CHECK(files->only_gguf() == "model.gguf");
    CHECK(files->open("model.gguf")->size() == 4);
  }
  folder.write("other.gguf", "GGUF");
  CHECK(error_of([&] { directory.only_gguf(); }) == ErrorCode::invalid_argument);
  CHECK(error_of([&] { lent_files(folder.path()).only_gguf(); }) == ErrorCode::invalid_argument);
  CHECK(DirectoryFiles("").where() == ".");
  CHECK(DirectoryFiles("").path("x") == "x");
}

TEST_CASE("a file that is given alone may be called anything", "[format][model_files]") {
  CHECK(GivenFiles({text_file("download", "GGUF")}).only_gguf() == "download");
  CHECK(GivenFiles({text_file("a", ""), text_file("b", "")}).only_gguf().empty());
}

TEST_CASE("names that are given twice, or lead into folders, are refused", "[format][model_files]") {
  CHECK(error_of([] { GivenFiles({text_file("a", ""), text_file("a", "")}); }) == ErrorCode::invalid_argument);
  for (const std::string name : {"", "..", "a/b", "a\\b"}) {
    CHECK(error_of([&] { GivenFiles({text_file(name, "")}); }) == ErrorCode::invalid_argument);
  }
}

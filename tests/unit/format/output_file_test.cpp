// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/output_file.hpp>

#include <catch2/catch_all.hpp>
#include <fstream>
#include <iterator>
#include <unit/format/file_builder.hpp>
#include <unit/format/file_size_limit.hpp>

using namespace tulle;

namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a file has its name when it is finished, and not before", "[format][output_file]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("a");
  {
    OutputFile file(path);
    file.write("abc");
    file.pad(4);
    CHECK(file.size() == 4);
    CHECK_FALSE(std::filesystem::exists(path));
    file.finish();
  }
  CHECK(content_of(path) == std::string("abc\0", 4));
  {
    OutputFile file(path);
    file.write("other");
  }
  CHECK(content_of(path) == std::string("abc\0", 4));
  write_file(path, "new");
  CHECK(content_of(path) == "new");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a file that cannot be written is an error that names it", "[format][output_file]") {
  const test::TemporaryFolder folder;
  CHECK(test::error_of([&] { OutputFile file(folder.path("missing/a")); }) == ErrorCode::io);
  std::filesystem::create_directory(folder.path("taken"));
  folder.write("taken/file", std::string_view("x"));
  const std::string message = test::message_of([&] { write_file(folder.path("taken"), "text"); });
  CHECK(message.find("taken") != std::string::npos);
  const test::FileSizeLimit limit(4096);
  CHECK(test::error_of([&] { write_file(folder.path("full"), std::string(1 << 20, 'x')); }) == ErrorCode::io);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("the file behind links is found, also where the last names none", "[format][output_file]") {
  const test::TemporaryFolder folder;
  const std::string link = folder.path("link");
  std::filesystem::create_symlink("target", folder.path("between"));
  std::filesystem::create_symlink(folder.path("between"), link);
  CHECK(behind_links(link) == folder.path("target"));
  CHECK(behind_links(folder.path("plain")) == folder.path("plain"));
  std::filesystem::create_symlink("loop", folder.path("loop"));
  CHECK_FALSE(behind_links(folder.path("loop")).empty());
}

TEST_CASE("a directory is no file to replace", "[format][output_file]") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH(require_replaceable(folder.path(), {}), Catch::Matchers::ContainsSubstring("is no file"));
  CHECK_NOTHROW(require_replaceable(folder.path("new"), {}));
}

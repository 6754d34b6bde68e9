// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/mapped_file.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>

using namespace tulle;

namespace {

/// A file that vanishes with the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& content)
      : path_((std::filesystem::temp_directory_path() / ("tulle-" + std::to_string(std::random_device{}()) + name))
                  .string()) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

ErrorCode code_of(const std::string& path) {
  try {
    MappedFile file(path);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find(path) != std::string::npos);
    return error.code();
  }
  return ErrorCode{};
}

}  // namespace

TEST_CASE("a mapped file is its bytes", "[core][mapped_file]") {
  const TemporaryFile source("bytes", std::string("a\0b", 3));
  const MappedFile file(source.path());
  CHECK(file.text() == std::string_view("a\0b", 3));
  CHECK(file.bytes().size() == 3);
  CHECK(file.bytes()[2] == std::byte{'b'});
}

TEST_CASE("an empty file and no file have no bytes", "[core][mapped_file]") {
  const TemporaryFile source("empty", "");
  CHECK(MappedFile(source.path()).bytes().empty());
  CHECK(MappedFile().bytes().empty());
}

TEST_CASE("released pages come back as they were", "[core][mapped_file]") {
  const std::string content(1 << 20, 'x');
  const TemporaryFile source("release", content);
  const MappedFile file(source.path());
  file.release(file.bytes());
  file.release(file.bytes().subspan(5, 100));  // less than a page: nothing to do
  CHECK(file.text() == content);
}

TEST_CASE("a mapping moves", "[core][mapped_file]") {
  const TemporaryFile source("move", "hello");
  MappedFile first(source.path());
  MappedFile second(std::move(first));
  CHECK(second.text() == "hello");
  MappedFile third;
  third = std::move(second);
  CHECK(third.text() == "hello");
}

TEST_CASE("a missing file is not_found, a directory is io", "[core][mapped_file]") {
  CHECK(code_of("/no/such/file") == ErrorCode::not_found);
  CHECK(code_of(std::filesystem::temp_directory_path().string()) == ErrorCode::io);
}

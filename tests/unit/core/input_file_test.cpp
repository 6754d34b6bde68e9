// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/input_file.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

using namespace tulle;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// Lends a text, and counts what is read of it.
struct Lender {
  std::string text;
  std::size_t reads = 0, bytes = 0;

  InputFile file() {
    return InputFile(text.size(), [this](std::uint64_t offset, std::span<std::byte> out) {
      std::memcpy(out.data(), text.data() + offset, out.size());
      ++reads;
      bytes += out.size();
    });
  }
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("a view of a file in memory is its own bytes", "[core][input_file]") {
  const std::string text = "0123456789";
  const InputFile file(bytes_of(text));
  CHECK(file.in_memory());
  CHECK(file.size() == 10);
  CHECK(static_cast<const void*>(file.view(3, 4).data()) == text.data() + 3);
  CHECK(file.text() == text);
  file.release(file.view(3, 4));
  CHECK(file.text() == text);
}

TEST_CASE("a file on disk is mapped", "[core][input_file]") {
  const auto path = std::filesystem::temp_directory_path() / ("tulle-input-" + std::to_string(std::random_device{}()));
  std::ofstream(path, std::ios::binary) << "abc";
  {
    const InputFile file(path.string());
    CHECK(file.in_memory());
    CHECK(file.text() == "abc");
  }
  std::filesystem::remove(path);
  CHECK_THROWS_AS(InputFile(path.string()), Error);
}

TEST_CASE("a lent file is read where it is looked at, in pieces of a megabyte at most", "[core][input_file]") {
  Lender lender{std::string(3'000'000, 'x') + "end"};
  const InputFile file = lender.file();
  CHECK_FALSE(file.in_memory());
  CHECK(lender.reads == 0);
  const auto end = file.view(3'000'000, 3);
  CHECK(text_of(end) == "end");
  CHECK(lender.bytes == 3);
  const auto all = file.view();
  CHECK(text_of(all) == lender.text);
  CHECK(lender.reads == 1 + 3);
  file.release(all);
  CHECK(text_of(end) == "end");  // every view stays until it is released itself
  file.release(bytes_of("another file's"));
  CHECK(text_of(end) == "end");
  CHECK(file.view(0, 0).empty());
}

TEST_CASE("a view outside of the file, and what the lender throws, are errors", "[core][input_file]") {
  Lender lender{"abc"};
  const InputFile file = lender.file();
  CHECK_THROWS_AS(file.view(2, 2), Error);
  CHECK_THROWS_AS(file.view(4, 0), Error);
  CHECK_THROWS_AS(file.view(1, ~std::uint64_t{0}), Error);
  CHECK(lender.reads == 0);
  const InputFile broken(3, [](std::uint64_t, std::span<std::byte>) { fail(ErrorCode::io, "no"); });
  CHECK_THROWS_AS(broken.view(), Error);
  const InputFile endless(~std::uint64_t{0}, [](std::uint64_t, std::span<std::byte>) {});
  CHECK_THROWS_AS(endless.view(), Error);
}

// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/model_path.hpp>

#include <catch2/catch_all.hpp>
#include <filesystem>
#include <string_view>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

TEST_CASE("plain file names lead nowhere else", "[format][model_path]") {
  CHECK(detail::is_plain_file_name("model-00001-of-00002.safetensors"));
  CHECK(detail::is_plain_file_name("..a"));
  for (const std::string_view name :
       {std::string_view(""), std::string_view("."), std::string_view(".."), std::string_view("a/b"),
        std::string_view("../a"), std::string_view("/etc/passwd"), std::string_view("a\\b"), std::string_view("c:x"),
        std::string_view("a\0b", 3)}) {
    CHECK_FALSE(detail::is_plain_file_name(name));
  }
}

TEST_CASE("a GGUF file is known by its first bytes", "[format][model_path]") {
  const TemporaryFolder folder;
  CHECK(detail::is_gguf_file(folder.write("model.bin", "GGUFxyz")));
  CHECK_FALSE(detail::is_gguf_file(folder.write("model.gguf", "GGU")));
  CHECK(error_of([&] { detail::is_gguf_file(folder.path("none")); }) == ErrorCode::not_found);
  CHECK(detail::resolve_model_path(folder.path("model.bin")).gguf_file == folder.path("model.bin"));
}

TEST_CASE("a directory is taken as it is, a safetensors file stands for its directory", "[format][model_path]") {
  const TemporaryFolder folder;
  CHECK(detail::resolve_model_path(folder.path()).directory == folder.path());
  folder.write("model.safetensors", "");
  CHECK(detail::resolve_model_path(folder.path("model.safetensors")).directory == folder.path());
  CHECK(detail::resolve_model_path(folder.path("model.safetensors")).gguf_file.empty());
}

TEST_CASE("paths that are no model say so", "[format][model_path]") {
  const TemporaryFolder folder;
  CHECK(error_of([&] { detail::resolve_model_path(folder.path("none")); }) == ErrorCode::not_found);
  CHECK(error_of([&] { detail::resolve_model_path(folder.write("x.txt", "hello")); }) == ErrorCode::unsupported);
  CHECK(detail::directory_of("model.safetensors") == ".");
}

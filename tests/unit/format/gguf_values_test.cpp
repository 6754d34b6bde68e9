// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_values.hpp>

#include <catch2/catch_all.hpp>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

TEST_CASE("numbers are checked, and may be absent", "[format][gguf_values]") {
  GgufFile file;
  file.where = std::string("f");
  file.metadata = {{"whole", 3u}, {"real", 0.5}, {"text", "3"}, {"flag", true}};
  file.arrays.emplace("layers", GgufArray{});
  CHECK(detail::gguf_number(file, "whole", true) == 3);
  CHECK(detail::gguf_number(file, "whole", false) == 3);
  CHECK(detail::gguf_number(file, "real", false) == 0.5);
  CHECK(detail::gguf_number(file, "absent", true).is_null());
  CHECK(error_of([&] { detail::gguf_number(file, "real", true); }) == ErrorCode::malformed);
  CHECK(error_of([&] { detail::gguf_number(file, "text", false); }) == ErrorCode::malformed);
  CHECK(error_of([&] { detail::gguf_number(file, "flag", true); }) == ErrorCode::malformed);
  CHECK(error_of([&] { detail::gguf_number(file, "layers", true); }) == ErrorCode::unsupported);
  CHECK(message_of([&] { detail::required_gguf_number(file, "absent", true); }) == "f: metadata \"absent\" is missing");
  CHECK(detail::gguf_text(file, "text", "") == "3");
  CHECK(detail::gguf_text(file, "absent", "x") == "x");
  CHECK(error_of([&] { detail::gguf_text(file, "real", ""); }) == ErrorCode::malformed);
}

TEST_CASE("a SentencePiece vocabulary has special tokens by default, a byte-level one has not",
          "[format][gguf_values]") {
  GgufFile file;
  CHECK(detail::gguf_token(file, "bos").is_null());
  file.metadata = {{"tokenizer.ggml.model", "llama"}, {"tokenizer.ggml.eos_token_id", 7}};
  CHECK(detail::gguf_token(file, "unknown") == 0);
  CHECK(detail::gguf_token(file, "bos") == 1);
  CHECK(detail::gguf_token(file, "eos") == 7);
  CHECK(detail::gguf_token(file, "eot").is_null());
}

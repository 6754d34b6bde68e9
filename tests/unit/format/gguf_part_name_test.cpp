// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_part_name.hpp>

#include <catch2/catch_all.hpp>
#include <string>

using namespace tulle::detail;

TEST_CASE("the name of a part tells its number and how many there are", "[format][gguf_part_name]") {
  const auto part = parse_gguf_part_name("a-00001-of-b-00002-of-00013.gguf");
  REQUIRE(part);
  CHECK(part->stem == "a-00001-of-b");
  CHECK(part->number == 2);
  CHECK(part->count == 13);
  CHECK(gguf_part_file(part->stem, 1, part->count) == "a-00001-of-b-00001-of-00013.gguf");
  CHECK(parse_gguf_part_name("-00001-of-00001.gguf"));
  for (const std::string name :
       {"", "model.gguf", "a-0001-of-0003.gguf", "a-00001-of-00003.GGUF", "a-0000x-of-00003.gguf",
        "a-+0001-of-00003.gguf", "a-00001-of-00003-gguf", "a_00001-of-00003.gguf", "00001-of-00003.gguf"}) {
    INFO(name);
    CHECK_FALSE(parse_gguf_part_name(name));
  }
}

TEST_CASE("of several files one model is found or none", "[format][gguf_part_name]") {
  CHECK(only_gguf_model({}) == "");
  CHECK(only_gguf_model({"a.gguf"}) == "a.gguf");
  CHECK(only_gguf_model({"a-00002-of-00003.gguf"}) == "a-00002-of-00003.gguf");
  CHECK(only_gguf_model({"a-00003-of-00003.gguf", "a-00002-of-00003.gguf"}) == "a-00001-of-00003.gguf");
  CHECK_FALSE(only_gguf_model({"a.gguf", "b.gguf"}));
  CHECK_FALSE(only_gguf_model({"a-00001-of-00002.gguf", "a-00002-of-00002.gguf", "b.gguf"}));
  CHECK_FALSE(only_gguf_model({"a-00001-of-00002.gguf", "b-00002-of-00002.gguf"}));
  CHECK_FALSE(only_gguf_model({"a-00001-of-00002.gguf", "a-00002-of-00003.gguf"}));
}

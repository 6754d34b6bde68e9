// SPDX-License-Identifier: Apache-2.0
#include <tulle/hub/hub_model.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <tulle/core/error.hpp>

using namespace tulle;

TEST_CASE("a name of the hub has a repository, a revision and a file", "[hub][hub_model]") {
  const HubModel whole = parse_hub_model("hf:org/name@v1.0:Q4/model-00001-of-00002.gguf").value();
  CHECK(whole.repository == "org/name");
  CHECK(whole.revision == "v1.0");
  CHECK(whole.file == "Q4/model-00001-of-00002.gguf");
  CHECK(whole.text() == "hf:org/name@v1.0:Q4/model-00001-of-00002.gguf");
  const HubModel bare = parse_hub_model("hf:gpt2").value();
  CHECK(bare.repository == "gpt2");
  CHECK(bare.revision == "main");
  CHECK(bare.file.empty());
  CHECK(parse_hub_model("hf:a/b.c_d-1").value().text() == "hf:a/b.c_d-1");
  CHECK(parse_hub_model("hf:a/b@refs/pr/1").value().revision == "refs/pr/1");
  CHECK(parse_hub_model("hf:a/b").value().text_of("x.gguf") == "hf:a/b:x.gguf");
  for (const char* path : {"", "model.gguf", "folder/hf:a", "./hf:a/b", "HF:a/b"}) CHECK_FALSE(parse_hub_model(path));
}

TEST_CASE("what could lead out of the cache is no name", "[hub][hub_model]") {
  for (const char* text : {"hf:",
                           "hf:/",
                           "hf:a/",
                           "hf:/b",
                           "hf:a/b/c",
                           "hf:../b",
                           "hf:a/..",
                           "hf:a/b--c",
                           "hf:a/.b",
                           "hf:a/b-",
                           "hf:a b/c",
                           "hf:a\\b",
                           "hf:a/b@",
                           "hf:a/b@..",
                           "hf:a/b@x/../y",
                           "hf:a/b@/x",
                           "hf:a/b:",
                           "hf:a/b:x.bin",
                           "hf:a/b:../x.gguf",
                           "hf:a/b:/x.gguf",
                           "hf:a/b:c:x.gguf",
                           "hf:a/b:c\\x.gguf",
                           "hf:a/b:c//x.gguf",
                           "hf:a/b:x\n.gguf"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_hub_model(text), Error);
  }
  CHECK_THROWS_WITH(parse_hub_model("zoo:nlg/text_generation/x"),
                    Catch::Matchers::ContainsSubstring("hf:RedHatAI/NAME"));
}

// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/draft/draft_name.hpp>

#include <catch2/catch_all.hpp>
#include <string>

using namespace tulle;

TEST_CASE("The path in a drafter's name is resolved, and nothing else", "[draft]") {
  const auto local = [](const std::string& name) {
    return with_local_path(name, [](const std::string& path) { return "<" + path + ">"; });
  };
  for (const char* name : {"", "ngram", "prediction", "self:i4", "ngram+self:8:16_gap4_i4", "self:i4+self:i8"}) {
    CHECK(local(name) == name);
  }
  CHECK(local("hf:org/name") == "<hf:org/name>");
  CHECK(local("ngram+hf:org/name@main:q8.gguf") == "ngram+<hf:org/name@main:q8.gguf>");
  CHECK(local("models/a+b+self:i4") == "<models/a+b>+self:i4");
}

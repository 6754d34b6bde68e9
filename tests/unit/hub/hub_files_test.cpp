// SPDX-License-Identifier: Apache-2.0
#include <tulle/hub/hub_files.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <vector>

using namespace tulle;
using detail::HubChoice, detail::HubNames;

namespace {

HubChoice choose(const HubNames& names, HubPart part = HubPart::model) {
  return detail::choose_hub_files(HubModel{"a/b", "main", ""}, names, part);
}

}  // namespace

TEST_CASE("the weights of a repository are those that the readers open", "[hub][hub_files]") {
  HubNames names{"config.json", "tokenizer.json",    "README.md",  "model.safetensors", "model.safetensors.index.json",
                 "x.gguf",      "pytorch_model.bin", "vocab.json", "tf_model.h5"};
  CHECK(choose(names).weights == std::vector<std::string>{"model.safetensors"});
  CHECK(choose(names).small == std::vector<std::string>{"config.json", "tokenizer.json", "vocab.json"});
  names.erase("model.safetensors");
  CHECK(choose(names).index == "model.safetensors.index.json");
  names.erase("model.safetensors.index.json");
  CHECK(choose(names).weights == std::vector<std::string>{"pytorch_model.bin"});
  CHECK(choose(names, HubPart::tokenizer).weights.empty());
  names.erase("pytorch_model.bin");
  CHECK(choose(names).opened == "x.gguf");
  names.erase("x.gguf");
  CHECK_FALSE(choose(names).problem.empty());
  CHECK(choose({"adapter_config.json", "adapter_model.bin"}).weights == std::vector<std::string>{"adapter_model.bin"});
}

TEST_CASE("a GGUF model in parts is one model", "[hub][hub_files]") {
  const HubNames parts{"q/m-00001-of-00002.gguf", "q/m-00002-of-00002.gguf"};
  CHECK(choose(parts).opened == "q/m-00001-of-00002.gguf");
  CHECK(choose(parts).weights.size() == 2);
  const HubChoice missing =
      detail::choose_hub_files({"a/b", "main", "m-00002-of-99999.gguf"}, {"m-00002-of-99999.gguf"}, HubPart::model);
  CHECK(missing.problem == "there is no file \"m-00001-of-99999.gguf\"");
}

TEST_CASE("shards are plain names", "[hub][hub_files]") {
  CHECK(detail::shards_of_index(Json::parse(R"({"weight_map": {"a": "y", "b": "x", "c": "y"}})"), "i") ==
        std::vector<std::string>{"x", "y"});
  for (const char* bad : {R"({})", R"({"weight_map": []})", R"({"weight_map": {"a": 1}})",
                          R"({"weight_map": {"a": "../x"}})", R"({"weight_map": {"a": "x/y"}})"}) {
    CHECK_THROWS_AS(detail::shards_of_index(Json::parse(bad), "i"), Error);
  }
}

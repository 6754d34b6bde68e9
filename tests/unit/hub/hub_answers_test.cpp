// SPDX-License-Identifier: Apache-2.0
#include <tulle/hub/hub_answers.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <tulle/core/error.hpp>

using namespace tulle;
using Catch::Matchers::ContainsSubstring;

namespace {

const HubModel model{"a/b", "main", ""};
const std::string commit(40, 'c');

auto list(const std::string& files) {
  return detail::read_hub_listing(R"({"sha": ")" + commit + R"(", "siblings": )" + files + "}", model, "address");
}

auto file(const std::string& etag, const char* size) {
  return detail::read_hub_file(model, "x", etag, size);
}

}  // namespace

TEST_CASE("a list of files has a commit and plain paths", "[hub][hub_answers]") {
  CHECK(list(R"([{"rfilename": "a/b.json", "size": 1}, {"rfilename": "c"}])").files ==
        detail::HubNames{"a/b.json", "c"});
  CHECK(list("[]").commit == commit);
  for (const char* files : {"{}", "1", "null"}) CHECK_THROWS_WITH(list(files), ContainsSubstring("HF_ENDPOINT"));
  for (const char* files : {R"([{"rfilename": "../c"}])", R"([{"rfilename": "/c"}])", "[{}]", "[1]"}) {
    CHECK_THROWS_WITH(list(files), ContainsSubstring("refused"));
  }
  CHECK_THROWS_AS(list(R"([{"rfilename": 1}])"), Error);
  CHECK_THROWS_AS(detail::read_hub_listing("[]", model, "address"), Error);
}

TEST_CASE("a file is named by its ETag alone", "[hub][hub_answers]") {
  CHECK(file("W/\"ab-12_C\"", "12").etag == "ab-12_C");
  CHECK(file("ab", "12").size == 12);
  for (const char* size : {"", "-1", "1e3", "12 ", "99999999999999999999"}) CHECK_FALSE(file("ab", size).size);
  for (const std::string& etag : {std::string(), std::string("\"\""), std::string("../ab"), std::string(129, 'a')}) {
    CHECK_THROWS_WITH(file(etag, "12"), ContainsSubstring("no ETag"));
  }
}

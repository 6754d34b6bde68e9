// SPDX-License-Identifier: Apache-2.0
#include <tulle/compat/deepsparse/argument_value.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

ArgumentValue value_of(const Json& value) {
  return {"top_k", "only small ones", value};
}

template <class Read>
std::string refusal(const Json& value, Read read) {
  try {
    (void)read(value_of(value));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return "read";
}

TEST_CASE("a value is read as the type that is asked for", "[generate][argument_value]") {
  CHECK(value_of(Json(true)).boolean());
  CHECK(value_of(Json(0)).count() == 0);
  CHECK(value_of(Json(4294967295u)).count() == 4294967295u);
  CHECK(value_of(Json(-1)).whole() == -1);
  CHECK(value_of(Json(std::numeric_limits<std::uint64_t>::max())).seed() == std::numeric_limits<std::uint64_t>::max());
  CHECK(value_of(Json(1)).number() == 1.0f);
  CHECK(value_of(Json(0.25)).number() == 0.25f);
  CHECK(value_of(Json("a")).text() == "a");
  CHECK(value_of(Json("a")).texts() == std::vector<std::string>{"a"});
  CHECK(value_of(Json{"a", "b"}).texts() == std::vector<std::string>{"a", "b"});
  CHECK(value_of(Json(3)).counts() == std::vector<std::size_t>{3});
  CHECK(value_of(Json{1, 2}).counts() == std::vector<std::size_t>{1, 2});
}

TEST_CASE("a value of another type or out of range is refused with what is needed", "[generate][argument_value]") {
  const auto boolean = [](const ArgumentValue& value) { return value.boolean(); };
  const auto count = [](const ArgumentValue& value) { return value.count(1); };
  const auto whole = [](const ArgumentValue& value) { return value.whole(); };
  const auto seed = [](const ArgumentValue& value) { return value.seed(); };
  const auto number = [](const ArgumentValue& value) { return value.number(); };
  const auto texts = [](const ArgumentValue& value) { return value.texts(); };
  const auto counts = [](const ArgumentValue& value) { return value.counts(); };
  CHECK(refusal(1, boolean) == "argument \"top_k\" needs true or false, not 1");
  CHECK(refusal("1", count) == "argument \"top_k\" needs a whole number, not \"1\"");
  CHECK(refusal(1.5, count) == "argument \"top_k\" needs a whole number, not 1.5");
  CHECK(refusal(-1, count) == "argument \"top_k\" needs a whole number, 0 or more, not -1");
  CHECK(refusal(0, count) == "argument \"top_k\" needs a whole number from 1 to 4294967295, not 0");
  CHECK(refusal(4294967296u, count) == "argument \"top_k\" needs a whole number from 1 to 4294967295, not 4294967296");
  CHECK(refusal(2147483648u, whole) == "argument \"top_k\" needs a smaller whole number, not 2147483648");
  CHECK(refusal(std::numeric_limits<std::int64_t>::min(), whole) != "read");
  CHECK(refusal(std::numeric_limits<std::uint64_t>::max(), whole) != "read");
  CHECK(refusal(-3, seed) == "argument \"top_k\" needs a whole number, 0 or more, not -3");
  CHECK(refusal(1e39, number) != "read");
  CHECK(refusal(std::nan(""), number) != "read");
  CHECK(refusal(true, number) == "argument \"top_k\" needs a number, not true");
  CHECK(refusal(Json{"a", 1}, texts) == "argument \"top_k\" needs a text or a list of texts, not this list");
  CHECK(refusal(Json::object(), texts) == "argument \"top_k\" needs a text or a list of texts, not this object");
  CHECK(refusal(Json{1, "a"}, counts) != "read");
}

TEST_CASE("a message is one short line of ASCII whatever the value holds", "[generate][argument_value]") {
  const auto count = [](const ArgumentValue& value) { return value.count(); };
  CHECK(refusal("a\nb", count) == "argument \"top_k\" needs a whole number, not \"a\\nb\"");
  CHECK(refusal("\xff", count) == "argument \"top_k\" needs a whole number, not \"\\ufffd\"");
  CHECK(refusal(std::string(100000, 'x'), count) == "argument \"top_k\" needs a whole number, not this long text");
}

TEST_CASE("a refusal gives the meaning of the argument as its reason", "[generate][argument_value]") {
  const auto require = [](bool accepted) {
    return [accepted](const ArgumentValue& value) { return value.require(accepted), 0; };
  };
  CHECK(refusal(7, require(false)) == "argument \"top_k\" cannot be 7: only small ones");
  CHECK(refusal(7, require(true)) == "read");
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/no_tokenizer.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include <tulle/text/token_stream.hpp>

using namespace tulle;

TEST_CASE("a model without a tokenizer takes no text and its tokens have none", "[text]") {
  const NoTokenizer none;
  CHECK(none.encode("", {}).empty());
  try {
    (void)none.encode("a", {});
    FAIL("text was encoded");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::not_found);
  }
  CHECK(none.decode(std::vector<Token>{1, 2}).empty());
  CHECK(none.vocabulary_size() == 0);
  TokenStream stream(none);
  CHECK(stream.push(7).empty());
  CHECK(stream.finish().empty());
}

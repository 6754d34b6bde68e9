// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/pytorch/pickle_stack.hpp>

#include <catch2/catch_all.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;
using namespace tulle::test;

namespace {

struct Stack : detail::PickleStack {
  explicit Stack(const Bytes& bytes) : PickleStack(bytes, "x.bin") {}
  using PickleStack::items, PickleStack::Kind, PickleStack::last, PickleStack::make_tuple, PickleStack::marked,
      PickleStack::number, PickleStack::numbers, PickleStack::pop, PickleStack::push, PickleStack::recall,
      PickleStack::remember, PickleStack::text;
};
using Kind = Stack::Kind;

}  // namespace

TEST_CASE("values are put into tuples, remembered and recalled", "[format][pytorch]") {
  const Bytes bytes = to_bytes("..name");
  Stack stack(bytes);
  stack.push(Kind::text, 2, 4);
  CHECK(stack.text(stack.last(1)[0]) == "name");
  stack.push(Kind::mark);
  for (const unsigned number : {3u, 5u}) stack.push(Kind::integer, number);
  CHECK(stack.marked().size() == 2);
  stack.make_tuple(stack.last(2));
  CHECK(stack.numbers(stack.last(1)[0]) == std::vector<std::uint64_t>{3, 5});
  stack.remember(0);
  stack.recall(0);
  CHECK(stack.items(stack.pop())[1].at == 5);
}

TEST_CASE("a value that is missing or of another kind is refused", "[format][pytorch]") {
  const Bytes bytes;
  Stack stack(bytes);
  const auto refused = [](auto&& call) { return error_of(call) == ErrorCode::malformed; };
  CHECK(refused([&] { stack.pop(); }));
  CHECK(refused([&] { stack.marked(); }));
  CHECK(refused([&] { stack.recall(0); }));
  CHECK(refused([&] { stack.remember(0); }));
  stack.push(Kind::mark);
  CHECK(refused([&] { stack.pop(); }));
  CHECK(refused([&] { stack.last(1); }));
  stack.push(Kind::integer, ~std::uint64_t{0});  // -1
  CHECK(refused([&] { stack.number(stack.last(1)[0]); }));
  CHECK(refused([&] { stack.text(stack.last(1)[0]); }));
  CHECK(refused([&] { stack.items(stack.last(1)[0]); }));
  CHECK(refused([&] { stack.remember(1); }));
  stack.remember(0);
  for (int i = 0; i < 8; ++i) stack.push(Kind::integer);
  stack.make_tuple(stack.last(9));
  CHECK(refused([&] { stack.numbers(stack.last(1)[0]); }));  // of more than 8 dimensions
}

// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/pytorch/pickle_globals.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("only the names of a state dict's tensors are known", "[format][pytorch]") {
  const detail::PickleGlobal* half = detail::find_pickle_global("torch", "HalfStorage");
  REQUIRE(half != nullptr);
  CHECK(half->dtype == DType::f16);
  CHECK(detail::find_pickle_global("collections", "OrderedDict") != nullptr);
  for (const auto& [module, name] : {std::pair{"posix", "system"},
                                     {"builtins", "eval"},
                                     {"torch", "load"},
                                     {"", ""},
                                     {"torch", "HalfStorage "},
                                     {"torch.nn", "HalfStorage"},
                                     {"torch", "QInt8Storage"}}) {
    CHECK(detail::find_pickle_global(module, name) == nullptr);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/near_names.hpp>

#include <array>
#include <string>
#include <string_view>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("the edit distance counts insertions, deletions and replacements", "[core][near_names]") {
  CHECK(detail::edit_distance("", "") == 0);
  CHECK(detail::edit_distance("abc", "") == 3);
  CHECK(detail::edit_distance("", "abc") == 3);
  CHECK(detail::edit_distance("kitten", "sitting") == 3);
  CHECK(detail::edit_distance("flaw", "lawn") == 2);
}

TEST_CASE("similar names are listed nearest first, at most three", "[core][near_names]") {
  constexpr std::array<std::string_view, 5> known{"sparsity", "sparsity_profile", "targets", "top_k", "top_p"};
  CHECK(detail::near_names("sparsty", known) == "sparsity");
  CHECK(detail::near_names("sparsity_profil", known) == "sparsity_profile, sparsity");
  CHECK(detail::near_names("top_x", known) == "top_k, top_p");
  CHECK(detail::near_names("ignore", known).empty());
  CHECK(detail::near_names(std::string(1000000, 't'), known).empty());
}

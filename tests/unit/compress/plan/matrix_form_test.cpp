// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/plan/matrix_form.hpp>

#include <catch2/catch_all.hpp>
#include <tulle/compress/compression_report.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

TEST_CASE("forms have names, plans and columns that they fit", "[compress][plan]") {
  CHECK(plan_text(matrix_form("8:16-gap4-int4", "here").plan()) == "alps 8:16-gap4, descent int4 group 32");
  CHECK(plan_text(matrix_form("int8", "here").plan()) == "descent int8");
  CHECK(plan_text(matrix_form("70%-int8", "here").plan()) == "alps 70 %, descent int8");
  CHECK(plan_text(matrix_form("int4-64-min", "here").plan()) == "descent int4 group 64 with a minimum");
  CHECK(plan_text(matrix_form("80%-int4", "here").plan()) == "alps 80 %, descent int4");
  CHECK(matrix_form("int4-64", "here").fits(576));
  CHECK_FALSE(matrix_form("int4-128", "here").fits(576));
  CHECK_FALSE(matrix_form("int4-64", "here").fits(64));
  CHECK_FALSE(matrix_form("4:16-int8", "here").fits(72));
  CHECK(matrix_form("2:4-int8", "here").is_packed_with(matrix_form("int8", "here")));
  CHECK_FALSE(matrix_form("2:4-int8", "here").is_packed_with(matrix_form("2:4-int4", "here")));
  CHECK_FALSE(matrix_form("80%-int4", "here").is_packed_with(matrix_form("int4-32", "here")));
  CHECK_FALSE(matrix_form("int4-32-min", "here").is_packed_with(matrix_form("int4-32", "here")));
  const std::string error = error_of([] { matrix_form("int5", "here"); });
  CHECK(error.starts_with("not_found: here: there is no form \"int5\"; known are int8, int4-32"));
}

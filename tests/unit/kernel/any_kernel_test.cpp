// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/any_kernel.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("every kernel has a name that finds it", "[kernel][any_kernel]") {
  for (const auto& [name, choice] : kernel_choices) CHECK(kernel_choice(name) == choice);
  CHECK(kernel_choice(DenseF32::name) == KernelChoice::dense_f32);
  CHECK(kernel_choice(DenseF16::name) == KernelChoice::dense_f16);
  CHECK(kernel_choice(DenseI8::name) == KernelChoice::dense_i8);
  CHECK(kernel_choice(DenseI4::name) == KernelChoice::dense_i4);
}

TEST_CASE("an unknown kernel name is an error that lists the known ones", "[kernel][any_kernel]") {
  for (const char* name : {"", "dense", "DENSE_I8", "dense_i8 "}) {
    try {
      kernel_choice(name);
      FAIL("no error for \"" << name << '"');
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK_THAT(error.what(),
                 Catch::Matchers::ContainsSubstring("auto, dense_f32, dense_f16, dense_i8, dense_i4, i8"));
    }
  }
}

TEST_CASE("each type of rows gets the form that keeps its values", "[kernel][any_kernel]") {
  const std::pair<DType, std::string_view> expected[] = {
      {DType::f32, "dense_f32"}, {DType::f16, "dense_f16"}, {DType::bf16, "dense_f16"}, {DType::i8, "dense_i8"},
      {DType::q8_0, "dense_i8"}, {DType::q6_k, "dense_i8"}, {DType::q4_0, "dense_i4"},  {DType::q4_1, "dense_i4"}, {DType::q5_k, "dense_f32"}};
  for (const auto& [dtype, name] : expected) {
    CAPTURE(dtype_name(dtype));
    const auto matrix = testing::random_matrix(dtype, 18, 256, 9);
    const auto weights = AnyKernel::pack(matrix.rows);
    for (const auto& [kernel, choice] : kernel_choices) {
      // Any layout of int8 holds int8 files, and the codes of Q4_0; but windows know no groups of columns.
      const bool groups = dtype != DType::i8 && kernel == "ell_i8";
      const bool in_i8 = kernel.ends_with("i8") && !groups && (name.ends_with("i8") || dtype == DType::q4_0);
      const bool in_i4 = kernel.ends_with("i4") && kernel != "ell_i4" && dtype == DType::q4_0;
      const bool keeps = kernel == "auto" || kernel == "dense_f32" || kernel == name || in_i8 || in_i4;
      CHECK(AnyKernel::keeps_values(matrix.rows.code_format(), {.kernel = choice}) == keeps);
    }
    CHECK(weights.kernel_name() == name);
    CHECK(weights.is_float() == name.ends_with("f32") + name.ends_with("f16"));
    CHECK(weights.rows() == 18);
    CHECK(weights.columns() == 256);
    std::vector<float> decoded(256), unpacked(256);
    for (std::size_t row = 0; row < 18; ++row) {
      matrix.rows.decode_row(row, decoded.data());
      AnyKernel::unpack_row(weights, row, unpacked.data());
      REQUIRE(std::equal(decoded.begin(), decoded.end(), unpacked.begin(), testing::same_value));
    }
  }
}

TEST_CASE("rows of several types get f32, and what is asked for is what is packed", "[kernel][any_kernel]") {
  const auto q8_0 = testing::random_matrix(DType::q8_0, 1, 32, 1);
  const auto q4_0 = testing::random_matrix(DType::q4_0, 1, 32, 1);
  testing::RowList mixed(32);
  mixed.append(q8_0.rows[0].data, DType::q8_0);
  mixed.append(q4_0.rows[0].data, DType::q4_0);
  CHECK(AnyKernel::pack(mixed).kernel_name() == "dense_f32");
  for (const auto& [name, choice] : kernel_choices) {
    if (!name.starts_with("dense_")) continue;
    CHECK(AnyKernel::pack(mixed, {.kernel = choice}).kernel_name() == name);
    CHECK(AnyKernel::pack(q4_0.rows, {.kernel = choice}).kernel_name() == name);
  }
}

TEST_CASE("int8 weights get the layout of their zeros", "[kernel][any_kernel]") {
  const std::pair<testing::Zeros, KernelChoice> cases[] = {{{}, KernelChoice::dense_i8},
                                                           {{2, 4}, KernelChoice::two_of_four_i8},
                                                           {{4, 16}, KernelChoice::four_of_sixteen_i8},
                                                           {{8, 16, 4}, KernelChoice::eight_of_sixteen_gap4_i8},
                                                           {{9, 20}, KernelChoice::bitmask_i8},
                                                           {{2, 20}, KernelChoice::ell_i8}};
  for (const auto& [zeros, choice] : cases) {
    for (const DType dtype : {DType::i8, DType::q8_0}) {
      const auto matrix = testing::pruned(testing::random_matrix(dtype, 50, 320, 9), zeros, 5);
      const auto weights = AnyKernel::pack(matrix.rows);
      CHECK(kernel_choice(weights.kernel_name()) ==
            fastest_i8(measure_i8(matrix.rows), active_instruction_set(), made_by_intel()));
      CHECK(AnyKernel::pack(matrix.rows, {.kernel = KernelChoice::i8}).kernel_name() == weights.kernel_name());
      const auto asked_for = AnyKernel::pack(matrix.rows, {.kernel = choice});
      CHECK(kernel_choice(asked_for.kernel_name()) == choice);
      const auto dense = AnyKernel::pack(matrix.rows, {.kernel = KernelChoice::dense_i8});
      CHECK(AnyKernel::shares_input(asked_for, dense) == (choice != KernelChoice::ell_i8));
    }
  }
}

TEST_CASE("Q4_0 weights get the layout of their zeros, and keep their values", "[kernel][any_kernel]") {
  for (const testing::Zeros zeros : {testing::Zeros{}, {2, 4}, {8, 16, 4}, {4, 16}, {3, 10}}) {
    const auto matrix = testing::pruned(testing::random_matrix(DType::q4_0, 100, 320, 9), zeros, 5);
    const auto weights = AnyKernel::pack(matrix.rows),
               dense = AnyKernel::pack(matrix.rows, {.kernel = KernelChoice::dense_i4});
    CHECK(kernel_choice(weights.kernel_name()) == fastest_i4(measure_i4(matrix.rows), active_instruction_set()));
    CHECK(AnyKernel::shares_input(weights, dense));
    std::vector<float> row(320), expected(320);
    for (std::size_t at = 0; at < 100; ++at) {
      AnyKernel::unpack_row(weights, at, row.data());
      AnyKernel::unpack_row(dense, at, expected.data());
      REQUIRE(row == expected);
    }
  }
}

TEST_CASE("several threads pack what one packs", "[kernel][any_kernel]") {
  ThreadPool pool(3);
  const std::pair<DType, testing::Zeros> cases[] = {
      {DType::f32, {}},          {DType::bf16, {}},      {DType::q4_1, {}},    {DType::q6_k, {}},   {DType::i8, {2, 4}},
      {DType::q8_0, {8, 16, 4}}, {DType::q8_0, {4, 16}}, {DType::i8, {9, 20}}, {DType::i8, {2, 20}}};
  for (const auto& [dtype, zeros] : cases) {
    constexpr std::size_t rows = 200, columns = 1280;
    const auto dense = [dtype = dtype] { return testing::random_matrix(dtype, rows, columns, 11); };
    const auto matrix = zeros.group == 0 ? dense() : testing::pruned(dense(), zeros, 5);
    for (const auto& [name, choice] : kernel_choices) {
      CAPTURE(dtype_name(dtype), name);
      PackOptions options{.kernel = choice};
      std::optional<AnyKernel::Weights> expected, packed;
      try {
        expected = AnyKernel::pack(matrix.rows, options);
      } catch (const Error&) {  // not the zeros that this kernel wants
      }
      options.pool = &pool;
      try {
        packed = AnyKernel::pack(matrix.rows, options);
      } catch (const Error&) {
      }
      REQUIRE(packed.has_value() == expected.has_value());
      if (!packed.has_value()) continue;
      REQUIRE(packed->kernel_name() == expected->kernel_name());
      REQUIRE(packed->size_bytes() == expected->size_bytes());
      std::vector<float> a(columns), b(columns);
      for (std::size_t row = 0; row < rows; ++row) {
        AnyKernel::unpack_row(*packed, row, a.data());
        AnyKernel::unpack_row(*expected, row, b.data());
        REQUIRE(std::equal(a.begin(), a.end(), b.begin(), testing::same_value));
      }
    }
  }
}

TEST_CASE("matrices share an input when they read the same form of it", "[kernel][any_kernel]") {
  const auto packed = [](DType dtype, std::size_t columns, PackOptions options = {}) {
    return AnyKernel::pack(testing::random_matrix(dtype, 2, columns, 1).rows, options);
  };
  const auto i8 = packed(DType::q8_0, 64), i4 = packed(DType::q4_1, 64), f16 = packed(DType::f16, 64);
  CHECK(AnyKernel::shares_input(i8, i4));
  CHECK(AnyKernel::shares_input(f16, packed(DType::f32, 64)));
  CHECK_FALSE(AnyKernel::shares_input(i8, f16));
  CHECK_FALSE(AnyKernel::shares_input(i8, packed(DType::q8_0, 96)));
  CHECK_FALSE(AnyKernel::shares_input(i8, packed(DType::i8, 64, {.scale_per_input = true})));
}

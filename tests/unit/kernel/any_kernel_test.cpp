// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/any_kernel.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

TEST_CASE("every kernel has a name that finds it", "[kernel][any_kernel]") {
  for (const std::string_view name : kernel_choices) {
    const std::string copy(name);  // the result outlives it
    CHECK(kernel_choice(copy).data() == name.data());
  }
  CHECK(kernel_choices.front() == "auto");
  for (const std::string_view name : {DenseF32::name, DenseF16::name, DenseI8::name, DenseI4::name, EllI4::name}) {
    CHECK(std::ranges::count(kernel_choices, name) == 1);
  }
}

TEST_CASE("a name that is no kernel cannot be packed", "[kernel][any_kernel]") {
  const auto matrix = testing::random_matrix(DType::f32, 1, 32, 1);
  CHECK_THROWS_AS(AnyKernel::pack(matrix.rows, {.kernel = "dense"}), Error);
}

TEST_CASE("a list of one's own falls back to its dense kernel", "[kernel][any_kernel]") {
  using Few = BasicAnyKernel<KernelList<DenseF32, DenseI8>>;
  STATIC_CHECK(LinearKernel<Few>);
  const auto matrix = testing::pruned(testing::random_matrix(DType::i8, 32, 320, 9), {2, 4}, 5);
  const auto weights = Few::pack(matrix.rows);
  CHECK(weights.kernel_name() == "dense_i8");
  CHECK_FALSE(weights.is_float());
  CHECK_THROWS_WITH(Few::pack(matrix.rows, {.kernel = "ell_i8"}),
                    Catch::Matchers::EndsWith("known are auto, i8, i4, dense_f32, dense_i8"));
  CHECK_THROWS_AS(Few::pack(testing::random_matrix(DType::f16, 1, 32, 1).rows), Error);  // no kernel keeps its values
}

TEST_CASE("weights keep the instruction set for which their kernel was chosen", "[kernel][any_kernel]") {
  if (isa::All::size == 1) SKIP("this build has one instruction set");
  const testing::ActiveSet active(detail::find_instruction_set("scalar"));
  const std::string other(instruction_set_name(instruction_sets[1]));
  if (!machine_has(instruction_sets[1])) SKIP("this machine has one instruction set");
  {
    auto weights = AnyKernel::pack(testing::random_matrix(DType::i8, 16, 64, 1).rows);
    const auto moved = std::move(weights);
    CHECK_THROWS_WITH(use_instruction_set(other), Catch::Matchers::StartsWith("a model is loaded for scalar"));
  }
  {
    const auto ell = EllI8::pack(testing::random_matrix(DType::i8, 16, 64, 1).rows);
    CHECK_THROWS_WITH(use_instruction_set(other), Catch::Matchers::StartsWith("a model is loaded for scalar"));
  }
  CHECK_NOTHROW(use_instruction_set(other));
}

TEST_CASE("an input has room for every form of activations", "[kernel][any_kernel]") {
  const AnyKernel::Input input(3, 70);
  CHECK(input.size_bytes() ==
        ActivationsF32(3, 70).size_bytes() + ActivationsI8(3, 70).size_bytes() + ActivationsI14(3, 70).size_bytes());
  CHECK(ActivationsF32(3, 70).size_bytes() == 8 * 70 * sizeof(float));
}

TEST_CASE("an unknown kernel name is an error that lists the known ones", "[kernel][any_kernel]") {
  for (const char* name : {"", "dense", "DENSE_I8", "dense_i8 "}) {
    try {
      kernel_choice(name);
      FAIL("no error for \"" << name << '"');
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK_THAT(error.what(),
                 Catch::Matchers::ContainsSubstring("auto, i8, i4, dense_f32, dense_f16, dense_i8, dense_i4"));
    }
  }
}

TEST_CASE("each type of rows gets the form that keeps its values", "[kernel][any_kernel]") {
  const std::pair<DType, std::string_view> expected[] = {
      {DType::f32, "dense_f32"},  {DType::f16, "dense_f16"}, {DType::bf16, "dense_f16"},  {DType::i8, "dense_i8"},
      {DType::q8_0, "dense_i8"},  {DType::q5_0, "dense_i8"}, {DType::q5_1, "dense_i8"},   {DType::q5_k, "dense_i8"},
      {DType::q6_k, "dense_i8"},  {DType::q8_k, "dense_i8"}, {DType::iq4_nl, "dense_i8"}, {DType::iq4_xs, "dense_i8"},
      {DType::mxfp4, "dense_i8"}, {DType::q4_0, "dense_i4"}, {DType::q4_1, "dense_i4"},   {DType::q2_k, "dense_i4"},
      {DType::q3_k, "dense_i4"},  {DType::q4_k, "dense_i4"}, {DType::tq1_0, "dense_i4"},  {DType::tq2_0, "dense_i4"}};
  for (const auto& [dtype, name] : expected) {
    CAPTURE(dtype_name(dtype));
    const auto matrix = testing::random_matrix(dtype, 18, 512, 9);
    const auto weights = AnyKernel::pack(matrix.rows);
    const CodeFormat format = matrix.rows.code_format();
    for (const std::string_view kernel : kernel_choices) {
      CAPTURE(kernel);
      // Any layout of int8 holds files of codes. Windows know no groups of columns, sparse int4 neither minimums
      // nor groups of 16.
      const bool of_rows = kernel == "ell_i8" || kernel == "ell_i4";
      const bool in_i8 = kernel.ends_with("i8") && format.bits != 0 && (!of_rows || dtype == DType::i8);
      const bool in_i4 = kernel.ends_with("i4") && !of_rows && fits_sparse_i4(format);
      const bool keeps = kernel == "auto" || kernel == "dense_f32" || kernel == name || in_i8 || in_i4;
      CHECK(AnyKernel::keeps_values(format, {.kernel = kernel}) == keeps);
    }
    CHECK(weights.kernel_name() == name);
    CHECK(weights.is_float() == name.ends_with("f32") + name.ends_with("f16"));
    CHECK(weights.rows() == 18);
    CHECK(weights.columns() == 512);
    std::vector<float> decoded(512), unpacked(512);
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
  for (const std::string_view name : kernel_choices) {
    if (!name.starts_with("dense_")) continue;
    CHECK(AnyKernel::pack(mixed, {.kernel = name}).kernel_name() == name);
    CHECK(AnyKernel::pack(q4_0.rows, {.kernel = name}).kernel_name() == name);
  }
}

TEST_CASE("int8 weights get the layout of their zeros", "[kernel][any_kernel]") {
  const std::pair<testing::Zeros, std::string_view> cases[] = {{{}, DenseI8::name},
                                                               {{2, 4}, TwoOfFourI8::name},
                                                               {{4, 16}, FourOfSixteenI8::name},
                                                               {{8, 16, 4}, EightOfSixteenGap4I8::name},
                                                               {{9, 20}, BitmaskI8::name},
                                                               {{2, 20}, EllI8::name}};
  for (const auto& [zeros, choice] : cases) {
    for (const DType dtype : {DType::i8, DType::q8_0}) {
      const auto matrix = testing::pruned(testing::random_matrix(dtype, 50, 320, 9), zeros, 5);
      const auto weights = AnyKernel::pack(matrix.rows);
      CHECK(weights.kernel_name() == with_instruction_set<isa::Active>([&](auto set) {
              return fastest_i8(set, measure_i8(matrix.rows), this_machine);
            }));
      CHECK(AnyKernel::pack(matrix.rows, {.kernel = "i8"}).kernel_name() == weights.kernel_name());
      const auto asked_for = AnyKernel::pack(matrix.rows, {.kernel = choice});
      CHECK(asked_for.kernel_name() == choice);
      const auto dense = AnyKernel::pack(matrix.rows, {.kernel = DenseI8::name});
      CHECK(AnyKernel::shares_input(asked_for, dense) == (choice != EllI8::name));
    }
  }
}

TEST_CASE("Q4_0 weights get the layout of their zeros, and keep their values", "[kernel][any_kernel]") {
  for (const testing::Zeros zeros : {testing::Zeros{}, {2, 4}, {8, 16, 4}, {4, 16}, {3, 10}}) {
    const auto matrix = testing::pruned(testing::random_matrix(DType::q4_0, 100, 320, 9), zeros, 5);
    const auto weights = AnyKernel::pack(matrix.rows), dense = AnyKernel::pack(matrix.rows, {.kernel = DenseI4::name});
    CHECK(weights.kernel_name() ==
          with_instruction_set<isa::Active>([&](auto set) { return fastest_i4(set, measure_i4(matrix.rows)); }));
    CHECK(AnyKernel::shares_input(weights, dense));
    std::vector<float> row(320), expected(320);
    for (std::size_t at = 0; at < 100; ++at) {
      AnyKernel::unpack_row(weights, at, row.data());
      AnyKernel::unpack_row(dense, at, expected.data());
      REQUIRE(row == expected);
    }
  }
}

TEST_CASE("several threads pack what one packs", "[kernel][any_kernel][no_simd]") {
  ThreadPool pool(3);
  const std::pair<DType, testing::Zeros> cases[] = {
      {DType::f32, {}},          {DType::bf16, {}},      {DType::q4_1, {}},    {DType::q6_k, {}},   {DType::i8, {2, 4}},
      {DType::q8_0, {8, 16, 4}}, {DType::q8_0, {4, 16}}, {DType::i8, {9, 20}}, {DType::i8, {2, 20}}};
  for (const auto& [dtype, zeros] : cases) {
    constexpr std::size_t rows = 104, columns = 512;
    const auto dense = [dtype = dtype] { return testing::random_matrix(dtype, rows, columns, 11); };
    const auto matrix = zeros.group == 0 ? dense() : testing::pruned(dense(), zeros, 5);
    for (const std::string_view name : kernel_choices) {
      CAPTURE(dtype_name(dtype), name);
      PackOptions options{.kernel = name};
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

// SPDX-License-Identifier: Apache-2.0
#include "conformance/linear_kernel_suite.hpp"

#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/any_kernel.hpp>
#include <tulle/kernel/dense/dense_float.hpp>
#include <tulle/kernel/dense/dense_i4.hpp>
#include <tulle/kernel/ell/ell.hpp>
#include <tulle/kernel/int8/balanced.hpp>
#include <tulle/kernel/int8/bitmask_i8.hpp>
#include <tulle/kernel/int8/dense_i8.hpp>

#include <tulle/kernel/any_kernel.hpp>
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;
using conformance::LinearKernelSuite;
using testing::InstructionSets;
using testing::ReferenceSet;
using testing::require_native_machine;

namespace {

/// FNV-1a over the bits of Y for a random 40 x 512 matrix and 9 inputs.
template <LinearKernel Kernel>
std::uint64_t hash_of_product(DType dtype, PackOptions options = {}) {
  constexpr std::size_t rows = 40, columns = 512, inputs = 9;
  const auto weights = Kernel::pack(testing::random_matrix(dtype, rows, columns, 77).rows, options);
  const testing::InputRows x(inputs, columns, testing::random_floats(inputs * columns, 78));
  typename Kernel::Input input(inputs, columns);
  Kernel::start(weights, inputs, input);
  Kernel::prepare(weights, x.first(inputs), input, {0, inputs});
  std::vector<float> y(inputs * rows);
  Kernel::multiply(weights, input, {y.data(), inputs, rows}, {0, rows});
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const float value : y) hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001B3u;
  return hash;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the bits of a product are those of every compiler and machine", "[conformance][linear_kernel]",
                        InstructionSets) {
  require_native_machine<TestType>();
  // The second is that of a set that rounds a * b + c twice.
  const auto either = [](std::uint64_t once, std::uint64_t twice) {
    return std::is_same_v<ReferenceSet<TestType>, isa::Scalar> ? once : twice;
  };
  CHECK(hash_of_product<BasicDenseF32<TestType>>(DType::f32) == either(0xFFC094B76939FA3Eu, 0x8EBA8A4FAB30560Du));
  CHECK(hash_of_product<BasicDenseF16<TestType>>(DType::f16) == either(0x347DFAB6B945685Eu, 0x3DAC14A760F52BAAu));
  CHECK(hash_of_product<BasicDenseF16<TestType>>(DType::bf16) == either(0x36B9BFAB4A5E30F8u, 0xF5AED5C204B0FFAFu));
  CHECK(hash_of_product<BasicDenseI8<TestType>>(DType::f32) == either(0x5E830B7CBB86A5F0u, 0xF4C6CB1993CBC581u));
  CHECK(hash_of_product<BasicDenseI8<TestType>>(DType::i8, {.scale_per_input = true}) ==
        either(0x76C3F840800021FEu, 0x9111FAAC4FF834C2u));
  CHECK(hash_of_product<BasicDenseI8<TestType>>(DType::q8_0) == either(0x387089D79BB6FF06u, 0x9BEE41C08E1EDEF2u));
  CHECK(hash_of_product<BasicDenseI8<TestType>>(DType::q6_k) == either(0x5F4FCC6ACEC3D056u, 0x0526084279BB7462u));
  CHECK(hash_of_product<BasicEllI8<TestType>>(DType::i8) == 0xAE76E831EEECFD96u);
  CHECK(hash_of_product<BasicEllI4<TestType>>(DType::f32) == 0x4E7E42D0BBDC8C60u);
  CHECK(hash_of_product<BasicDenseI4<TestType>>(DType::f32, {.int4_group = 128}) ==
        either(0xD6D829A7473E3C6Du, 0x68AA38B9BFC50BFCu));
  CHECK(hash_of_product<BasicDenseI4<TestType>>(DType::q4_0) == either(0x637D83058C723651u, 0x775ACA8D4F41CFB0u));
  CHECK(hash_of_product<BasicDenseI4<TestType>>(DType::q4_1) == either(0x87E823591B5C11C4u, 0xCD7A3C38B3176C5Fu));
}

TEMPLATE_LIST_TEST_CASE("dense f32 keeps the laws of linear kernels", "[conformance][linear_kernel]", InstructionSets) {
  require_native_machine<TestType>();
  using Suite = LinearKernelSuite<BasicDenseF32<TestType>, BasicDenseF32<ReferenceSet<TestType>>>;
  Suite(DType::f32).check_all();
  Suite(DType::q4_1).check_all();
}

TEMPLATE_LIST_TEST_CASE("dense f16 keeps the laws of linear kernels", "[conformance][linear_kernel]", InstructionSets) {
  require_native_machine<TestType>();
  using Suite = LinearKernelSuite<BasicDenseF16<TestType>, BasicDenseF16<ReferenceSet<TestType>>>;
  Suite(DType::f16).check_all();
  Suite(DType::bf16).check_all();
  Suite(DType::f32).check_all();
}

TEMPLATE_LIST_TEST_CASE("dense int8 keeps the laws of linear kernels", "[conformance][linear_kernel]",
                        InstructionSets) {
  require_native_machine<TestType>();
  using Suite = LinearKernelSuite<BasicDenseI8<TestType>, BasicDenseI8<ReferenceSet<TestType>>>;
  Suite(DType::f32).check_all();
  Suite(DType::i8).check_all();
  Suite(DType::i8, {.scale_per_input = true}).check_all();
  Suite(DType::q8_0).check_all();
  Suite(DType::q6_k).check_all();
  Suite(DType::q5_1).check_all();
  Suite(DType::q5_k).check_all();
  Suite(DType::q2_k).check_all();
  Suite(DType::q8_k).check_all();
}

TEMPLATE_LIST_TEST_CASE("dense int4 keeps the laws of linear kernels", "[conformance][linear_kernel]",
                        InstructionSets) {
  require_native_machine<TestType>();
  using Suite = LinearKernelSuite<BasicDenseI4<TestType>, BasicDenseI4<ReferenceSet<TestType>>>;
  for (const std::size_t group : {32, 64, 128}) Suite(DType::f32, {.int4_group = group}).check_all();
  Suite(DType::q4_0).check_all();
  Suite(DType::q4_1).check_all();
  Suite(DType::q4_k).check_all();
  Suite(DType::q3_k).check_all();
  Suite(DType::q2_k).check_all();
}

TEMPLATE_LIST_TEST_CASE("bitmask int8 keeps the laws of linear kernels and gives the bits of dense int8",
                        "[conformance][linear_kernel]", InstructionSets) {
  require_native_machine<TestType>();
  using Suite = LinearKernelSuite<BasicBitmaskI8<TestType>, BasicDenseI8<ReferenceSet<TestType>>>;
  for (const std::size_t kept : {1, 4, 8, 15}) Suite(DType::i8, {}, {kept, 16}).check_all();
  Suite(DType::i8).check_all();  // no zeros at all
  Suite(DType::i8, {.scale_per_input = true}, {3, 10}).check_all();
  Suite(DType::q8_0, {}, {3, 10}).check_all();
  Suite(DType::q6_k).check_all();
  Suite(DType::q5_k).check_all();
  Suite(DType::f32, {}, {3, 10}).check_all();
}

TEMPLATE_LIST_TEST_CASE("balanced int8 keeps the laws of linear kernels and gives the bits of dense int8",
                        "[conformance][linear_kernel]", InstructionSets) {
  require_native_machine<TestType>();
  using Suite2of4 = LinearKernelSuite<BasicTwoOfFourI8<TestType>, BasicDenseI8<ReferenceSet<TestType>>>;
  Suite2of4(DType::i8, {}, {2, 4}).check_all();
  Suite2of4(DType::i8, {.scale_per_input = true}, {1, 4}).check_all();
  Suite2of4(DType::q8_0, {}, {2, 4}).check_all();
  using Suite4of16 = LinearKernelSuite<BasicFourOfSixteenI8<TestType>, BasicDenseI8<ReferenceSet<TestType>>>;
  Suite4of16(DType::i8, {}, {4, 16}).check_all();
  Suite4of16(DType::q8_0, {}, {1, 4}).check_all();
  Suite4of16(DType::f32, {}, {2, 16}).check_all();
  using Suite8of16 = LinearKernelSuite<BasicEightOfSixteenGap4I8<TestType>, BasicDenseI8<ReferenceSet<TestType>>>;
  Suite8of16(DType::i8, {}, {8, 16, 4}).check_all();
  Suite8of16(DType::i8, {}, {2, 16}).check_all();
  Suite8of16(DType::q8_0, {}, {1, 4}).check_all();
  using SuiteAny8of16 = LinearKernelSuite<BasicEightOfSixteenI8<TestType>, BasicDenseI8<ReferenceSet<TestType>>>;
  SuiteAny8of16(DType::i8, {}, {8, 16}).check_all();
  SuiteAny8of16(DType::q8_0, {}, {4, 8}).check_all();
}

TEMPLATE_LIST_TEST_CASE(
    "balanced int4 keeps the laws of linear kernels and gives the bits of dense int8 with its codes",
    "[conformance][linear_kernel]", InstructionSets) {
  require_native_machine<TestType>();
  using Dense = BasicDenseI8<ReferenceSet<TestType>>;
  LinearKernelSuite<BasicTwoOfFourI4<TestType>, Dense>(DType::q4_0, {}, {2, 4}).check_all();
  LinearKernelSuite<BasicFourOfSixteenI4<TestType>, Dense>(DType::q4_0, {}, {4, 16}).check_all();
  LinearKernelSuite<BasicEightOfSixteenGap4I4<TestType>, Dense>(DType::q4_0, {.scale_per_input = true}, {8, 16, 4})
      .check_all();
  using Quantizing = LinearKernelSuite<BasicFourOfSixteenI4<TestType>, BasicFourOfSixteenI4<ReferenceSet<TestType>>>;
  Quantizing(DType::f32, {}, {1, 4}).check_all();
}

TEMPLATE_LIST_TEST_CASE("ELL keeps the laws of linear kernels", "[conformance][linear_kernel]", InstructionSets) {
  require_native_machine<TestType>();
  using Suite8 = LinearKernelSuite<BasicEllI8<TestType>, BasicEllI8<ReferenceSet<TestType>>>;
  for (const std::size_t kept : {1, 4, 10}) Suite8(DType::i8, {}, {kept, 16}).check_all();
  Suite8(DType::i8).check_all();  // no zeros at all
  Suite8(DType::i8, {}, {1, 64, 64}).check_all();
  Suite8(DType::i8, {}, {.kept = 4, .group = 16, .uneven = true}).check_all();
  Suite8(DType::q8_0, {}, {3, 10}).check_all();
  Suite8(DType::f32, {}, {3, 10}).check_all();
  using Suite4 = LinearKernelSuite<BasicEllI4<TestType>, BasicEllI4<ReferenceSet<TestType>>>;
  Suite4(DType::i8, {}, {3, 16}).check_all();
  Suite4(DType::f32, {}, {1, 2}).check_all();
  Suite8(DType::i8).check_spans();
  Suite8(DType::i8, {}, {4, 16}).check_spans();
  Suite4(DType::i8, {}, {3, 16}).check_spans();
  Suite8(DType::i8, {}, {.kept = 4, .group = 16, .uneven = true}).check_spans();
  Suite4(DType::i8, {}, {.kept = 4, .group = 16, .uneven = true}).check_spans();
}

TEMPLATE_LIST_TEST_CASE("the run-time kernel keeps the laws and gives the bits of the form it chose",
                        "[conformance][linear_kernel]", InstructionSets) {
  require_native_machine<TestType>();
  const testing::ActiveSet active(set_of<TestType>);
  LinearKernelSuite<AnyKernel, BasicDenseF32<ReferenceSet<TestType>>>(DType::f32).check_all();
  LinearKernelSuite<AnyKernel, BasicDenseF16<ReferenceSet<TestType>>>(DType::f16).check_all();
  LinearKernelSuite<AnyKernel, BasicDenseF16<ReferenceSet<TestType>>>(DType::bf16).check_all();
  using Suite8 = LinearKernelSuite<AnyKernel, BasicDenseI8<ReferenceSet<TestType>>>;
  Suite8(DType::i8, {.scale_per_input = true}).check_all();
  Suite8(DType::q8_0).check_all();
  Suite8(DType::q6_k).check_all();
  Suite8(DType::q4_0, {.kernel = "dense_i8"}).check_all();
  using Suite4 = LinearKernelSuite<AnyKernel, BasicDenseI4<ReferenceSet<TestType>>>;
  Suite4(DType::q4_0).check_all();
  Suite4(DType::q4_1).check_all();
  Suite4(DType::f16, {.kernel = "dense_i4", .int4_group = 64}).check_all();
}

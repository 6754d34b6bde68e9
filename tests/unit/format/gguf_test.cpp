// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf.hpp>

#include <catch2/catch_all.hpp>
#include <limits>
#include <string>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

namespace {

std::optional<ErrorCode> code_of(const Bytes& file) {
  return error_of([&] { parse_gguf(file, "f.gguf"); });
}

/// A header that claims so many tensors and pairs, and `rest`.
Bytes header(std::uint64_t tensors, std::uint64_t pairs, const Bytes& rest = {}) {
  Bytes bytes = to_bytes("GGUF");
  put<std::uint32_t>(bytes, 3);
  put(bytes, tensors);
  put(bytes, pairs);
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

}  // namespace

TEST_CASE("metadata of every type is read", "[format][gguf]") {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufBuilder gguf;
    gguf.version = version;
    gguf.value<std::uint8_t>("u8", 0, 200).value<std::int8_t>("i8", 1, -3).value<std::uint16_t>("u16", 2, 60000);
    gguf.value<std::int16_t>("i16", 3, -300).u32("u32", 4000000000u).value<std::int32_t>("i32", 5, -7).f32("f32", 0.5f);
    gguf.value<std::uint8_t>("bool", 7, 1).text("text", "hello").value<std::uint64_t>("u64", 10, 1ull << 40);
    gguf.value<std::int64_t>("i64", 11, -(1ll << 40)).value<double>("f64", 12, 0.25);
    const Bytes bytes = gguf.build();
    const GgufFile file = parse_gguf(bytes, "f");
    CHECK(file.version == version);
    CHECK(file.metadata == Json{{"u8", 200},
                                {"i8", -3},
                                {"u16", 60000},
                                {"i16", -300},
                                {"u32", 4000000000u},
                                {"i32", -7},
                                {"f32", 0.5},
                                {"bool", true},
                                {"text", "hello"},
                                {"u64", 1ull << 40},
                                {"i64", -(1ll << 40)},
                                {"f64", 0.25}});
    CHECK(file.metadata["bool"].is_boolean());
  }
}

TEST_CASE("arrays are decoded when they are asked for", "[format][gguf]") {
  GgufBuilder gguf;
  gguf.array<std::string>("words", 8, {"a", "", "c d"})
      .array<float>("f32", 6, {0.5f, -2})
      .array<double>("f64", 12, {0.25});
  gguf.array<std::int32_t>("i32", 5, {1, -2}).array<std::uint8_t>("u8", 0, {255}).array<std::int8_t>("i8", 1, {-1});
  gguf.array<std::uint16_t>("u16", 2, {65535})
      .array<std::uint8_t>("flags", 7, {1, 0})
      .array<std::uint64_t>("u64", 10, {});
  gguf.u32("scalar", 1);
  const Bytes bytes = gguf.build();
  const GgufFile file = parse_gguf(bytes, "f");
  CHECK(file.strings("words") == std::vector<std::string>{"a", "", "c d"});
  CHECK(file.floats("f32") == std::vector<float>{0.5f, -2});
  CHECK(file.floats("f64") == std::vector<float>{0.25f});
  CHECK(file.integers("i32") == std::vector<std::int64_t>{1, -2});
  CHECK(file.integers("u8") == std::vector<std::int64_t>{255});
  CHECK(file.integers("i8") == std::vector<std::int64_t>{-1});
  CHECK(file.integers("u16") == std::vector<std::int64_t>{65535});
  CHECK(file.integers("flags") == std::vector<std::int64_t>{1, 0});
  CHECK(file.integers("u64").empty());
  CHECK(file.strings("absent").empty());
  CHECK(error_of([&] { file.strings("i32"); }) == ErrorCode::malformed);
  CHECK(error_of([&] { file.floats("i32"); }) == ErrorCode::malformed);
  CHECK(error_of([&] { file.integers("words"); }) == ErrorCode::malformed);
  CHECK(error_of([&] { file.integers("scalar"); }) == ErrorCode::malformed);
}

TEST_CASE("tensors have their shape outermost first and views into the file", "[format][gguf]") {
  GgufBuilder gguf;
  gguf.tensor("a", {64, 3}, 8, Bytes(6 * 34, std::byte{7}))
      .tensor("b", {5}, 0, float_bytes(5))
      .tensor("c", {}, 24, Bytes(1));
  for (const bool padded : {true, false}) {
    const Bytes bytes = gguf.build(padded);
    const GgufFile file = parse_gguf(bytes, "f");
    REQUIRE(file.tensors.size() == 3);
    CHECK(file.tensors[0].shape == std::vector<std::size_t>{3, 64});
    CHECK(file.tensors[0].dtype == DType::q8_0);
    CHECK(file.tensors[0].bytes.size() == 6 * 34);
    CHECK(file.tensors[0].bytes[0] == std::byte{7});
    CHECK((file.tensors[0].bytes.data() - bytes.data()) % 32 == 0);
    CHECK(file.tensors[1].bytes.size() == 20);
    CHECK(file.tensors[1].bytes.data() - file.tensors[0].bytes.data() == 224);
    CHECK(file.tensors[2].elements() == 1);
  }
}

TEST_CASE("general.alignment moves the data", "[format][gguf]") {
  GgufBuilder gguf;
  gguf.alignment = 256;
  gguf.u32("general.alignment", 256).tensor("a", {5}, 0, float_bytes(5)).tensor("b", {1}, 0, float_bytes(1));
  const Bytes bytes = gguf.build();
  const GgufFile file = parse_gguf(bytes, "f");
  CHECK(file.alignment == 256);
  CHECK(file.tensors[0].bytes.data() == bytes.data() + 256);
  CHECK(file.tensors[1].bytes.data() == bytes.data() + 512);
  for (const std::uint32_t bad : {0u, 33u, 0xFFFFFFFFu}) {
    CHECK(code_of(GgufBuilder().u32("general.alignment", bad).build()) == ErrorCode::malformed);
  }
  CHECK(code_of(GgufBuilder().text("general.alignment", "32").build()) == ErrorCode::malformed);
  CHECK(code_of(GgufBuilder().u32("general.alignment", 0x80000000u).tensor("a", {1}, 0, float_bytes(1)).build()) ==
        ErrorCode::malformed);
}

TEST_CASE("other versions, byte orders and files are refused", "[format][gguf]") {
  const auto with_version = [](std::uint32_t version) {
    GgufBuilder gguf;
    gguf.version = version;
    return code_of(gguf.build());
  };
  CHECK(with_version(2) == std::nullopt);
  for (const std::uint32_t version : {0u, 1u, 4u, 0x03000000u}) CHECK(with_version(version) == ErrorCode::unsupported);
  CHECK(code_of(to_bytes("GGML12345678901234567890")) == ErrorCode::malformed);
  CHECK(code_of({}) == ErrorCode::malformed);
}

TEST_CASE("tensor types that are not read are named together with the tensor", "[format][gguf]") {
  for (const auto& [type, name] : std::vector<std::pair<std::uint32_t, std::string>>{
           {16, "IQ2_XXS"}, {40, "NVFP4"}, {4, "number 4"}, {99, "number 99"}}) {
    const Bytes file = GgufBuilder().tensor("blk.0.w", {256}, type, Bytes(144)).build();
    CHECK(code_of(file) == ErrorCode::unsupported);
    const std::string message = message_of([&] { parse_gguf(file, "f.gguf"); });
    CHECK(message.find("blk.0.w") != std::string::npos);
    CHECK(message.find(name) != std::string::npos);
    CHECK(parse_gguf_metadata(file, "f").tensors.empty());
  }
}

TEST_CASE("rows of every type are whole blocks, and inside of the file", "[format][gguf]") {
  for (const Encoding& encoding : encodings()) {
    const DTypeInfo& info = dtype_info(encoding.dtype);
    if (info.ggml_type == no_ggml_type) continue;
    CAPTURE(info.name);
    const auto with = [&](std::uint64_t columns, std::size_t bytes) {
      return code_of(GgufBuilder().tensor("w", {columns, 2}, info.ggml_type, Bytes(bytes)).build());
    };
    CHECK(with(info.block_elements, 2 * info.block_bytes) == std::nullopt);
    CHECK(with(1000 * info.block_elements, 2 * info.block_bytes) == ErrorCode::malformed);
    CHECK(with(std::uint64_t{1} << 62, 2 * info.block_bytes) == ErrorCode::malformed);
    if (info.block_elements == 1) continue;
    CHECK(with(info.block_elements / 2, info.block_bytes) == ErrorCode::malformed);
    CHECK(with(info.block_elements + 1, 4 * info.block_bytes) == ErrorCode::malformed);
  }
}

TEST_CASE("claims are checked against the length of the file before anything is reserved", "[format][gguf]") {
  const auto huge = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t claim : {huge, huge / 2, std::uint64_t{1} << 32, std::uint64_t{2}}) {
    CHECK(code_of(header(claim, 0)) == ErrorCode::malformed);
    CHECK(code_of(header(0, claim)) == ErrorCode::malformed);
    Bytes key;  // a key whose length lies
    put(key, claim);
    CHECK(code_of(header(0, 1, key)) == ErrorCode::malformed);
    Bytes array;
    GgufBuilder::put_string(array, "k");
    put<std::uint32_t>(array, 9);
    for (const std::uint32_t element : {0u, 8u, 10u}) {
      Bytes lying = array;
      put(lying, element);
      put(lying, claim);
      CHECK(code_of(header(0, 1, lying)) == ErrorCode::malformed);
    }
  }
}

TEST_CASE("broken metadata is malformed", "[format][gguf]") {
  CHECK(code_of(GgufBuilder().u32("", 1).build()) == ErrorCode::malformed);
  CHECK(code_of(GgufBuilder().u32(std::string(65535, 'k'), 1).build()) == std::nullopt);
  CHECK(code_of(GgufBuilder().u32(std::string(65536, 'k'), 1).build()) == ErrorCode::malformed);
  CHECK(code_of(GgufBuilder().u32("k", 1).u32("k", 2).build()) == ErrorCode::malformed);
  CHECK(code_of(GgufBuilder().u32("k", 1).array<float>("k", 6, {}).build()) == ErrorCode::malformed);
  CHECK(code_of(GgufBuilder().value<std::uint32_t>("k", 13, 0).build()) == ErrorCode::malformed);
  CHECK(code_of(GgufBuilder().value<std::uint8_t>("k", 7, 2).build()) == ErrorCode::malformed);
  CHECK(code_of(GgufBuilder().array<std::uint8_t>("k", 13, {}).build()) == ErrorCode::malformed);
  CHECK(code_of(GgufBuilder().array<std::uint8_t>("k", 9, {}).build()) == ErrorCode::malformed);  // nested arrays
}

TEST_CASE("broken tensor entries are malformed", "[format][gguf]") {
  const auto one = [](std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                      std::size_t bytes, std::optional<std::uint64_t> offset = {}) {
    return code_of(GgufBuilder().tensor(name, dims, type, Bytes(bytes), offset).build());
  };
  constexpr std::uint64_t big = std::uint64_t{1} << 32;
  CHECK(one(std::string(63, 'n'), {4}, 0, 16) == std::nullopt);
  CHECK(one(std::string(64, 'n'), {4}, 0, 16) == ErrorCode::malformed);
  CHECK(one("", {4}, 0, 16) == ErrorCode::malformed);
  CHECK(one("t", {1, 1, 1, 4}, 0, 16) == std::nullopt);
  CHECK(one("t", {1, 1, 1, 1, 4}, 0, 16) == ErrorCode::malformed);
  CHECK(one("t", {0, 4}, 0, 0) == std::nullopt);
  CHECK(one("t", {16, 2}, 8, 34) == ErrorCode::malformed);  // a block across rows
  CHECK(one("t", {128, 2}, 14, 210) == ErrorCode::malformed);
  CHECK(one("t", {big, big}, 0, 16) == ErrorCode::malformed);
  CHECK(one("t", {big, big / 4}, 0, 16) == ErrorCode::malformed);
  CHECK(one("t", {big}, 0, 16) == ErrorCode::malformed);
  CHECK(one("t", {4}, 0, 15) == std::nullopt);  // the padding hides the lost byte
  CHECK(code_of(GgufBuilder().tensor("t", {4}, 0, Bytes(15)).build(false)) == ErrorCode::malformed);
  CHECK(one("t", {4}, 0, 16, 32) == ErrorCode::malformed);
  CHECK(one("t", {4}, 0, 16, 1) == ErrorCode::malformed);
  CHECK(one("t", {4}, 0, 16, ~std::uint64_t{31}) == ErrorCode::malformed);
  const auto two = [](std::string_view second, std::optional<std::uint64_t> offset) {
    return code_of(GgufBuilder().tensor("a", {4}, 0, Bytes(16)).tensor(second, {4}, 0, Bytes(16), offset).build());
  };
  CHECK(two("b", {}) == std::nullopt);
  CHECK(two("a", {}) == ErrorCode::malformed);
  CHECK(two("b", 0) == ErrorCode::malformed);
  CHECK(two("b", 16) == ErrorCode::malformed);
  CHECK(two("b", 64) == ErrorCode::malformed);
}

TEST_CASE("a GGUF file cut or changed anywhere is read or refused", "[format][gguf]") {
  GgufBuilder gguf;
  gguf.text("general.name", "x").array<std::string>("words", 8, {"a", "bc"}).array<std::int32_t>("ids", 5, {1, 2});
  gguf.tensor("a", {32}, 8, Bytes(34, std::byte{1})).tensor("b", {4}, 0, float_bytes(4));
  const Bytes file = gguf.build(false);
  const std::size_t refused = survive_mutations(file, 3000, [](const Bytes& bytes) {
    const GgufFile parsed = parse_gguf(bytes, "f");
    sum_of(parsed.tensors);
    for (const auto& [key, array] : parsed.arrays) {
      if (array.type == GgufType::string) parsed.strings(key);
      if (array.type != GgufType::string && array.type != GgufType::f32 && array.type != GgufType::f64)
        parsed.integers(key);
    }
  });
  CHECK(refused > file.size());
}

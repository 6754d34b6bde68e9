// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/safetensors.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

namespace {

std::optional<ErrorCode> code_of(const Bytes& file) {
  return error_of([&] { parse_safetensors(file, "f.safetensors"); });
}

std::optional<ErrorCode> code_of(std::string_view header, std::size_t data_bytes) {
  return code_of(safetensors_file(header, data_bytes));
}

constexpr std::string_view two_tensors =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("a":{"dtype":"I8","shape":[2,3],"data_offsets":[8,14]}})";

}  // namespace

TEST_CASE("tensors come in the order of their data, with views into the file", "[format][safetensors]") {
  const Bytes file = safetensors_file(two_tensors, 14);
  const auto tensors = parse_safetensors(file, "f");
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].name == "b");
  CHECK(tensors[0].dtype == DType::f32);
  CHECK(tensors[0].shape == std::vector<std::size_t>{2});
  CHECK(tensors[0].bytes.data() == file.data() + 8 + two_tensors.size());
  CHECK(tensors[0].bytes.size() == 8);
  CHECK(tensors[1].name == "a");
  CHECK(tensors[1].dtype == DType::i8);
  CHECK(tensors[1].shape == std::vector<std::size_t>{2, 3});
  CHECK(tensors[1].bytes[0] == std::byte{8});
}

TEST_CASE("trailing spaces, empty tensors, rank 0 and unknown fields are legal", "[format][safetensors]") {
  CHECK(parse_safetensors(safetensors_file("{}", 0), "f").empty());
  CHECK(parse_safetensors(safetensors_file("{}      ", 0), "f").empty());
  const Bytes file = safetensors_file(R"({"s":{"dtype":"F16","shape":[],"data_offsets":[0,2],"later":1},)"
                                      R"("e":{"dtype":"F32","shape":[0,5],"data_offsets":[2,2]}})",
                                      2);
  const auto tensors = parse_safetensors(file, "f");
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].elements() == 1);
  CHECK(tensors[1].elements() == 0);
}

TEST_CASE("every plain dtype is read at its size", "[format][safetensors]") {
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, int>>{{"F64", 8},
                                                                            {"F32", 4},
                                                                            {"F16", 2},
                                                                            {"BF16", 2},
                                                                            {"I64", 8},
                                                                            {"I32", 4},
                                                                            {"I16", 2},
                                                                            {"I8", 1},
                                                                            {"U8", 1},
                                                                            {"BOOL", 1},
                                                                            {"F8_E4M3", 1},
                                                                            {"F8_E5M2", 1}}) {
    const std::string header =
        R"({"t":{"dtype":")" + name + R"(","shape":[3],"data_offsets":[0,)" + std::to_string(3 * bytes) + "]}}";
    const Bytes file = safetensors_file(header, 3 * static_cast<std::size_t>(bytes));
    CHECK(dtype_name(parse_safetensors(file, "f").at(0).dtype) == name);
  }
}

TEST_CASE("a dtype that is not read is named", "[format][safetensors]") {
  const Bytes file = safetensors_file(R"({"w":{"dtype":"F8_E8M0","shape":[3],"data_offsets":[0,3]}})", 3);
  CHECK(code_of(file) == ErrorCode::unsupported);
  const std::string message = message_of([&] { parse_safetensors(file, "f.safetensors"); });
  CHECK(message.find("f.safetensors") != std::string::npos);
  CHECK(message.find("\"w\"") != std::string::npos);
  CHECK(message.find("F8_E8M0") != std::string::npos);
}

TEST_CASE("broken containers are malformed", "[format][safetensors]") {
  CHECK(code_of(Bytes{}) == ErrorCode::malformed);
  CHECK(code_of(Bytes(7)) == ErrorCode::malformed);
  CHECK(code_of(Bytes(8)) == ErrorCode::malformed);  // header of length 0
  for (const std::uint64_t length : {std::uint64_t{100'000'001}, ~std::uint64_t{0}, std::uint64_t{3}}) {
    Bytes file;
    put(file, length);
    put_text(file, "{}");
    CHECK(code_of(file) == ErrorCode::malformed);
  }
  CHECK(code_of(" {}", 0) == ErrorCode::malformed);
  CHECK(code_of("[]", 0) == ErrorCode::malformed);
  CHECK(code_of("{", 0) == ErrorCode::malformed);
  CHECK(code_of("{}x", 0) == ErrorCode::malformed);
  CHECK(code_of(std::string_view("{}\0", 3), 0) == ErrorCode::malformed);
  CHECK(code_of("{}", 1) == ErrorCode::malformed);  // bytes that no tensor claims
  CHECK(code_of("{\"\xFF\":1}", 0) == ErrorCode::malformed);
  CHECK(code_of("{\"__metadata__\":{\"a\":1}}", 0) == ErrorCode::malformed);
  CHECK(code_of("{\"__metadata__\":[]}", 0) == ErrorCode::malformed);
  CHECK(code_of("{\"a\":1e999}", 0) == ErrorCode::malformed);
  CHECK(code_of("{\"a\":" + std::string(100000, '[') + "}", 0) == ErrorCode::malformed);
}

TEST_CASE("broken entries are malformed", "[format][safetensors]") {
  const auto entry = [](std::string_view fields) { return code_of("{\"t\":{" + std::string(fields) + "}}", 8); };
  CHECK(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])") == std::nullopt);
  CHECK(entry(R"("dtype":"F32","shape":[2])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","data_offsets":[0,8])") == ErrorCode::malformed);
  CHECK(entry(R"("shape":[2],"data_offsets":[0,8])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":7,"shape":[2],"data_offsets":[0,8])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","shape":2,"data_offsets":[0,8])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])") == ErrorCode::malformed);
  CHECK(entry(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])") == ErrorCode::malformed);
  CHECK(code_of(R"({"t":1})", 0) == ErrorCode::malformed);
  CHECK(code_of(R"({"t":null})", 0) == ErrorCode::malformed);
}

TEST_CASE("holes, overlaps and repeated names are malformed", "[format][safetensors]") {
  const auto pair = [](std::string_view first, std::string_view second, std::size_t bytes) {
    const auto entry = [](std::string_view offsets) {
      return R"({"dtype":"I8","shape":[4],"data_offsets":)" + std::string(offsets) + "}";
    };
    return code_of("{\"a\":" + entry(first) + ",\"b\":" + entry(second) + "}", bytes);
  };
  CHECK(pair("[0,4]", "[4,8]", 8) == std::nullopt);
  CHECK(pair("[4,8]", "[0,4]", 8) == std::nullopt);
  CHECK(pair("[0,4]", "[5,9]", 9) == ErrorCode::malformed);
  CHECK(pair("[1,5]", "[5,9]", 9) == ErrorCode::malformed);
  CHECK(pair("[0,4]", "[0,4]", 4) == ErrorCode::malformed);
  CHECK(pair("[0,4]", "[2,6]", 6) == ErrorCode::malformed);
  CHECK(pair("[0,4]", "[4,8]", 9) == ErrorCode::malformed);
  CHECK(code_of(R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},)"
                R"("a":{"dtype":"I8","shape":[1],"data_offsets":[1,2]}})",
                2) == ErrorCode::malformed);
}

TEST_CASE("a hostile name stays inside one line of printable text", "[format][safetensors]") {
  const std::string header =
      R"({"a\nb\u00e9)" + std::string(500, 'x') + R"(":{"dtype":"F6_E2M3","shape":[],"data_offsets":[0,1]}})";
  const std::string message = message_of([&] { parse_safetensors(safetensors_file(header, 1), "f"); });
  CHECK(message.find("\"a?b??xxx") != std::string::npos);
  CHECK(message.size() < 300);
}

TEST_CASE("a safetensors file cut or changed anywhere is read or refused", "[format][safetensors]") {
  const Bytes file = safetensors_file(two_tensors, 14);
  const std::size_t refused =
      survive_mutations(file, 3000, [](const Bytes& bytes) { sum_of(parse_safetensors(bytes, "f")); });
  CHECK(refused > file.size());  // every prefix, and more
}
